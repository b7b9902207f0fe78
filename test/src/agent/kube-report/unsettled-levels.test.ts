import { formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import { UnsettledLevels } from '../../../../src/agent/kube-report/unsettled-levels.ts';
import type { IpClaim } from '../../../../src/model/ip-claim.ts';
import { ANYCAST_LABEL, nodeLabel, type PreferenceLevel } from '../../../../src/model/names.ts';
import { claim, NODE } from '../scenery.ts';

const OWN = nodeLabel(NODE);
const OTHER = nodeLabel('another');
const HOUR_MS = 3_600_000;

/** `levels`: of this node */
function own(claims: readonly IpClaim[]) {
  const levels = claims.map(({ name, labels }) => [name, Number(labels[OWN]) as PreferenceLevel]);
  return {
    claims,
    announced: new Map(levels as [string, PreferenceLevel][]),
    refused: new Set(''),
  };
}

function at(index: number, labels: Readonly<Record<string, string>>): IpClaim {
  return claim({ at: `198.51.${100 + Math.floor(index / 200)}.${(index % 200) + 1}`, labels });
}

describe('the levels that a node tells of', () => {
  const addresses = (levels: UnsettledLevels, claims: readonly IpClaim[], nowMs: number) =>
    levels.take(own(claims), nowMs).unsettled.map(({ address }) => address);

  it('has a claim that comes here for as long as another node has a label on it', () => {
    const levels = new UnsettledLevels(NODE);
    const moving = [at(0, { [OWN]: '0', [OTHER]: '2' })];
    expect(addresses(levels, moving, 0)).to.have.length(1);
    expect(addresses(levels, moving, HOUR_MS)).to.have.length(1);
    const alone = [at(0, { [OWN]: '0' })];
    expect(addresses(levels, alone, HOUR_MS)).to.have.length(0);
  });

  it('has first what comes here, the oldest first, then what leaves, then what is settled here', () => {
    const levels = new UnsettledLevels(NODE);
    const old = at(1, { [OWN]: '0', [OTHER]: '2' });
    const leaving = at(2, { [OWN]: '2', [OTHER]: '0' });
    const settled = at(3, { [OWN]: '0' });
    addresses(levels, [old, leaving, settled], 0);
    const young = at(0, { [OWN]: '0', [OTHER]: '2' });
    expect(addresses(levels, [settled, leaving, young, old], 1000)).to.deep.equal([
      '198.51.100.2',
      '198.51.100.1',
      '198.51.100.3',
      '198.51.100.4',
    ]);
  });

  it('gives each its turn where not all have room and none of them is finished', () => {
    const levels = new UnsettledLevels(NODE);
    const moving = Array.from({ length: 700 }, (_, index) =>
      at(index, { [OWN]: '0', [OTHER]: '2' }),
    );
    const seen = new Set<string>();
    for (let nowMs = 0; nowMs <= 5 * 60_000; nowMs += 10_000) {
      for (const address of addresses(levels, moving, nowMs).slice(0, 300)) seen.add(address);
    }
    expect(seen.size).to.equal(moving.length);
  });

  it('has what comes and what leaves before what became exclusive and waits for other nodes, for hours', () => {
    const levels = new UnsettledLevels(NODE);
    const became = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) =>
        at(from + index, { [OWN]: '0', [ANYCAST_LABEL]: '' }),
      );
    const awaiting = became(0, 3333);
    addresses(levels, awaiting, 0);
    const coming = at(4000, { [OWN]: '0', [OTHER]: '2' });
    const leaving = at(4001, { [OWN]: '2', [OTHER]: '0' });
    // it is asked for, too, until the controller takes no answer for one
    const young = became(4002, 1);
    for (let nowMs = HOUR_MS; nowMs <= HOUR_MS + 120_000; nowMs += 10_000) {
      const told = addresses(levels, [...awaiting, ...young, coming, leaving], nowMs);
      const first = [coming, leaving, ...young].map(({ address }) => formatAddress(address));
      expect(told.slice(0, 3)).to.deep.equal(first);
    }
    const comingAgain = at(0, { [OWN]: '0', [OTHER]: '2', [ANYCAST_LABEL]: '' });
    const [told] = addresses(levels, [...awaiting.slice(1), comingAgain], 2 * HOUR_MS);
    expect(told, 'another node has a part in it').to.equal(formatAddress(comingAgain.address));
  });

  it('has what became exclusive or is settled only up to 299 in all: a list of more means that a move may be missing', () => {
    const others = (index: number) =>
      at(index, index % 2 === 0 ? { [OWN]: '0' } : { [OWN]: '0', [ANYCAST_LABEL]: '' });
    const leaving = (index: number) => at(index, { [OWN]: '2', [OTHER]: '0' });
    const coming = (index: number) => at(index, { [OWN]: '0', [OTHER]: '2' });
    const listed = (moves: readonly IpClaim[], notAnnounced: readonly IpClaim[] = []) => {
      const kept = Array.from({ length: 1000 }, (_, index) => others(2000 + index));
      const told = own([...kept, ...moves]);
      const claims = [...told.claims, ...notAnnounced];
      const { unsettled } = new UnsettledLevels(NODE).take({ ...told, claims }, 0);
      const addresses = new Set(unsettled.map(({ address }) => address));
      const missing = moves.filter(({ address }) => !addresses.has(formatAddress(address)));
      return { all: unsettled.length, missing: missing.length };
    };
    const some = (count: number, make: (index: number) => IpClaim, from = 0) =>
      Array.from({ length: count }, (_, index) => make(from + index));
    const moving = [...some(150, leaving), ...some(149, coming, 500)];
    expect(listed([])).to.deep.equal({ all: 299, missing: 0 });
    expect(listed(moving.slice(0, 100))).to.deep.equal({ all: 299, missing: 0 });
    expect(listed(moving)).to.deep.equal({ all: 299, missing: 0 });
    expect(listed([...moving, coming(900)])).to.deep.equal({ all: 300, missing: 0 });
    expect(listed(some(700, leaving))).to.deep.equal({ all: 700, missing: 0 });
    expect(listed([], some(400, leaving)), 'none of them is announced').to.deep.equal({
      all: 299,
      missing: 0,
    });
  });

  it('gives a claim that comes a second time a turn of its own', () => {
    const levels = new UnsettledLevels(NODE);
    const moving = (from: number) =>
      Array.from({ length: 300 }, (_, index) => at(from + index, { [OWN]: '0', [OTHER]: '2' }));
    const first = at(0, { [OWN]: '0', [OTHER]: '2' });
    addresses(levels, [first, ...moving(1)], 0);
    addresses(levels, [at(0, { [OWN]: '0' }), ...moving(1)], 1000);
    addresses(levels, [first, ...moving(400)], 59_000);
    // its first turn would be over now
    const now = addresses(levels, [first, ...moving(400)], 61_000).slice(0, 300);
    expect(now).to.include(formatAddress(first.address));
  });
});
