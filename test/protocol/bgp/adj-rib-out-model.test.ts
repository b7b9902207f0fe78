/**
 * Any order of what can happen to an Adj-RIB-Out, against a neighbour that decodes the bytes. What it should hold is worked out
 * here from the desired routes alone.
 */

import { expect } from 'chai';
import fc from 'fast-check';
import { AdjRibOut } from '../../../protocol/bgp/adj-rib-out.ts';
import type { PathAttributes } from '../../../protocol/bgp/message.ts';
import type { SessionView } from '../../../protocol/bgp/pack.ts';
import { sessionAttributes } from '../../../protocol/bgp/pack.ts';
import type { Route, RouteAttributes } from '../../../protocol/bgp/route.ts';
import type { Family, Prefix } from '../../../protocol/net/address.ts';
import { formatPrefix, parsePrefix } from '../../../protocol/net/address-text.ts';
import {
  address4,
  address6,
  IPV4,
  IPV6,
  ModelNeighbour,
  sessionView,
  splitMessages,
} from '../../support/model-neighbour.ts';

const PREFIXES: readonly Prefix[] = [
  '0.0.0.0/0',
  '10.0.0.0/8',
  '10.0.0.0/9',
  '10.1.0.0/16',
  '203.0.113.7/32',
  '203.0.113.8/32',
  '::/0',
  '2001:db8::/32',
  '2001:db8:0:1::/64',
  '2001:db8::7/128',
].map((text) => {
  const prefix = parsePrefix(text);
  if (prefix === undefined) throw new Error(text);
  return prefix;
});

const TOO_MANY = Array.from({ length: 1100 }, (_, i) => i);

const ATTRIBUTES: readonly RouteAttributes[] = [
  {},
  { med: 1 },
  { med: 2, communities: [1, 2] },
  { localPref: 7 },
  // the same as the third in another object: no difference may come of it
  { communities: [2, 1], med: 2 },
  // refused for IPv6, and for IPv4 where it cannot be
  { nextHop: address4('198.51.100.1') },
  { nextHop: address6('2001:db8::77') },
  // refused unless messages may be long
  { communities: TOO_MANY },
];

const base = sessionView();
const VIEWS: readonly SessionView[] = [
  base,
  sessionView({ internal: true }),
  sessionView({ as4: false }),
  sessionView({ families: [IPV4] }),
  sessionView({ families: [IPV6], enhancedRouteRefresh: false }),
  sessionView({ enhancedRouteRefresh: false }),
  sessionView({ extendedMessage: true }),
  sessionView({ addPathSend: [IPV4] }),
  sessionView({ addPathSend: [IPV4, IPV6], extendedNextHop: [IPV4] }),
  { ...base, nextHops: { ipv4: address4('192.0.2.2') } },
];

const NEXT_HOPS: readonly SessionView['nextHops'][] = [
  base.nextHops,
  { ipv4: address4('192.0.2.99'), ipv6: address6('2001:db8::1') },
  { ipv4: address4('192.0.2.1') },
  { ipv6: address6('2001:db8::2'), ipv6LinkLocal: address6('fe80::2') },
];

const arbitraryRoute: fc.Arbitrary<Route> = fc
  .tuple(fc.constantFrom(...PREFIXES), fc.constantFrom(...ATTRIBUTES), fc.nat(6))
  .map(([prefix, attributes, id]) =>
    id < 5 ? { prefix, attributes } : { prefix, attributes, pathId: id - 4 },
  );

const arbitraryStep = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('apply'),
      routes: fc.array(arbitraryRoute, { maxLength: 14 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('change'), route: arbitraryRoute }) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('take'), bytes: fc.nat(9000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('established'), view: fc.constantFrom(...VIEWS) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('refresh'), family: fc.constantFrom(IPV4, IPV6) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('next-hops'),
      nextHops: fc.constantFrom(...NEXT_HOPS),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('down') }) },
);
type Step = typeof arbitraryStep extends fc.Arbitrary<infer T> ? T : never;

/** What the neighbour should hold, by the key that it uses. */
function expectedTable(desired: readonly Route[], view: SessionView): Map<string, string> {
  const chosen = new Map<string, { readonly route: Route; readonly id: number }>();
  for (const route of desired) {
    const family = route.prefix.family === 'ipv4' ? IPV4 : IPV6;
    const addPath = view.negotiated.addPathSend.includes(family);
    const id = route.pathId ?? 0;
    const key = formatPrefix(route.prefix) + (addPath ? ` id ${id}` : '');
    const rival = chosen.get(key);
    if (rival === undefined || id < rival.id) chosen.set(key, { route, id });
  }
  const table = new Map<string, string>();
  for (const [key, { route }] of chosen) {
    const wording = wordingOf(route, view);
    if (wording !== undefined) table.set(key, wording);
  }
  return table;
}

function wordingOf({ prefix, attributes }: Route, view: SessionView): string | undefined {
  if (attributes.communities === TOO_MANY && !view.negotiated.extendedMessage) return undefined;
  const said = sessionAttributes(attributes, prefix.family, view);
  return said.kind === 'refused' ? undefined : asText(said.attributes, said.mpNextHops);
}

function asText(attributes: PathAttributes, nextHops: unknown): string {
  const { mpReach: _, mpUnreach: __, communities, ...rest } = attributes;
  const sorted = communities?.toSorted((a, b) => a - b);
  const parts = Object.entries({ ...rest, communities: sorted, nextHops });
  return JSON.stringify(parts.filter(([, value]) => value !== undefined).sort());
}

/** The same route in other objects, with its communities in the opposite order. */
function rebuilt({ attributes, ...rest }: Route): Route {
  const { communities, ...others } = attributes;
  if (communities === undefined) return { ...rest, attributes: others };
  return { ...rest, attributes: { communities: communities.toReversed(), ...others } };
}

class Run {
  readonly #rib = new AdjRibOut();
  #desired: readonly Route[] = [];
  #view: SessionView | undefined;
  #neighbour = new ModelNeighbour(base.negotiated);
  /** every wording that was right at some time in this session, by key */
  #everRight = new Set<string>();

  step(step: Step): void {
    if (step.kind === 'apply') this.#apply(step.routes);
    else if (step.kind === 'change') this.#change(step.route);
    else if (step.kind === 'take') this.#take(step.bytes);
    else if (step.kind === 'established') this.#established(step.view);
    else if (step.kind === 'refresh') this.#rib.refresh(step.family);
    else if (step.kind === 'next-hops') this.#nextHops(step.nextHops);
    else this.#down();
    this.#checkBounds();
  }

  finish(): void {
    if (this.#view === undefined) this.#established(base);
    for (let i = 0; i < 1000 && this.#take(5000); i++);
    const view = this.#view;
    if (view === undefined) throw new Error('a session was made');
    expect(this.#rib.isSynced()).to.equal(true);
    expect(this.#rib.pendingCount).to.equal(0);
    expect(this.#held()).to.deep.equal(sorted(expectedTable(this.#desired, view)));
    this.#checkMarks(view);
    this.#checkRefused(view);
    expect(this.#rib.apply(this.#desired.map(rebuilt))).to.equal(false);
    expect(this.#rib.take(100_000), 'the same set again').to.equal(undefined);
    this.#leave();
  }

  /** The farewell changes nothing until it is sent, takes back exactly what was told, and leaves a RIB that can begin anew. */
  #leave(): void {
    const held = this.#neighbour.table.size;
    const farewell = this.#rib.farewell();
    expect(farewell === undefined).to.equal(held === 0);
    expect(this.#rib.farewell(), 'made twice').to.deep.equal(farewell);
    expect(this.#rib.take(100_000)).to.equal(undefined);
    this.#neighbour.receive(farewell?.bytes ?? new Uint8Array(0));
    expect(this.#neighbour.table.size).to.equal(0);
    this.#rib.left();
    expect(this.#rib.advertised).to.deep.equal({ ipv4: 0, ipv6: 0 });
    expect(this.#rib.isSynced()).to.equal(true);
    expect(this.#rib.take(100_000)).to.equal(undefined);
    this.#rib.apply(this.#desired);
    for (let batch = this.#rib.take(5000); batch !== undefined; batch = this.#rib.take(5000)) {
      this.#neighbour.receive(batch.bytes);
    }
    expect(this.#neighbour.table.size).to.equal(held);
  }

  #apply(routes: readonly Route[]): void {
    this.#desired = routes;
    this.#rib.apply(routes);
    this.#noteRight();
  }

  /** One route more, or less where it is there. */
  #change(route: Route): void {
    const without = this.#desired.filter(({ prefix }) => prefix !== route.prefix);
    this.#apply(without.length < this.#desired.length ? without : [...without, route]);
  }

  #established(view: SessionView): void {
    this.#down();
    this.#view = view;
    this.#neighbour = new ModelNeighbour(view.negotiated);
    this.#rib.established(view);
    this.#noteRight();
  }

  #down(): void {
    this.#view = undefined;
    this.#everRight = new Set();
    this.#rib.down();
    expect(this.#rib.take(1000)).to.equal(undefined);
  }

  #nextHops(nextHops: SessionView['nextHops']): void {
    if (this.#view === undefined) return;
    this.#view = { ...this.#view, nextHops };
    this.#rib.updateSession(this.#view);
    this.#noteRight();
  }

  #noteRight(): void {
    if (this.#view === undefined) return;
    for (const pair of expectedTable(this.#desired, this.#view)) this.#everRight.add(String(pair));
  }

  #take(bytes: number): boolean {
    const batch = this.#rib.take(bytes);
    if (batch === undefined) return false;
    const view = this.#view;
    if (view === undefined) throw new Error('messages without a session');
    const most = view.negotiated.extendedMessage ? 65535 : 4096;
    expect(batch.bytes.length).to.be.at.most(Math.max(bytes, most));
    const frames = splitMessages(batch.bytes);
    expect(batch.messages).to.equal(frames.length);
    for (const frame of frames) {
      const before = this.#neighbour.log.length;
      this.#neighbour.receive(frame);
      this.#checkEndOfRib(this.#neighbour.log.slice(before), view);
    }
    expect(this.#neighbour.longestMessage).to.be.at.most(most);
    for (const pair of this.#held()) expect(this.#everRight).to.include(String(pair));
    const { advertised } = this.#rib;
    expect(advertised.ipv4 + advertised.ipv6).to.equal(this.#neighbour.table.size);
    return true;
  }

  /** End-of-RIB is a statement: all of the family is there. */
  #checkEndOfRib(log: readonly string[], view: SessionView): void {
    for (const family of ['ipv4', 'ipv6'] as const) {
      if (!log.includes(`eor ${family}`)) continue;
      const expected = [...expectedTable(this.#desired, view)].filter(([key]) => isOf(key, family));
      expect(this.#held().filter(([key]) => isOf(key, family))).to.deep.equal(
        sorted(new Map(expected)),
      );
    }
  }

  #checkMarks(view: SessionView): void {
    for (const [family, id] of [
      ['ipv4', IPV4],
      ['ipv6', IPV6],
    ] as const) {
      const marks = this.#neighbour.log.filter((line) =>
        [`eor ${family}`, `begin ${family}`, `end ${family}`].includes(line),
      );
      const text = marks.map((line) => line.split(' ')[0]).join(' ');
      const speaks = view.negotiated.families.includes(id);
      // a request that comes in the middle of an answer begins it anew
      expect(text).to.match(speaks ? /^eor( begin( begin)* end)*$/ : /^$/);
      if (!view.negotiated.enhancedRouteRefresh) expect(text).not.to.include('begin');
    }
  }

  #checkRefused(view: SessionView): void {
    const keyOf = ({ prefix }: Route) => formatPrefix(prefix);
    const wanted = this.#rib.wanted.ipv4 + this.#rib.wanted.ipv6;
    const refused = this.#rib.refused();
    expect(refused.length).to.equal(wanted - this.#neighbour.table.size);
    for (const { route, reason, kind } of refused) {
      expect(kind).to.equal('refused');
      expect(wordingOf(route, view), `${keyOf(route)} ${reason}`).to.equal(undefined);
    }
  }

  /** What is held in memory is what is wanted and what the neighbour has; what waits is never more. */
  #checkBounds(): void {
    const { known, pending, wanted } = this.#rib;
    const held = this.#view === undefined ? 0 : this.#neighbour.table.size;
    expect(known.ipv4 + known.ipv6).to.be.at.most(wanted.ipv4 + wanted.ipv6 + held);
    expect(pending.ipv4).to.be.at.most(known.ipv4);
    expect(pending.ipv6).to.be.at.most(known.ipv6);
  }

  #held(): [string, string][] {
    const table = new Map<string, string>();
    for (const [key, { attributes }] of this.#neighbour.table) {
      const reach = attributes.mpReach;
      table.set(key, asText(attributes, reach?.kind === 'prefixes' ? reach.nextHops : undefined));
    }
    return sorted(table);
  }
}

function sorted(table: Map<string, string>): [string, string][] {
  return [...table].sort(([a], [b]) => (a < b ? -1 : 1));
}

function isOf(key: string, family: Family): boolean {
  return key.includes(':') === (family === 'ipv6');
}

describe('AdjRibOut, any order of events', () => {
  it('leaves the neighbour with exactly what is desired, and says nothing that was never right', () => {
    fc.assert(
      fc.property(fc.array(arbitraryStep, { maxLength: 40 }), (steps) => {
        const run = new Run();
        for (const step of steps) run.step(step);
        run.finish();
      }),
      { numRuns: 600 },
    );
  }).timeout(20_000);
});
