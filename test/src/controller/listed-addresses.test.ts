/** Thousands of Services of one namespace that list the same addresses: what is done for them, counted. */

import type { Address } from 'bgp-ts';
import { expect } from 'chai';
import { AddressBook } from '../../../src/allocator/address-book.ts';
import { MOST_LISTED } from '../../../src/allocator/limits.ts';
import { ListedAddresses } from '../../../src/controller/listed-addresses.ts';
import { address, plainService, pool } from '../../support/allocator-world.ts';

const SAME = Array.from({ length: 64 }, (_, index) => `192.0.2.${index}`);
const MANY = 10_000;

class Counted {
  readonly book = new AddressBook();
  taken = 0;
  released = 0;
  touched = 0;
  readonly due: string[] = [];
  readonly listed = new ListedAddresses({
    isInPool: (each) => this.book.poolOf(each) !== undefined,
    reservedFor: (_, all) => all,
    take: (each, by) => {
      this.taken += 1;
      this.book.take(each, { kind: 'external-ip', by });
    },
    release: (each, by) => {
      this.released += 1;
      this.book.release(each, { kind: 'external-ip', by });
    },
    touched: () => {
      this.touched += 1;
    },
    due: (key) => void this.due.push(key),
  });

  constructor() {
    this.book.setPools([pool('lab', ['192.0.2.0/24'])]);
  }

  put(key: string, externalIps: readonly string[]): void {
    this.listed.change(key, plainService(key, { externalIps }));
  }

  /** the steps of all of it, each with its cost */
  again(): readonly number[] {
    return [...this.listed.again()];
  }

  holders(each: Address): number {
    return this.book.countOf(each, 'external-ip');
  }

  isBeyond(name: string): boolean {
    return this.listed.isBeyond({ namespace: 'mallory', name });
  }
}

describe('external IPs that thousands of Services list', () => {
  const first = address('192.0.2.0');

  it('cost what one namespace may list, and each step what one Service may', () => {
    const world = new Counted();
    for (let index = 0; index < MANY; index += 1) world.put(`mallory/s${index}`, SAME);
    expect(world.taken).to.equal(MOST_LISTED);
    expect(world.holders(first)).to.equal(64);
    expect([...world.listed.listersOf(first)]).to.have.length(MANY);
    // those that have the address are told of the first ones; ten thousand more are no news
    expect(world.touched).to.be.at.most(64 * 65);
    world.taken = 0;
    const steps = world.again();
    expect(world.taken).to.equal(MOST_LISTED);
    expect(steps).to.have.length(MANY);
    expect(Math.max(...steps)).to.equal(65);
    expect(world.isBeyond('s63')).to.equal(false);
    expect(world.isBeyond('s64')).to.equal(true);
  });

  it('leave other namespaces their own, and what is in no pool is not counted', () => {
    const world = new Counted();
    for (let index = 0; index < 70; index += 1) world.put(`mallory/s${index}`, SAME);
    world.put('victim/web', ['192.0.2.200']);
    expect(world.holders(address('192.0.2.200'))).to.equal(1);
    world.put('mallory/elsewhere', ['203.0.113.7']);
    expect(world.isBeyond('elsewhere')).to.equal(false);
  });

  it('make room for the next one when one of them goes, shortens its list or leaves the pools', () => {
    const world = new Counted();
    for (let index = 0; index < 70; index += 1) world.put(`mallory/s${index}`, SAME);
    world.due.length = 0;
    world.listed.change('mallory/s3', undefined);
    expect(world.due).to.deep.equal(['mallory/s64']);
    expect(world.isBeyond('s64')).to.equal(false);
    world.put('mallory/s4', []);
    expect(world.due).to.deep.equal(['mallory/s64', 'mallory/s65']);
    world.listed.change('mallory/s69', undefined);
    expect(world.isBeyond('s69')).to.equal(false);
    world.book.setPools([pool('other', ['198.51.100.0/24'])]);
    world.again();
    expect(world.isBeyond('s68')).to.equal(false);
    for (let index = 0; index < 70; index += 1) {
      world.listed.change(`mallory/s${index}`, undefined);
    }
    expect(world.holders(first)).to.equal(0);
    expect([...world.listed.listersOf(first)]).to.deep.equal([]);
  });
});
