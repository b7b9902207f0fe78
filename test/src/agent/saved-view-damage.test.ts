/** A saved View that a disk, a person or another release has changed: it is used as it is or not at all, and never throws later (DEFECTS B7). */

import { expect } from 'chai';
import fc from 'fast-check';
import { desired } from '../../../src/agent/desired.ts';
import { KeptRoutes } from '../../../src/agent/kept-routes.ts';
import { Knowledge } from '../../../src/agent/knowledge.ts';
import { PasswordFiles } from '../../../src/agent/password-files.ts';
import {
  formatSavedView,
  parseSavedView,
  SAVED_VERSION,
  type SavedView,
} from '../../../src/agent/saved-view.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import type { ManualClock } from '../../support/manual-clock.ts';
import {
  address,
  advertisement,
  check,
  claim,
  NODE,
  peer,
  pool,
  savedViewIn,
  sourced,
} from './scenery.ts';

const AT = { nowMs: 1_000_000, wallMs: 2_000_000 };

function ofApi<T extends { readonly name: string }>(object: T): Sourced<T> {
  return { ...sourced(object), source: 'api' };
}

/** with something of everything */
const FULL: SavedView = {
  version: SAVED_VERSION,
  savedAtMs: 1_999_000,
  heardAtMs: { files: 1_999_000, api: 1_999_500 },
  routerId: 7,
  documents: {
    peers: [
      ofApi(
        peer({
          password: { kind: 'secret', name: 'key' },
          nodeSelector: { matchExpressions: [{ key: 'rack', operator: 'NotIn', values: ['b'] }] },
          overrides: [{ nodeSelector: { matchLabels: { rack: 'a' } }, localAsn: 64_513 }],
          gracefulRestart: { restartSeconds: 30 },
        }),
      ),
      sourced(
        peer({ name: 'other', target: { kind: 'address', address: address('2001:db8::1') } }),
      ),
    ],
    pools: [
      ofApi(
        pool({
          advertisements: [
            advertisement({
              communities: [1],
              largeCommunities: [{ global: 1, local1: 2, local2: 3 }],
              med: 5,
            }),
            advertisement({ aggregationLength: { ipv4: 28 }, discardRoute: true }),
          ],
        }),
      ),
    ],
    claims: [
      ofApi(claim({ labels: { [ANYCAST_LABEL]: '' }, pool: 'vips', epoch: 3 })),
      ofApi(
        claim({
          at: '2001:db8:7::7',
          labels: { [ANYCAST_LABEL]: '' },
          services: [{ namespace: 'a', name: 'b', healthCheckNodePort: 30_000 }],
        }),
      ),
      sourced(claim({ at: '198.51.100.8', checks: [check()], bind: { interface: 'lo' } })),
    ],
    formerPools: [ofApi(pool({ name: 'gone' }))],
  },
  nodeDrain: 'a person asked',
  cluster: {
    node: {
      name: NODE,
      uid: 'u',
      labels: { rack: 'a' },
      taints: [{ key: 'k', effect: 'NoSchedule' }],
      isUnschedulable: false,
      isBeingDeleted: false,
      ready: 'true',
      bootId: 'b',
      addresses: ['192.0.2.10'],
    },
    readyBoot: 'b',
  },
  clusterMarks: ['ca:00'],
  lost: [
    {
      name: 'tor',
      router: {
        key: 'k',
        connection: 'c',
        address: '192.0.2.1:179',
        asn: 64_500,
        localAsn: 64_512,
      },
      sinceMs: 1_998_000,
      seconds: 90,
    },
  ],
  claimDrains: [['198.51.100.8', 'x']],
};

/** what an agent does with it before anybody else has spoken */
function goBy(saved: SavedView): number {
  const knowledge = new Knowledge({
    node: { name: NODE, labels: {}, routerId: saved.routerId, asn: 64_512 },
    joinCheck: { target: undefined } as never,
    passwords: new PasswordFiles(() => 'key'),
    saved,
    source: 'the API',
    maxStaleMs: 86_400_000,
    sources: ['files', 'api'],
    cluster: { nodeName: NODE, bootId: 'b', ignoresExcludeLabel: false },
  });
  knowledge.restore(AT);
  const clock = { now: () => AT.nowMs, wallTimeMs: () => AT.wallMs } as ManualClock;
  const timers = { start: () => undefined };
  const agent = { decided: { plans: [] }, sessions: [] };
  const kept = new KeptRoutes({ clock, timers, agent, saved: saved.lost ?? [] }, () => undefined);
  expect(kept.leftMs).to.be.within(0, 65_538_000);
  const next = desired(knowledge.view(AT.nowMs));
  const again = knowledge.toSave(AT.wallMs);
  if (again === undefined) throw new Error('nothing to save');
  formatSavedView(again);
  return next.claims.length;
}

const ODD = [
  null,
  true,
  -1,
  1.5,
  1e300,
  '',
  'x',
  [],
  [null],
  {},
  { kind: 'x' },
  { family: 'ipv4' },
];

/** every place in a JSON value */
function placesOf(value: unknown, at: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, each]) => placesOf(each, [...at, key]))];
}

function changed(value: unknown, [key, ...rest]: readonly string[], to: unknown): unknown {
  if (key === undefined) return to;
  const of = value as Record<string, unknown>;
  const inner = changed(of[key], rest, to);
  if (Array.isArray(of)) return of.map((each, index) => (String(index) === key ? inner : each));
  const { [key]: _, ...others } = of;
  return inner === undefined ? others : { ...others, [key]: inner };
}

describe('a saved View that is damaged', () => {
  const { nodeDrain, claimDrains } = FULL;
  const drains = { nodeDrain, claimDrains };
  const whole: unknown = JSON.parse(formatSavedView(FULL));
  const places = placesOf(whole);

  it('is used where nothing is wrong with it', () => {
    const parsed = parseSavedView(formatSavedView(FULL));
    expect(parsed).to.deep.equal({ ok: true, saved: FULL });
    expect(goBy(FULL)).to.equal(3);
  });

  it('says which field is wrong', () => {
    const bad = changed(whole, ['documents', 'claims', '1', 'object', 'services', '0', 'name'], 7);
    expect(parseSavedView(JSON.stringify(bad))).to.deep.equal({
      ok: false,
      sentence: 'View.documents.claims[1].object.services[0].name is no text',
      drains,
    });
    const cut = formatSavedView(FULL).slice(0, -20);
    const sentence = 'it is no JSON, or cut off';
    expect(parseSavedView(cut)).to.deep.equal({ ok: false, sentence, drains });
  });

  it('has no drains where they cannot be read, or nobody asked for one', () => {
    const none = { nodeDrain: undefined, claimDrains: [['198.51.100.8'], 7] };
    const bad = { ...FULL, ...none, routerId: 'x' };
    expect(parseSavedView(JSON.stringify(bad))).to.not.have.property('drains');
    expect(parseSavedView('{"version":1,"nodeD')).to.not.have.property('drains');
  });

  it('is one of 0.1 too, which had no marks and fewer fields', () => {
    const { clusterMarks: _, ...old } = FULL;
    expect(savedViewIn(formatSavedView(old))).to.deep.equal(old);
  });

  it('never throws later, whatever one field has become', () => {
    let used = 0;
    for (const place of places) {
      for (const odd of [undefined, ...ODD]) {
        const text = JSON.stringify(changed(whole, place, odd)) ?? '';
        const saved = savedViewIn(text);
        if (saved === undefined) continue;
        used += 1;
        expect(() => goBy(saved), `${place.join('.')} is ${JSON.stringify(odd)}`).not.to.throw();
      }
    }
    // what may be absent or any text leaves it usable
    expect(used).to.be.above(100);
  });

  it('never throws later, whatever happened to its bytes', () => {
    const text = formatSavedView(FULL);
    const at = fc.nat({ max: text.length });
    fc.assert(
      fc.property(at, at, fc.string({ maxLength: 4 }), (start, length, put) => {
        const saved = savedViewIn(text.slice(0, start) + put + text.slice(start + (length % 6)));
        if (saved !== undefined) goBy(saved);
      }),
      { numRuns: 500 },
    );
  });
});
