/** Discard routes and the wire, in their order: the kernel-side of the agent with a speaker that has not flushed yet. */

import { type Prefix, type PrefixKey, parsePrefix, prefixKey } from 'bgp-ts';
import { expect } from 'chai';
import { Discarder } from '../../../src/agent/discarder.ts';
import type { DiscardRoutes } from '../../../src/linux/discard-routes.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';

function prefix(text: string): Prefix {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(text);
  return parsed;
}

const ONE = prefix('198.51.100.0/26');
const KEY = prefixKey(ONE);
const WISH: ReadonlyMap<PrefixKey, Prefix> = new Map([[KEY, ONE]]);
const NONE: ReadonlyMap<PrefixKey, Prefix> = new Map();

class MemoryRoutes implements DiscardRoutes {
  readonly present = new Map<PrefixKey, Prefix>();
  objection: string | undefined;
  looks = 0;

  list() {
    this.looks += 1;
    return new Map(this.present);
  }

  objections(prefixes: readonly Prefix[]) {
    const { objection } = this;
    if (objection === undefined) return new Map<PrefixKey, string>();
    return new Map(prefixes.map((each) => [prefixKey(each), objection]));
  }

  add(added: Prefix) {
    this.present.set(prefixKey(added), added);
    return { kind: 'done', changed: true } as const;
  }

  remove(gone: Prefix) {
    return { kind: 'done', changed: this.present.delete(prefixKey(gone)) } as const;
  }

  close() {}
}

describe('the discard routes of aggregates', () => {
  it('are added once, and the kernel is asked again only when something may have changed', () => {
    const routes = new MemoryRoutes();
    const discarder = new Discarder(routes, SILENT_LOG);
    expect(discarder.ensure(WISH)).to.equal(true);
    expect(discarder.facts?.get(KEY)?.kind).to.equal('present');
    const { looks } = routes;
    expect(discarder.ensure(new Map(WISH))).to.equal(false);
    expect(routes.looks).to.equal(looks);
    routes.present.clear();
    discarder.recheck();
    expect(discarder.ensure(WISH), 'it is put back before anybody notices').to.equal(false);
    expect(routes.present.size).to.equal(1);
  });

  it('stay while they are only not wished for, and go when they are released', () => {
    const routes = new MemoryRoutes();
    const discarder = new Discarder(routes, SILENT_LOG);
    discarder.ensure(WISH);
    discarder.ensure(NONE);
    expect(routes.present.size, 'the withdrawal may still be on its way').to.equal(1);
    expect(discarder.hasLeftovers(NONE)).to.equal(true);
    discarder.release(NONE);
    expect(routes.present.size).to.equal(0);
    expect(discarder.facts?.get(KEY)).to.equal(undefined);
  });

  it('of a process before are kept where they are wanted, and removed where not', () => {
    const routes = new MemoryRoutes();
    const other = prefix('203.0.113.0/24');
    routes.add(ONE);
    routes.add(other);
    const discarder = new Discarder(routes, SILENT_LOG);
    discarder.ensure(WISH);
    discarder.release(WISH);
    expect([...routes.present.keys()]).to.deep.equal([KEY]);
  });

  it('go where a route of somebody else appears, with a sentence, and come back with its end', () => {
    const routes = new MemoryRoutes();
    const discarder = new Discarder(routes, SILENT_LOG);
    discarder.ensure(WISH);
    routes.objection = 'it would hide 198.51.0.0/16';
    discarder.recheck();
    expect(discarder.ensure(WISH)).to.equal(true);
    expect(discarder.facts?.get(KEY)).to.deep.equal({
      kind: 'absent',
      sentence: 'it would hide 198.51.0.0/16',
    });
    discarder.release(WISH);
    expect(routes.present.size).to.equal(0);
    routes.objection = undefined;
    discarder.recheck();
    expect(discarder.ensure(WISH)).to.equal(true);
    expect(routes.present.size).to.equal(1);
  });
});
