import { expect } from 'chai';
import type { ClusterNode } from '../../../src/model/cluster-node.ts';
import type { IpNode, IpNodeSession, IpNodeStatus } from '../../../src/model/ip-node.ts';
import { DEFAULT_PLACEMENT } from '../../../src/model/ip-pool.ts';
import { EXCLUDE_LABEL } from '../../../src/model/names.ts';
import {
  type ClaimDemand,
  groupOf,
  type NodeFacts,
  reachOf,
  standing,
  whyNobody,
} from '../../../src/scheduler/eligible.ts';
import { advertisement } from '../agent/scenery.ts';

const DEMAND: ClaimDemand = {
  placement: { ...DEFAULT_PLACEMENT, mode: 'exclusive' },
  advertisements: [],
  drainOn: ['stop', 'exclude-label'],
  ignoreExcludeLabel: false,
  notReady: 'keep',
  isForService: true,
  family: 'ipv4',
};
const ELSEWHERE = advertisement({ nodeSelector: { matchLabels: { rack: 'r2' } } });
const SINCE = '2026-01-01T00:00:00Z';
const SESSION = { peer: 'tor', address: '192.0.2.1', state: 'Established' } as const;
const WITHOUT_SIX = {
  ...SESSION,
  cannotCarry: [{ family: 'ipv6', message: 'no next hop' }],
} as const;
const DOWN = { ...SESSION, state: 'Active' } as const;
const KEPT: IpNodeSession = { ...DOWN, keptSeconds: 20 };
const STATUS: IpNodeStatus = {
  joined: { open: true, reason: 'Ready', message: 'it has joined', since: SINCE },
  sessions: [SESSION],
};

const ipNode = (status: IpNodeStatus): IpNode => ({
  name: 'a',
  uid: 'u',
  resourceVersion: '1',
  status,
});
const node = (more: Partial<ClusterNode> = {}): ClusterNode => ({
  name: 'a',
  uid: 'u',
  labels: {},
  taints: [],
  isUnschedulable: false,
  isBeingDeleted: false,
  ready: 'true',
  addresses: [],
  ...more,
});
const facts = (more: Partial<NodeFacts> = {}): NodeFacts => ({
  name: 'a',
  life: 'alive',
  node: node(),
  ipNode: ipNode(STATUS),
  cutMs: 0,
  ...more,
});
const { node: _, ...noNode } = facts();
const { ipNode: __, ...noIpNode } = facts();
const taint = (key: string) => [{ key, effect: 'NoExecute' }];

interface Row {
  readonly what: string;
  readonly facts: NodeFacts;
  readonly demand?: Partial<ClaimDemand>;
  readonly kind: string;
  readonly sentence?: string;
}

const ROWS: readonly Row[] = [
  { what: 'alive, joined, with a session', facts: facts(), kind: 'eligible' },
  { what: 'not proven alive yet', facts: facts({ life: 'unproven' }), kind: 'keeps' },
  { what: 'unheard with most others', facts: facts({ life: 'unheard' }), kind: 'keeps' },
  { what: 'dead', facts: facts({ life: 'dead' }), kind: 'gone', sentence: 'renew its Lease' },
  { what: 'stopped', facts: facts({ life: 'released' }), kind: 'gone', sentence: 'has stopped' },
  { what: 'without a Node', facts: noNode, kind: 'leaves', sentence: 'Node is gone' },
  {
    what: 'whose Node is being deleted',
    facts: facts({ node: node({ isBeingDeleted: true }) }),
    kind: 'leaves',
  },
  {
    what: 'out of service',
    facts: facts({ node: node({ taints: taint('node.kubernetes.io/out-of-service') }) }),
    kind: 'leaves',
  },
  { what: 'whose IPNode was deleted', facts: noIpNode, kind: 'keeps' },
  { what: 'that has not reported', facts: facts({ ipNode: ipNode({}) }), kind: 'keeps' },
  {
    what: 'that has not joined',
    facts: facts({
      ipNode: ipNode({
        ...STATUS,
        joined: { open: false, reason: 'NotReady', message: 'never ready', since: SINCE },
      }),
    }),
    kind: 'leaves',
    sentence: 'never ready',
  },
  {
    what: 'that drains',
    facts: facts({ ipNode: ipNode({ ...STATUS, draining: { reason: 'by hand', since: SINCE } }) }),
    kind: 'leaves',
    sentence: 'by hand',
  },
  {
    what: 'without sessions for a moment',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [DOWN] }), cutMs: 2999 }),
    kind: 'keeps',
  },
  {
    what: 'without sessions (uplink cut)',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [DOWN] }), cutMs: 3000 }),
    kind: 'gone',
    sentence: 'BGP sessions',
  },
  {
    what: 'without sessions, whose router may keep its routes for 20 s and 3 s more',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [KEPT, DOWN] }), cutMs: 22_999 }),
    kind: 'keeps',
    sentence: 'may still have its routes',
  },
  {
    what: 'without sessions, whose router has forgotten its routes',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [KEPT, DOWN] }), cutMs: 23_000 }),
    kind: 'gone',
    sentence: 'BGP sessions',
  },
  {
    what: 'with one session of two',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [DOWN, SESSION] }) }),
    kind: 'eligible',
  },
  {
    what: 'with the exclude label',
    facts: facts({ node: node({ labels: { [EXCLUDE_LABEL]: '' } }) }),
    kind: 'leaves',
    sentence: EXCLUDE_LABEL,
  },
  {
    what: 'with the exclude label, for a claim made by hand',
    facts: facts({ node: node({ labels: { [EXCLUDE_LABEL]: '' } }) }),
    demand: { isForService: false },
    kind: 'eligible',
  },
  {
    what: 'with the exclude label that the pool ignores',
    facts: facts({ node: node({ labels: { [EXCLUDE_LABEL]: '' } }) }),
    demand: { ignoreExcludeLabel: true },
    kind: 'eligible',
  },
  {
    what: 'with the exclude label, the only one there is',
    facts: facts({
      node: node({ labels: { [EXCLUDE_LABEL]: '' } }),
      ipNode: ipNode({ ...STATUS, ignoresExcludeLabel: true }),
    }),
    kind: 'eligible',
  },
  {
    what: 'cordoned, which the pool does not mind',
    facts: facts({ node: node({ isUnschedulable: true }) }),
    kind: 'eligible',
  },
  {
    what: 'cordoned, which the pool drains on',
    facts: facts({ node: node({ isUnschedulable: true }) }),
    demand: { drainOn: ['cordon'] },
    kind: 'leaves',
    sentence: 'cordoned',
  },
  {
    what: 'with a taint that the pool drains on',
    facts: facts({ node: node({ taints: taint('example.com/maintenance') }) }),
    demand: { drainOn: ['taint:example.com/maintenance'] },
    kind: 'leaves',
    sentence: 'the taint example.com/maintenance',
  },
  {
    what: 'with another taint',
    facts: facts({ node: node({ taints: taint('example.com/other') }) }),
    demand: { drainOn: ['taint:example.com/maintenance'] },
    kind: 'eligible',
  },
  { what: 'not ready', facts: facts({ node: node({ ready: 'false' }) }), kind: 'eligible' },
  {
    what: 'not ready, where the pool withdraws then',
    facts: facts({ node: node({ ready: 'unknown' }) }),
    demand: { notReady: 'withdraw' },
    kind: 'leaves',
  },
  {
    what: 'that the placement does not select',
    facts: facts(),
    demand: {
      placement: { ...DEMAND.placement, nodeSelector: { matchLabels: { rack: 'r1' } } },
    },
    kind: 'leaves',
    sentence: 'nodeSelector',
  },
  {
    what: 'that no advertisement selects',
    facts: facts(),
    demand: { advertisements: [ELSEWHERE] },
    kind: 'leaves',
    sentence: 'no advertisement',
  },
  {
    what: 'that one of two advertisements selects',
    facts: facts({ node: node({ labels: { rack: 'r1' } }) }),
    demand: { advertisements: [{ ...ELSEWHERE, nodeSelector: {} }, ELSEWHERE] },
    kind: 'eligible',
  },
  {
    what: 'that an advertisement selects by a name which its Node does not say',
    facts: facts(),
    demand: {
      advertisements: [
        { ...ELSEWHERE, nodeSelector: { matchLabels: { 'kubernetes.io/hostname': 'a' } } },
      ],
    },
    kind: 'eligible',
  },
  {
    what: 'whose sessions do not carry the family',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [WITHOUT_SIX, DOWN] }) }),
    demand: { family: 'ipv6' },
    kind: 'leaves',
    sentence: 'none of its BGP sessions carries IPv6',
  },
  {
    what: 'whose sessions do not carry the other family',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [WITHOUT_SIX] }) }),
    kind: 'eligible',
  },
  {
    what: 'of whose sessions one carries the family',
    facts: facts({ ipNode: ipNode({ ...STATUS, sessions: [WITHOUT_SIX, SESSION] }) }),
    demand: { family: 'ipv6' },
    kind: 'eligible',
  },
];

describe('the standing of a node', () => {
  for (const { what, facts: given, demand = {}, kind, sentence } of ROWS) {
    it(`${what}: ${kind}`, () => {
      const found = standing(given, { ...DEMAND, ...demand });
      expect(found.kind).to.equal(kind);
      if (sentence !== undefined)
        expect(found).to.have.property('sentence').that.includes(sentence);
    });
  }

  it('sorts the nodes of a group by name, apart from those that only keep', () => {
    const nodes = [
      facts({ name: 'c' }),
      facts({ name: 'b', life: 'unproven' }),
      facts({ name: 'a' }),
      facts({ name: 'd', life: 'dead' }),
    ];
    expect(groupOf(nodes, DEMAND)).to.deep.equal({ eligible: ['a', 'c'], keeps: new Set(['b']) });
  });

  it('says why nobody is eligible, each reason once', () => {
    const nodes = [facts({ life: 'dead' }), facts({ life: 'dead' }), facts({ life: 'released' })];
    expect(whyNobody(nodes, DEMAND)).to.equal(
      '2 × its agent does not renew its Lease; 1 × its agent has stopped',
    );
    expect(whyNobody([], DEMAND)).to.equal('no agent has told of itself yet');
  });
});

describe('the routers of a holder', () => {
  const node = (...sessions: readonly IpNodeSession[]) => ipNode({ ...STATUS, sessions });
  const OTHER = { ...SESSION, peer: 'tor2', address: '192.0.2.2' } as const;
  const holder = node(SESSION, OTHER);

  const reach = (of: IpNode | undefined, family: 'ipv4' | 'ipv6' = 'ipv4') =>
    reachOf(of, holder, family);

  it('are lacked by a node whose session with one of them is down, or carries nothing of the family', () => {
    expect(reach(node(SESSION, OTHER))).to.equal('all');
    expect(reach(node(DOWN, OTHER))).to.equal('lacks');
    expect(reach(node(WITHOUT_SIX, OTHER), 'ipv6')).to.equal('lacks');
    expect(reach(node(WITHOUT_SIX, OTHER), 'ipv4')).to.equal('all');
  });

  it('are not lacked by a node that has others, nor those that the holder has lost itself', () => {
    const elsewhere = { ...DOWN, address: '192.0.2.9' };
    expect(reach(node(OTHER))).to.equal('others');
    expect(reach(node(elsewhere, OTHER))).to.equal('others');
    expect(reach(undefined)).to.equal('others');
    expect(reachOf(node(DOWN, OTHER), node(DOWN, OTHER), 'ipv4')).to.equal('all');
    expect(reachOf(node(DOWN), undefined, 'ipv4')).to.equal('all');
  });
});
