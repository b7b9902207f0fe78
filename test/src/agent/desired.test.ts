import { formatPrefix, WellKnownCommunity } from 'bgp-ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { desired } from '../../../src/agent/desired.ts';
import { keptPlaces } from '../../../src/agent/kept-places.ts';
import type { View } from '../../../src/agent/view.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { optional } from '../../../src/model/optional.ts';
import {
  address,
  advertisement,
  announced,
  check,
  claim,
  documents,
  EXCLUSIVE,
  gateOf,
  keyOf,
  NODE,
  peer,
  pool,
  sourced,
  VIP,
  view,
  WAIT_MS,
} from './scenery.ts';

const IN_CLUSTER = {
  joined: { isOpen: true, sentence: 'joined' },
  isReady: true,
  drains: new Map(),
  addresses: [],
};
const GSHUT = WellKnownCommunity['graceful-shutdown'];

/** the attributes of the only route to the only peer */
function attributesOf(from: View) {
  const [route] = desired(from).peers[0]?.routes ?? [];
  return route?.attributes;
}

describe('desired: gate by gate', () => {
  it('announces a claim to its peer when every gate is open', () => {
    const state = desired(view());
    expect(announced(state)).to.deep.equal([`tor ${VIP}`]);
    const [route] = state.peers[0]?.routes ?? [];
    expect(route && formatPrefix(route.prefix)).to.equal(`${VIP}/32`);
    expect(state.wakeAtMs).to.equal(undefined);
  });

  it('allowed: says what to do where the peer itself is at fault', () => {
    const { asn: _, ...node } = view().node;
    const [decision] = desired(view({ node })).claims[0]?.peers ?? [];
    expect(decision?.allowed.sentence).to.include('names no localASN');
    expect(decision?.allowed.remedy).to.include('correct BGPPeer tor');
  });

  it('joined: closed with the words and the remedy of the join check; the session stays', () => {
    const joined = { isOpen: false, sentence: 'connection refused', remedy: 'start it' };
    const state = desired(view({ joined }));
    expect(announced(state)).to.deep.equal([]);
    expect(state.peers).to.have.length(1);
    expect(gateOf(view({ joined }), 'joined')).to.deep.equal({
      name: 'joined',
      state: 'closed',
      sentence: 'connection refused',
      remedy: 'start it',
    });
  });

  it('assigned: exclusive and placed here', () => {
    const docs = documents({ claims: [claim({ placement: EXCLUSIVE, node: NODE })] });
    expect(announced(desired(view({ documents: docs })))).to.deep.equal([`tor ${VIP}`]);
    expect(gateOf(view({ documents: docs }), 'assigned').state).to.equal('open');
  });

  const elsewhere = [
    {
      name: 'exclusive on another node',
      object: claim({ placement: EXCLUSIVE, node: 'n2' }),
      sentence: 'exclusive, and placed on node n2',
      remedy: 'to move it here, set spec.node to n1',
    },
    {
      name: 'exclusive on no node',
      object: claim({ placement: EXCLUSIVE }),
      sentence: 'exclusive, and placed on no node yet',
      remedy: 'to move it here, set spec.node to n1',
    },
    {
      name: 'withdrawn',
      object: claim({ withdrawn: { reason: 'no endpoints' } }),
      sentence: 'withdrawn: no endpoints',
      remedy: 'remove spec.withdrawn from the claim',
    },
    {
      name: 'a nodeSelector that does not select us',
      object: claim({ placement: { nodeSelector: { matchLabels: { rack: 'b' } } } }),
      sentence: "the placement's nodeSelector does not select node n1",
      remedy: "change the placement's nodeSelector, or the node's labels (--node-labels)",
    },
  ];
  for (const { name, object, sentence, remedy } of elsewhere) {
    it(`assigned: closed for ${name}`, () => {
      const from = view({ documents: documents({ claims: [object] }) });
      expect(announced(desired(from))).to.deep.equal([]);
      const gate = gateOf(from, 'assigned');
      expect(gate).to.deep.equal({ name: 'assigned', state: 'closed', sentence, remedy });
    });
  }

  it('assigned: the claim’s own placement beats the pool’s', () => {
    const pools = [pool({ placement: { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 } })];
    const any = documents({ pools, claims: [claim({ placement: { mode: 'anycast' } })] });
    expect(announced(desired(view({ documents: any })))).to.have.length(1);
    const ofPool = documents({ pools, claims: [claim()] });
    expect(announced(desired(view({ documents: ofPool })))).to.have.length(0);
  });

  it('healthy: closed while its checks were not asked, or fail; open when they pass', () => {
    const docs = documents({ claims: [claim({ checks: [check()] })] });
    expect(gateOf(view({ documents: docs }), 'healthy').state).to.equal('closed');
    const bad = new Map([[VIP, { isOpen: false, sentence: 'refused', remedy: 'bring it up' }]]);
    expect(gateOf(view({ documents: docs, health: bad }), 'healthy')).to.deep.equal({
      name: 'healthy',
      state: 'closed',
      sentence: 'refused',
      remedy: 'bring it up',
    });
    expect(announced(desired(view({ documents: docs, health: bad })))).to.deep.equal([]);
    const good = new Map([[VIP, { isOpen: true, sentence: '200' }]]);
    expect(announced(desired(view({ documents: docs, health: good })))).to.have.length(1);
  });

  it('bound: a wish for the interface comes first, the route when the address is there', () => {
    const docs = documents({ claims: [claim({ bind: { interface: 'eth1' } })] });
    const waiting = desired(view({ documents: docs }));
    expect(announced(waiting)).to.deep.equal([]);
    expect(waiting.bindings.get(VIP)?.interface).to.equal('eth1');
    expect(gateOf(view({ documents: docs }), 'bound').sentence).to.equal(
      'it goes on eth1 when the other gates are open',
    );
    const absent = new Map([
      [VIP, { kind: 'absent', sentence: 'there is no eth1', remedy: 'make it' } as const],
    ]);
    expect(gateOf(view({ documents: docs, bindings: absent }), 'bound')).to.deep.equal({
      name: 'bound',
      state: 'closed',
      sentence: 'there is no eth1',
      remedy: 'make it',
    });
    const present = new Map([[VIP, { kind: 'present', sentence: 'it is on eth1' } as const]]);
    expect(announced(desired(view({ documents: docs, bindings: present })))).to.have.length(1);
  });

  it('bound: nothing is wished for on an interface while another gate is closed', () => {
    const bind = { interface: 'lo' };
    const closed = { isOpen: false, sentence: 'no' };
    const cases: readonly View[] = [
      view({ joined: closed, documents: documents({ claims: [claim({ bind })] }) }),
      view({
        documents: documents({ claims: [claim({ bind, placement: EXCLUSIVE, node: 'n2' })] }),
      }),
      view({ documents: documents({ pools: [], claims: [claim({ bind })] }) }),
      view({
        documents: documents({ claims: [claim({ bind, checks: [check()] })] }),
        health: new Map([[VIP, closed]]),
      }),
      view({
        documents: documents({ claims: [claim({ bind })] }),
        nodeDrain: { sinceMs: 0, reason: 'over', waitMs: 0 },
      }),
    ];
    for (const from of cases) expect([...desired(from).bindings]).to.deep.equal([]);
  });

  it('bound: a claim whose check asks its own address keeps it while it is unhealthy', () => {
    const target = { kind: 'tcp', host: VIP, port: 443 } as const;
    const docs = documents({
      claims: [claim({ bind: { interface: 'lo' }, checks: [check('', { target })] })],
    });
    const health = new Map([[VIP, { isOpen: false, sentence: 'refused' }]]);
    const state = desired(view({ documents: docs, health }));
    expect(state.bindings.has(VIP)).to.equal(true);
    expect(announced(state)).to.deep.equal([]);
  });

  const notAllowed = [
    {
      name: 'in no pool',
      over: { documents: documents({ pools: [pool({ addresses: ['203.0.113.0/24'] })] }) },
      sentence: `${VIP} is in no pool`,
      remedy: 'add it to the addresses of an IPPool, or claim another address',
    },
    {
      name: 'not in the pool that it names',
      over: { documents: documents({ claims: [claim({ pool: 'other' })] }) },
      sentence: `${VIP} is not in pool other`,
      remedy: 'add it to the addresses of an IPPool, or claim another address',
    },
    {
      name: 'the machine’s own address',
      over: { ownAddresses: new Map([[keyOf(VIP), 'eth0']]) },
      sentence: `${VIP} is this machine's own address (eth0)`,
      remedy: `claim an address that no machine has; ${VIP} would take this machine off the network`,
    },
    {
      name: 'a family that the peer does not carry',
      over: { documents: documents({ peers: [peer({ families: ['ipv6'] })] }) },
      sentence: 'tor carries no ipv4 routes',
      remedy: 'add ipv4 to the families of BGPPeer tor',
    },
    {
      name: 'no advertisement that selects the peer',
      over: {
        documents: documents({
          pools: [
            pool({
              advertisements: [
                advertisement({ peerSelector: { matchLabels: { tier: 'edge' } } }),
                advertisement({ nodeSelector: { matchLabels: { rack: 'b' } } }),
              ],
            }),
          ],
        }),
      },
      sentence: 'no advertisement of pool vips selects peer tor on this node',
      remedy: 'add an advertisement to IPPool vips, or change its selectors',
    },
  ];
  for (const { name, over, sentence, remedy } of notAllowed) {
    it(`allowed: closed for ${name}`, () => {
      const from = view(over);
      expect(announced(desired(from))).to.deep.equal([]);
      const gate = gateOf(from, 'allowed');
      expect(gate).to.deep.equal({ name: 'allowed', state: 'closed', sentence, remedy });
    });
  }

  it('not-draining: a drained node or claim is out with GRACEFUL_SHUTDOWN for the wait, then gone', () => {
    const drain = { sinceMs: 500, reason: 'a person asked' };
    for (const over of [{ nodeDrain: drain }, { claimDrains: new Map([[VIP, drain]]) }]) {
      const during = view({ ...over, nowMs: 500 + WAIT_MS - 1 });
      expect(announced(desired(during))).to.deep.equal([`tor ~${VIP}`]);
      expect(desired(during).wakeAtMs).to.equal(500 + WAIT_MS);
      expect(gateOf(during, 'not-draining')).to.deep.equal({
        name: 'not-draining',
        state: 'draining',
        sentence: 'a person asked; announced with GRACEFUL_SHUTDOWN until the wait is over',
        remedy: 'nodeDrain' in over ? 'herald undrain' : `herald undrain ${VIP}`,
      });
      const after = view({ ...over, nowMs: 500 + WAIT_MS });
      expect(announced(desired(after))).to.deep.equal([]);
      expect(desired(after).wakeAtMs).to.equal(undefined);
      expect(gateOf(after, 'not-draining').state).to.equal('closed');
    }
  });

  it('not-draining: of two drains the one that ends first counts', () => {
    const from = view({
      nowMs: 1000 + WAIT_MS,
      nodeDrain: { sinceMs: 5000, reason: 'the agent stops' },
      claimDrains: new Map([[VIP, { sinceMs: 0, reason: 'a person asked' }]]),
    });
    expect(announced(desired(from))).to.deep.equal([]);
  });

  it('a fact withdraws while a drain still waits', () => {
    const nodeDrain = { sinceMs: 1000, reason: 'stop' };
    const joined = { isOpen: false, sentence: 'dead' };
    expect(announced(desired(view({ nodeDrain })))).to.deep.equal([`tor ~${VIP}`]);
    expect(announced(desired(view({ nodeDrain, joined })))).to.deep.equal([]);
  });

  it('stale: counts until its time, wakes for it, then withdraws and says what to do', () => {
    const stale = { sinceMs: 0, untilMs: 5000, sentence: 'saved yesterday' };
    const young = desired(view({ stale, nowMs: 4999 }));
    expect(announced(young)).to.deep.equal([`tor ${VIP}`]);
    expect(young.wakeAtMs).to.equal(5000);
    const old = view({ stale, nowMs: 5000 });
    expect(announced(desired(old))).to.deep.equal([]);
    expect(gateOf(old, 'assigned')).to.deep.equal({
      name: 'assigned',
      state: 'closed',
      sentence: 'saved yesterday; that is too long ago',
      remedy: 'bring its source back',
    });
  });
});

describe('desired: attributes', () => {
  it('takes communities, MED and prepend of the first advertisement that selects peer and node', () => {
    const pools = [
      pool({
        advertisements: [
          advertisement({ peerSelector: { matchLabels: { tier: 'edge' } }, med: 9 }),
          advertisement({ communities: [0xfc000001], med: 5, prepend: 2, localPref: 150 }),
          advertisement({ med: 7 }),
        ],
      }),
    ];
    const plain = documents({ pools });
    expect(attributesOf(view({ documents: plain }))).to.deep.equal({
      communities: [0xfc000001],
      med: 5,
      prepend: 2,
      localPref: 150,
    });
    const edge = documents({ pools, peers: [peer({ labels: { tier: 'edge' } })] });
    expect(attributesOf(view({ documents: edge }))).to.deep.equal({ med: 9 });
  });

  it('gives an anycast claim nothing, and the holder of an exclusive one local preference 200', () => {
    expect(attributesOf(view())).to.deep.equal({});
    const docs = documents({ claims: [claim({ placement: EXCLUSIVE, node: NODE })] });
    expect(attributesOf(view({ documents: docs }))).to.deep.equal({ localPref: 200 });
  });

  it('drains with GRACEFUL_SHUTDOWN and local preference 0, whatever the advertisement says', () => {
    const pools = [
      pool({ advertisements: [advertisement({ communities: [7], localPref: 300, prepend: 1 })] }),
    ];
    const nodeDrain = { sinceMs: 1000, reason: 'stop' };
    const docs = documents({ pools });
    expect(attributesOf(view({ documents: docs, nodeDrain }))).to.deep.equal({
      communities: [7, GSHUT],
      localPref: 0,
      prepend: 1,
    });
  });

  it('moves an exclusive holder that drains one prepend step down', () => {
    const pools = [
      pool({
        placement: { mode: 'exclusive', nodeFilter: 'fair', prependStep: 4 },
        advertisements: [advertisement({ prepend: 1 })],
      }),
    ];
    const docs = documents({ pools, claims: [claim({ node: NODE })] });
    const nodeDrain = { sinceMs: 1000, reason: 'stop' };
    expect(attributesOf(view({ documents: docs, nodeDrain }))).to.deep.equal({
      communities: [GSHUT],
      localPref: 5,
      prepend: 5,
    });
  });

  it('gives the same object for the same route again, so that nothing is sent', () => {
    const docs = documents({ pools: [pool({ advertisements: [advertisement({ med: 5 })] })] });
    const [a, b] = [view({ documents: docs }), view({ documents: docs, nowMs: 2000 })];
    expect(attributesOf(a)).to.equal(attributesOf(b));
  });
});

describe('desired: maxRoutes', () => {
  const three = [
    sourced(claim({ at: '198.51.100.3' }), 300),
    sourced(claim({ at: '198.51.100.1' }), 200),
    sourced(claim({ at: '198.51.100.2' }), 100),
  ];

  it('refuses the newest, says so, and leaves the others and the session alone', () => {
    const docs = documents({ peers: [peer({ maxRoutes: 2 })], claims: three });
    const state = desired(view({ documents: docs }));
    expect(announced(state)).to.deep.equal(['tor 198.51.100.1', 'tor 198.51.100.2']);
    const refused = state.claims.find(({ subject }) => subject.claim.createdMs === 300);
    expect(refused?.peers[0]?.allowed).to.deep.equal({
      name: 'allowed',
      state: 'closed',
      sentence:
        'tor takes at most 2 routes (maxRoutes), and claims that are older, or announced already, have them all',
      remedy: "raise maxRoutes of BGPPeer tor, and the router's own prefix limit with it",
      isLimit: true,
    });
  });

  it('keeps the place of the oldest while it is unhealthy', () => {
    const [newest, middle, oldest] = three;
    if (newest === undefined || middle === undefined || oldest === undefined) throw new Error();
    const sick = { ...oldest, object: { ...oldest.object, checks: [check()] } };
    const docs = documents({ peers: [peer({ maxRoutes: 2 })], claims: [newest, middle, sick] });
    const health = new Map([[sick.object.name, { isOpen: false, sentence: 'down' }]]);
    expect(announced(desired(view({ documents: docs, health })))).to.deep.equal([
      'tor 198.51.100.1',
    ]);
  });

  it('gives no place to a claim of another node, or to one that is drained away', () => {
    const [newest, middle, oldest] = three;
    if (newest === undefined || middle === undefined || oldest === undefined) throw new Error();
    const other = { ...oldest, object: { ...oldest.object, placement: EXCLUSIVE, node: 'n2' } };
    const docs = documents({ peers: [peer({ maxRoutes: 1 })], claims: [newest, middle, other] });
    expect(announced(desired(view({ documents: docs })))).to.deep.equal(['tor 198.51.100.1']);
    const claimDrains = new Map([['198.51.100.1', { sinceMs: 0, reason: 'x', waitMs: 0 }]]);
    expect(announced(desired(view({ documents: docs, claimDrains })))).to.deep.equal([
      'tor 198.51.100.3',
    ]);
  });

  it('counts per peer', () => {
    const peers = [
      peer({ maxRoutes: 1 }),
      peer({ name: 'two', target: { kind: 'address', address: address('192.0.2.2') } }),
    ];
    const state = desired(view({ documents: documents({ peers, claims: three }) }));
    expect(announced(state)).to.deep.equal([
      'tor 198.51.100.2',
      'two 198.51.100.1',
      'two 198.51.100.2',
      'two 198.51.100.3',
    ]);
  });

  describe('of exclusive claims that the controller has placed here', () => {
    const placed = (at: string, createdMs: number) => ({
      ...sourced(claim({ at, labels: { [nodeLabel(NODE)]: '0' } }), createdMs),
      source: 'api' as const,
    });
    const here = [placed('198.51.100.2', 200), placed('198.51.100.3', 300)];
    const older = placed('198.51.100.1', 100);
    const of = (claims: readonly Sourced<IpClaim>[]) => ({
      ...documents({ peers: [peer({ maxRoutes: 2 })] }),
      claims,
    });
    const follow = (before: readonly Sourced<IpClaim>[], claims: readonly Sourced<IpClaim>[]) => {
      const decided = desired(view({ documents: of(before), cluster: IN_CLUSTER }));
      const kept = keptPlaces(decided);
      return desired(
        view({ documents: of(claims), cluster: IN_CLUSTER, ...optional('kept', kept) }),
      );
    };

    it('keeps those that have a place, and refuses an older one that comes', () => {
      const state = follow(here, [...here, older]);
      expect(announced(state)).to.deep.equal(['tor 198.51.100.2', 'tor 198.51.100.3']);
      const refused = state.claims.find(({ subject }) => subject.claim === older);
      expect(refused?.peers[0]?.allowed.isLimit).to.equal(true);
    });

    it('keeps them where the BGPPeer is renamed, which the session survives', () => {
      const kept = keptPlaces(desired(view({ documents: of(here), cluster: IN_CLUSTER })));
      const renamed = {
        ...documents({ peers: [peer({ name: 'spine', maxRoutes: 2 })] }),
        claims: [...here, older],
      };
      const state = desired(view({ documents: renamed, cluster: IN_CLUSTER, kept }));
      expect(announced(state)).to.deep.equal(['spine 198.51.100.2', 'spine 198.51.100.3']);
    });

    it('gives the place of one that is withdrawn or gone to the next one in the same decision', () => {
      const [first, last] = here;
      if (first === undefined || last === undefined) throw new Error();
      const both = ['tor 198.51.100.1', 'tor 198.51.100.3'];
      const another = placed('198.51.100.4', 400);
      const withdrawn = { ...first.object, withdrawn: { reason: 'NoEndpoints' } };
      const closed = { ...first, object: withdrawn };
      expect(announced(follow(here, [older, closed, last]))).to.deep.equal(both);
      expect(announced(follow(here, [older, last, another]))).to.deep.equal(both);
    });

    it('goes by age among those that have none yet, as after a start', () => {
      const all = [...here, older];
      expect(announced(desired(view({ documents: of(all), cluster: IN_CLUSTER })))).to.deep.equal([
        'tor 198.51.100.1',
        'tor 198.51.100.2',
      ]);
    });

    it('refuses more than the router takes where that was lowered, the newest first', () => {
      const three = [older, ...here];
      const before = { ...of(three), ...documents({ peers: [peer()] }), claims: three };
      const decided = desired(view({ documents: before, cluster: IN_CLUSTER }));
      const kept = keptPlaces(decided);
      const state = desired(
        view({ documents: of(three), cluster: IN_CLUSTER, ...optional('kept', kept) }),
      );
      expect(announced(state)).to.deep.equal(['tor 198.51.100.1', 'tor 198.51.100.2']);
    });
  });
});

describe('desired: properties', () => {
  const at = fc.integer({ min: 0, max: 40 }).map((last) => `198.51.100.${last}`);
  const anyClaim = fc.record({
    at,
    createdMs: fc.integer({ min: 0, max: 5 }),
    node: fc.constantFrom(undefined, NODE, 'n2'),
    mode: fc.constantFrom('anycast', 'exclusive'),
    isHealthy: fc.constantFrom(undefined, true, false),
    isBound: fc.constantFrom(undefined, true, false),
    isDrained: fc.boolean(),
    withdrawn: fc.boolean(),
  });
  type AnyClaim = typeof anyClaim extends fc.Arbitrary<infer T> ? T : never;
  const anyPeer = fc.record({
    tier: fc.constantFrom('edge', 'core'),
    maxRoutes: fc.integer({ min: 1, max: 30 }),
    families: fc.constantFrom<readonly ('ipv4' | 'ipv6')[]>(['ipv4'], ['ipv6'], ['ipv4', 'ipv6']),
  });
  const world = fc.record({
    claims: fc.uniqueArray(anyClaim, { selector: (one) => one.at, maxLength: 30 }),
    peers: fc.array(anyPeer, { maxLength: 3 }),
    isJoined: fc.boolean(),
    isSelective: fc.boolean(),
    isNodeDrained: fc.constantFrom(false, false, true),
  });
  type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

  function viewOf({ claims, peers, isJoined, isSelective, isNodeDrained }: World): View {
    const finding = (isOpen: boolean) => ({ isOpen, sentence: `${isOpen}` });
    const asked = claims.filter(({ isHealthy }) => isHealthy !== undefined);
    const bound = claims.filter(({ isBound }) => isBound !== undefined);
    return view({
      joined: finding(isJoined),
      documents: documents({
        peers: peers.map(({ tier, maxRoutes, families }, index) =>
          peer({
            name: `p${index}`,
            labels: { tier },
            maxRoutes,
            families,
            target: { kind: 'address', address: address(`192.0.2.${index + 1}`) },
          }),
        ),
        // .32 and above are outside the pool
        pools: [
          pool({
            addresses: ['198.51.100.0/27'],
            advertisements: isSelective
              ? [advertisement({ peerSelector: { matchLabels: { tier: 'edge' } } })]
              : [],
          }),
        ],
        claims: claims.map((one) => sourced(claimOf(one), one.createdMs)),
      }),
      health: new Map(asked.map((one) => [one.at, finding(one.isHealthy === true)])),
      bindings: new Map(
        bound.map((one) => [
          one.at,
          { kind: one.isBound === true ? 'present' : 'absent', sentence: '' } as const,
        ]),
      ),
      claimDrains: new Map(
        claims
          .filter(({ isDrained }) => isDrained)
          .map((one) => [one.at, { sinceMs: 0, reason: 'x', waitMs: 0 }]),
      ),
      ...(isNodeDrained ? { nodeDrain: { sinceMs: 0, reason: 'x', waitMs: 0 } } : {}),
    });
  }

  function claimOf({ at: where, node, mode, isHealthy, isBound, withdrawn }: AnyClaim) {
    return claim({
      at: where,
      placement: { mode },
      ...(node === undefined ? {} : { node }),
      ...(isHealthy === undefined ? {} : { checks: [check()] }),
      ...(isBound === undefined ? {} : { bind: { interface: 'lo' } }),
      ...(withdrawn ? { withdrawn: { reason: 'x' } } : {}),
    });
  }

  /** what the gates say in plain words, written without them */
  function isReady(one: AnyClaim, from: World): boolean {
    if (!from.isJoined || from.isNodeDrained || one.isDrained || one.withdrawn) return false;
    if (one.mode === 'exclusive' && one.node !== NODE) return false;
    if (one.isHealthy === false || one.isBound === false) return false;
    return Number(one.at.split('.')[3]) < 32;
  }

  it('is a function of its View', () => {
    fc.assert(
      fc.property(world, (one) => {
        const again = viewOf(structuredClone(one));
        expect(desired(again)).to.deep.equal(desired(viewOf(one)));
      }),
    );
  });

  it('does not care in which order the claims come', () => {
    fc.assert(
      fc.property(world, fc.infiniteStream(fc.nat()), (one, numbers) => {
        const straight = viewOf(one);
        const shuffled = straight.documents.claims
          .map((object) => ({ object, key: numbers.next().value ?? 0 }))
          .toSorted((a, b) => a.key - b.key)
          .map(({ object }) => object);
        const other = { ...straight, documents: { ...straight.documents, claims: shuffled } };
        expect(desired(other)).to.deep.equal(desired(straight));
      }),
    );
  });

  it('announces exactly the ready claims to every peer that has room for them', () => {
    fc.assert(
      fc.property(world, (one) => {
        const state = desired(viewOf(one));
        for (const [index, { tier, maxRoutes, families }] of one.peers.entries()) {
          const routes = state.peers[index]?.routes.map(({ prefix }) => formatPrefix(prefix)) ?? [];
          expect(routes.length).to.be.at.most(maxRoutes);
          const isSelected = (!one.isSelective || tier === 'edge') && families.includes('ipv4');
          const ready = one.claims.filter((each) => isSelected && isReady(each, one));
          const expected = ready.map(({ at: where }) => `${where}/32`);
          expect(expected).to.include.members(routes);
          if (one.claims.length <= maxRoutes) expect(routes).to.have.members(expected);
        }
      }),
    );
  });

  it('never takes a route from a claim because a younger one came', () => {
    fc.assert(
      fc.property(world, anyClaim, (one, newcomer) => {
        const others = one.claims.filter(({ at: where }) => where !== newcomer.at);
        const before = { ...one, claims: others };
        const after = { ...one, claims: [...others, { ...newcomer, createdMs: 99 }] };
        expect(announced(desired(viewOf(after)))).to.include.members([
          ...announced(desired(viewOf(before))),
        ]);
      }),
    );
  });
});
