/** Thousands of Services of one namespace that list the same addresses: what is done for them, counted. */

import type { Address } from 'bgp-ts';
import { expect } from 'chai';
import { AddressBook } from '../../../src/allocator/address-book.ts';
import { MOST_LISTED } from '../../../src/allocator/limits.ts';
import { ListedAddresses } from '../../../src/controller/listed-addresses.ts';
import { serviceKey } from '../../../src/model/service.ts';
import { address, plainService, pool } from '../../support/allocator-world.ts';

const SAME = Array.from({ length: 64 }, (_, index) => `192.0.2.${index}`);
const MANY = 10_000;

class Counted {
  readonly book = new AddressBook();
  readonly lists = new Map<string, readonly string[]>();
  taken = 0;
  released = 0;
  touched = 0;
  /** looks at whether an address is in a pool: a measure of the work */
  looks = 0;
  readonly due: string[] = [];
  /** what is left for later, as Slices have it: a step is work of a slice */
  readonly later: Generator<number, void>[] = [];
  /** addresses of their claims, by Service */
  readonly claims = new Map<string, readonly string[]>();
  readonly listed = new ListedAddresses({
    isInPool: (each) => {
      this.looks += 1;
      return this.book.poolOf(each) !== undefined;
    },
    reservedFor: (_, all) => all,
    claimedBy: (service) => (this.claims.get(serviceKey(service)) ?? []).map(address),
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
    later: (job) => void this.later.push(job),
  });

  constructor() {
    this.book.setPools([pool('lab', ['192.0.2.0/24'])]);
  }

  put(key: string, externalIps: readonly string[]): void {
    this.lists.set(key, externalIps);
    this.listed.change(key, plainService(key, { externalIps }));
    this.rest();
  }

  delete(key: string): void {
    this.listed.change(key, undefined);
    this.rest();
  }

  /** what was left for later */
  rest(): void {
    for (const job of this.later.splice(0)) for (const _ of job);
  }

  /** the most looks of one step of this job */
  dearestStep(job: Generator<number, void>): number {
    let dearest = 0;
    for (let isOver = false; !isOver; ) {
      this.looks = 0;
      isOver = job.next().done === true;
      dearest = Math.max(dearest, this.looks);
    }
    return dearest;
  }

  /** the steps of all of it, each with its cost */
  again(namespace?: string): readonly number[] {
    return [...this.listed.again(namespace)];
  }

  /** as the start of a term does: in this order, of which the first ones have their claims */
  begin(lists: ReadonlyMap<string, readonly string[]>): void {
    this.listed.begin();
    for (const [key, externalIps] of lists) this.put(key, externalIps);
    for (const _ of this.listed.admit());
  }

  /** each has what it lists, as far as it goes */
  announce(): void {
    for (const [key, list] of this.lists)
      if (!this.isBeyond(nameOf(key))) this.claims.set(key, list);
  }

  get announced(): number {
    return [...this.claims.values()].flat().length;
  }

  holders(each: Address): number {
    return this.book.countOf(each, 'external-ip');
  }

  isBeyond(name: string): boolean {
    return this.listed.isBeyond({ namespace: 'mallory', name });
  }
}

const nameOf = (key: string) => key.split('/')[1] ?? '';

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
    world.delete('mallory/s3');
    expect(world.due).to.deep.equal(['mallory/s64']);
    expect(world.isBeyond('s64')).to.equal(false);
    world.put('mallory/s4', []);
    expect(world.due).to.deep.equal(['mallory/s64', 'mallory/s65']);
    world.delete('mallory/s69');
    expect(world.isBeyond('s69')).to.equal(false);
    world.book.setPools([pool('other', ['198.51.100.0/24'])]);
    world.again();
    expect(world.isBeyond('s68')).to.equal(false);
    for (let index = 0; index < 70; index += 1) world.delete(`mallory/s${index}`);
    expect(world.holders(first)).to.equal(0);
    expect([...world.listed.listersOf(first)]).to.deep.equal([]);
  });

  it('of a Service that goes beyond count, and stay reserved, as far as they are announced', () => {
    const world = new Counted();
    const more = [...SAME.slice(0, 63), '192.0.2.100'];
    for (let index = 0; index < 64; index += 1) world.put(`mallory/s${index}`, SAME.slice(0, 63));
    world.put('mallory/rest', SAME);
    world.announce();
    for (let index = 0; index < 200; index += 1) world.put(`mallory/n${index}`, SAME);
    // an edit that asks for more costs no place, and gives none to those that come after
    for (let index = 0; index < 64; index += 1) world.put(`mallory/s${index}`, more);
    world.announce();
    expect(world.isBeyond('s0')).to.equal(true);
    expect(world.announced).to.equal(64 * 63 + 64);
    expect(world.holders(address(SAME[1] ?? ''))).to.equal(65);
    expect(world.holders(address('192.0.2.100'))).to.equal(0);
  });

  it('make room when a Service that is beyond loses its claims', () => {
    const world = new Counted();
    for (let index = 0; index < 64; index += 1) world.put(`mallory/s${index}`, SAME.slice(0, 63));
    world.put('mallory/rest', SAME);
    world.announce();
    world.put('mallory/next', SAME.slice(1));
    world.put('mallory/s0', SAME);
    expect(world.isBeyond('next')).to.equal(true);
    world.claims.delete('mallory/s0');
    world.listed.claimsChanged('mallory/s0');
    world.rest();
    expect(world.isBeyond('next')).to.equal(false);
    expect(world.isBeyond('s0')).to.equal(true);
  });

  it('are no more after a change of leader: what has claims is counted before the oldest gets new ones', () => {
    const old = Array.from({ length: 64 }, (_, index) => `mallory/old${index}`);
    const young = Array.from({ length: 64 }, (_, index) => `mallory/young${index}`);
    const world = new Counted();
    for (const key of old) world.put(key, SAME.slice(0, 1));
    for (const key of young) world.put(key, SAME.slice(0, 63));
    world.announce();
    for (const key of old) world.put(key, SAME);
    const next = new Counted();
    for (const [key, list] of world.claims) next.claims.set(key, list);
    next.begin(world.lists);
    next.announce();
    expect(next.announced).to.equal(MOST_LISTED);
    next.put('mallory/new', ['192.0.2.9']);
    expect(next.isBeyond('new')).to.equal(true);
  });

  it('of other namespaces cost nothing where the labels of one change', () => {
    const world = new Counted();
    let looks = 0;
    for (let index = 0; index < 50; index += 1) {
      const service = plainService(`mallory/s${index}`, { externalIps: SAME });
      Object.defineProperty(service, 'namespace', {
        get: () => {
          looks += 1;
          return 'mallory';
        },
      });
      world.listed.change(`mallory/s${index}`, service);
    }
    for (let index = 0; index < 3; index += 1) world.put(`victim/s${index}`, SAME);
    looks = 0;
    expect(world.again('victim')).to.have.length(3);
    expect(world.again('nobody')).to.have.length(0);
    expect(looks).to.equal(0);
    expect(world.again('mallory')).to.have.length(50);
  });

  it('that are beyond when their pool goes are looked at one Service at a step, also for an event that comes first', () => {
    const world = new Counted();
    for (let index = 0; index < 1000; index += 1) world.put(`mallory/s${index}`, SAME);
    world.book.setPools([pool('other', ['198.51.100.0/24'])]);
    expect(world.dearestStep(world.listed.again()), 'looks in a step').to.be.at.most(64);
    expect(world.isBeyond('s999')).to.equal(false);
    world.book.setPools([pool('lab', ['192.0.2.0/24'])]);
    world.again();
    expect(world.isBeyond('s64')).to.equal(true);
    world.book.setPools([pool('other', ['198.51.100.0/24'])]);
    world.looks = 0;
    world.listed.change('mallory/s0', plainService('mallory/s0', { externalIps: SAME }));
    world.listed.change('mallory/s1', plainService('mallory/s1', { externalIps: SAME }));
    expect(world.looks, 'looks in the turns of two events').to.be.at.most(2 * 64);
    expect(world.later, 'jobs for one namespace').to.have.length(1);
    for (const job of world.later) expect(world.dearestStep(job)).to.be.at.most(64);
    expect(world.isBeyond('s999')).to.equal(false);
  });

  it('are admitted one Service at a step when a term starts, in every namespace', () => {
    const world = new Counted();
    world.listed.begin();
    for (let index = 0; index < 64; index += 1) {
      for (const name of ['t0', 't1', 't2']) world.put(`${name}/s${index}`, SAME);
    }
    expect(world.taken).to.equal(0);
    expect(world.dearestStep(world.listed.admit()), 'looks in a step').to.be.at.most(64);
    expect(world.holders(first)).to.equal(3 * 64);
  });

  it('of a Service that comes while others are being admitted stand behind these', () => {
    const world = new Counted();
    for (let index = 0; index < 66; index += 1) world.put(`mallory/s${index}`, SAME);
    world.listed.change('mallory/s0', undefined);
    world.listed.change('mallory/new', plainService('mallory/new', { externalIps: SAME }));
    world.rest();
    expect(world.isBeyond('s64')).to.equal(false);
    expect(world.isBeyond('new')).to.equal(true);
    // … and have their place where there is room for both
    world.listed.change('mallory/s1', undefined);
    world.listed.change('mallory/s2', undefined);
    world.rest();
    expect(world.isBeyond('s65')).to.equal(false);
    expect(world.isBeyond('new')).to.equal(false);
  });

  it('are admitted, too, when room comes while the one that did not fit is looked at', () => {
    const world = new Counted();
    for (let index = 0; index < 65; index += 1) world.put(`mallory/s${index}`, SAME);
    const shorter = plainService('mallory/s0', { externalIps: SAME.slice(1) });
    world.listed.change('mallory/s0', shorter);
    world.later[0]?.next();
    expect(world.isBeyond('s64')).to.equal(true);
    world.listed.change('mallory/s0', undefined);
    world.rest();
    expect(world.isBeyond('s64')).to.equal(false);
  });
});
