import { expect } from 'chai';
import { announcerOf } from '../../../src/agent/announcer.ts';
import {
  type ClusterContext,
  type ClusterMemory,
  clusterFacts,
  clusterJoined,
  learnNode,
  NO_CLUSTER_MEMORY,
  restoreCluster,
} from '../../../src/agent/cluster-memory.ts';
import { desired } from '../../../src/agent/desired.ts';
import { RouteAttributeTable } from '../../../src/agent/route-attributes.ts';
import type { ClusterFacts, View } from '../../../src/agent/view.ts';
import type { ClusterNode } from '../../../src/model/cluster-node.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { IpPool } from '../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL, EXCLUDE_LABEL, nodeLabel } from '../../../src/model/names.ts';
import {
  advertisement,
  announced,
  check,
  claim,
  documents,
  EXCLUSIVE,
  gateOf,
  NODE,
  peer,
  pool,
  sourced,
  VIP,
  view,
  WAIT_MS,
} from './scenery.ts';

const BOOT: ClusterContext = { nodeName: NODE, bootId: 'now', ignoresExcludeLabel: false };

function node(over: Partial<ClusterNode> = {}): ClusterNode {
  return {
    name: NODE,
    uid: 'u',
    labels: {},
    taints: [],
    isUnschedulable: false,
    isBeingDeleted: false,
    ready: 'true',
    bootId: 'now',
    addresses: [],
    ...over,
  };
}

const quiet = { nowMs: 0, isAnnouncing: true };

function learnt(...nodes: readonly (ClusterNode | undefined)[]): ClusterMemory {
  return nodes.reduce(
    (memory: ClusterMemory, each) => learnNode(memory, each, BOOT, quiet),
    NO_CLUSTER_MEMORY,
  );
}

describe('joined, by the Node', () => {
  const isOpen = (...nodes: readonly (ClusterNode | undefined)[]) =>
    clusterJoined(learnt(...nodes), BOOT).isOpen;

  it('opens when it is Ready in this boot, and stays when it is not Ready any more', () => {
    expect(isOpen()).to.equal(false);
    expect(isOpen(node({ ready: 'false' }))).to.equal(false);
    expect(isOpen(node())).to.equal(true);
    expect(isOpen(node(), node({ ready: 'false' }))).to.equal(true);
    expect(isOpen(node(), node({ ready: 'unknown' }))).to.equal(true);
  });

  it('does not count what it was in an earlier boot', () => {
    expect(isOpen(node({ bootId: 'before' }))).to.equal(false);
    expect(isOpen(node({ bootId: 'before' }), node({ ready: 'false' }))).to.equal(false);
    const saved = { node: node(), readyBoot: 'before' };
    expect(clusterJoined(restoreCluster(saved, BOOT, 0), BOOT).isOpen).to.equal(false);
    const same = { node: node({ ready: 'unknown' }), readyBoot: 'now' };
    expect(clusterJoined(restoreCluster(same, BOOT, 0), BOOT).isOpen).to.equal(true);
  });

  it('goes by the Node’s word where the machine does not tell its boot', () => {
    const blind: ClusterContext = { nodeName: NODE, ignoresExcludeLabel: false };
    const first = learnNode(NO_CLUSTER_MEMORY, node({ bootId: 'a' }), blind, quiet);
    expect(clusterJoined(first, blind).isOpen).to.equal(true);
    const rebooted = learnNode(first, node({ bootId: 'b', ready: 'false' }), blind, quiet);
    expect(clusterJoined(rebooted, blind).isOpen).to.equal(false);
  });

  it('closes when it is gone, going or out of service, and opens when it is back', () => {
    const out = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
    expect(isOpen(node(), undefined)).to.equal(false);
    expect(isOpen(node(), undefined, node({ ready: 'false' }))).to.equal(true);
    expect(isOpen(node({ isBeingDeleted: true }))).to.equal(false);
    expect(isOpen(node({ taints: out }))).to.equal(false);
    expect(isOpen(node({ taints: out }), node())).to.equal(true);
  });
});

function fromApi(object: IpClaim): Sourced<IpClaim> {
  return { ...sourced(object), source: 'api' };
}

const ANYCAST = { labels: { [ANYCAST_LABEL]: '' } };
const SERVICE = { ...ANYCAST, services: [{ namespace: 'default', name: 'web' }] };

function clusterView(over: Partial<View>, facts: Partial<ClusterFacts> = {}): View {
  const cluster = { ...clusterFacts(learnt(node()), BOOT), ...facts };
  // the join check of files is not asked about claims of the API
  return view({ joined: { isOpen: false, sentence: 'no join check' }, cluster, ...over });
}

describe('claims of the API', () => {
  const of = (object: IpClaim, pools = [pool()]) => documents({ pools, claims: [fromApi(object)] });

  it('wait for the Node, those of files for the join check', () => {
    const both = documents({ claims: [fromApi(claim(ANYCAST)), claim({ at: '198.51.100.8' })] });
    expect(announced(desired(clusterView({ documents: both })))).to.deep.equal([`tor ${VIP}`]);
    const joined = { isOpen: true, sentence: 'x' };
    const without = view({ joined, documents: both });
    expect(announced(desired(without))).to.deep.equal(['tor 198.51.100.8']);
  });

  it('leave with a Node that is not Ready only where the pool says so', () => {
    const notReady = { isReady: false };
    const keep = clusterView({ documents: of(claim(ANYCAST)) }, notReady);
    expect(announced(desired(keep))).to.have.length(1);
    const strict = [pool({ notReady: 'withdraw' })];
    const leave = clusterView({ documents: of(claim(ANYCAST), strict) }, notReady);
    expect(announced(desired(leave))).to.deep.equal([]);
    expect(gateOf(leave, 'joined').sentence).to.include('notReady: withdraw');
  });

  const levels = [
    { labels: { [nodeLabel(NODE)]: '0' }, fenced: false, prepend: undefined, localPref: 200 },
    { labels: { [nodeLabel(NODE)]: '1' }, fenced: false, prepend: 3, localPref: 150 },
    { labels: { [nodeLabel(NODE)]: '2' }, fenced: false, prepend: 6, localPref: 100 },
    { labels: { [nodeLabel(NODE)]: '0' }, fenced: true, prepend: 3, localPref: 150 },
    { labels: { [nodeLabel(NODE)]: '1' }, fenced: true, prepend: 3, localPref: 150 },
    { labels: { [ANYCAST_LABEL]: '' }, fenced: true, prepend: undefined, localPref: undefined },
  ];
  const steps = [
    { announcer: { kind: 'holding' }, prepend: undefined, localPref: 100 },
    {
      announcer: { kind: 'stepped-down', steps: 1, turn: 1, sentence: 'x' },
      prepend: 3,
      localPref: 75,
    },
    { announcer: { kind: 'stepped-down', steps: 2, sentence: 'x' }, prepend: 6, localPref: 50 },
  ] as const;
  for (const { announcer, prepend, localPref } of steps) {
    it(`simple mode: an anycast claim stands as the process does: ${JSON.stringify(announcer)}`, () => {
      const from = clusterView({ documents: of(claim(ANYCAST)), announcer });
      const [route] = desired(from).peers[0]?.routes ?? [];
      expect(route?.attributes.prepend).to.equal(prepend);
      expect(route?.attributes.localPref).to.equal(localPref);
      // labels and the Lease of its node place an exclusive claim
      const exclusive = claim({ labels: { [nodeLabel(NODE)]: '0' } });
      const placed = clusterView({ documents: of(exclusive), announcer });
      expect(desired(placed).peers[0]?.routes[0]?.attributes.localPref).to.equal(200);
    });
  }

  function cutRoute(turn: number, over: Partial<IpPool> = {}, peers = [peer()]) {
    const announcer = { kind: 'stepped-down', steps: 1, turn, sentence: 'x' } as const;
    const from = { ...of(claim(ANYCAST), [pool(over)]), peers: peers.map((each) => sourced(each)) };
    return desired(clusterView({ documents: from, announcer })).peers[0]?.routes[0]?.attributes;
  }

  it('simple mode: of two processes that cannot renew the Lease the later holder has the lower MED, whatever the pool says', () => {
    for (const over of [{}, { advertisements: [advertisement({ med: 7 })] }]) {
      const alike = { prepend: 3, localPref: 75 };
      expect(cutRoute(0, over)).to.deep.equal({ ...alike, med: 4_000_000_000 });
      expect(cutRoute(1, over)).to.deep.equal({ ...alike, med: 3_999_999_997 });
      expect(cutRoute(2, over)).to.deep.equal({ ...alike, med: 3_999_999_994 });
    }
  });

  it('simple mode: each second holder stands two steps further down where nodes are in several ASes', () => {
    const others = { nodeSelector: { matchLabels: { rack: 'b' } }, localAsn: 64_513 };
    const several = [peer({ overrides: [others] })];
    expect(cutRoute(2, {}, several)).to.include({ prepend: 3 });
    expect(cutRoute(3, {}, several)).to.include({ prepend: 9 });
    const internal = [peer({ overrides: [others], asn: 64_512, localAsn: 64_512 })];
    expect(cutRoute(3, {}, internal)).to.include({ localPref: 75 });
  });

  it('simple mode: a process that waits announces no anycast claim, and says which process does', () => {
    const announcer = announcerOf({
      isLeading: false,
      turn: 1,
      reading: { holder: 'b_1', isOwn: false, isLeaving: false, transitions: 2 },
    });
    const from = clusterView({ documents: of(claim(ANYCAST)), announcer });
    expect(announced(desired(from))).to.deep.equal([]);
    expect(gateOf(from, 'assigned').sentence).to.include('b_1 holds the Lease');
  });

  const lapsed = [
    { level: '0', epoch: undefined, med: 4_000_000_000, prepend: 9, localPref: 75 },
    { level: '0', epoch: 6, med: 3_999_999_982, prepend: 9, localPref: 75 },
    { level: '0', epoch: 7, med: 3_999_999_979, prepend: 9, localPref: 75 },
    { level: '1', epoch: 7, med: 3_999_999_980, prepend: 15, localPref: 25 },
    { level: '2', epoch: 7, med: 3_999_999_981, prepend: 15, localPref: 25 },
  ];
  for (const { level, epoch, med, prepend, localPref } of lapsed) {
    it(`stand below all others when the Lease has run out, the later the higher: level ${level}, epoch ${epoch} (C13)`, () => {
      expect(lapsedRoute(level, epoch)).to.deep.equal({ prepend, localPref, med });
    });
  }

  function lapsedRoute(level: string, epoch?: number, peers = [peer()]) {
    const labels = { [nodeLabel(NODE)]: level };
    const object = claim({ labels, ...(epoch !== undefined && { epoch }) });
    const documents = { ...of(object), peers: peers.map((each) => sourced(each)) };
    const from = clusterView({ documents, fencedSinceMs: 1, hasLapsed: true });
    return desired(from).peers[0]?.routes[0]?.attributes;
  }

  it('stand apart by each second epoch where nodes are in several ASes, whose MEDs no router compares (C13)', () => {
    const others = { nodeSelector: { matchLabels: { rack: 'b' } }, localAsn: 64_513 };
    const several = [peer({ overrides: [others] })];
    expect(lapsedRoute('0', 6, several)).to.include({ prepend: 9 });
    expect(lapsedRoute('0', 7, several)).to.include({ prepend: 12 });
    const internal = [peer({ overrides: [others], asn: 64_512, localAsn: 64_512 })];
    expect(lapsedRoute('0', 7, internal)).to.include({ localPref: 75 });
  });

  it('simple mode: three steps of local preference that differ, whatever the pool says, and three lower ones while they drain (C18)', () => {
    const table = new RouteAttributeTable();
    const { placement } = pool();
    for (const localPref of [undefined, 0, 1, 2, 3, 5, 6, 7, 99, 100, 400]) {
      const words = advertisement(localPref === undefined ? {} : { localPref });
      const prefs = [false, true].flatMap((isDraining) =>
        ([0, 1, 2] as const).map((level) => {
          const standing = { placement, level, isDraining, isSimple: true };
          return table.attributes(words, standing).localPref;
        }),
      );
      expect(prefs, `localPref ${localPref}`).to.deep.equal(
        prefs.toSorted((x = 0, y = 0) => y - x),
      );
      expect(new Set(prefs).size, `localPref ${localPref}`).to.equal(6);
    }
  });

  it('have six local preferences that differ, whatever the pool says, and six more that are lower while they drain (C18)', () => {
    const table = new RouteAttributeTable();
    const placement = { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 } as const;
    const levels = [0, 1, 2, 3, 4, 5] as const;
    for (const localPref of [undefined, 0, 1, 7, 8, 30, 50, 100, 101, 199, 200, 201, 400]) {
      const words = advertisement(localPref === undefined ? {} : { localPref });
      const prefs = [false, true].flatMap((isDraining) =>
        levels.map((level) => table.attributes(words, { placement, level, isDraining }).localPref),
      );
      const falling = prefs.toSorted((x = 0, y = 0) => y - x);
      expect(prefs, `localPref ${localPref}`).to.deep.equal(falling);
      expect(new Set(prefs).size, `localPref ${localPref}`).to.equal(12);
    }
    const usual = levels.map(
      (level) => table.attributes(undefined, { placement, level, isDraining: false }).localPref,
    );
    expect(usual).to.deep.equal([200, 150, 100, 75, 50, 25]);
  });

  for (const { labels, fenced, prepend, localPref } of levels) {
    it(`stand at the level of their label: ${JSON.stringify(labels)}${fenced ? ', fenced' : ''}`, () => {
      const from = clusterView({
        // the pool's own word does not move what the controller has placed
        documents: of(claim({ labels }), [pool({ placement: { ...pool().placement } })]),
        ...(fenced ? { fencedSinceMs: 1 } : {}),
      });
      const [route] = desired(from).peers[0]?.routes ?? [];
      expect(route?.attributes.prepend).to.equal(prepend);
      expect(route?.attributes.localPref).to.equal(localPref);
    });
  }

  it('step down from the local preference that an advertisement has', () => {
    const labels = { [nodeLabel(NODE)]: '1' };
    const pools = [pool({ advertisements: [advertisement({ localPref: 400 })] })];
    const [route] =
      desired(clusterView({ documents: of(claim({ labels }), pools) })).peers[0]?.routes ?? [];
    expect(route?.attributes.localPref).to.equal(350);
  });

  it('are not here without a label, whatever spec.node says', () => {
    const lost = of(claim({ placement: EXCLUSIVE, node: NODE }));
    expect(announced(desired(clusterView({ documents: lost })))).to.deep.equal([]);
  });

  it('ask in their checks only themselves, loopback and the node', () => {
    const asking = (url: string) => {
      const checks = [check('', { target: { kind: 'http', url } })];
      const health = new Map([[VIP, { isOpen: true, sentence: 'passes' }]]);
      const own = new Map([['x', 'eth0']]);
      return gateOf(
        clusterView(
          { documents: of(claim({ ...ANYCAST, checks })), health, ownAddresses: own },
          { addresses: ['192.0.2.5'] },
        ),
        'healthy',
      ).state;
    };
    const good = ['127.0.0.1:80', '[::1]', 'localhost', `${VIP}:8080`, '192.0.2.5'];
    for (const host of good) expect(asking(`http://${host}/`), host).to.equal('open');
    const target = { kind: 'http', url: 'https://127.0.0.1/', caFile: '/dev/zero' } as const;
    const kept = of(claim({ ...ANYCAST, checks: [check('', { target })] }));
    const { sentence } = gateOf(clusterView({ documents: kept }), 'healthy');
    expect(sentence, 'of a claim that an older release took').to.contain('caFile');
    const bad = ['192.0.2.6', 'example.com', '169.254.169.254', '[2001:db8::1]', '10.0.0.1:127'];
    for (const host of bad) expect(asking(`http://${host}/`), host).to.equal('closed');
  });
});

interface DrainRow {
  readonly name: string;
  readonly change: Partial<ClusterNode>;
  readonly object: IpClaim;
  readonly over?: Parameters<typeof pool>[0];
  readonly is: readonly string[];
}

describe('what drains by the Node', () => {
  const drained = (change: Partial<ClusterNode>, object: IpClaim, over = {}) => {
    const memory = learnNode(learnt(node()), node(change), BOOT, quiet);
    const cluster = clusterFacts(memory, BOOT);
    const pools = [pool({ drain: { on: ['stop', 'exclude-label'], waitSeconds: 10 }, ...over })];
    const docs = documents({ pools, claims: [fromApi(object)] });
    const at = (nowMs: number) =>
      gateOf(view({ nowMs, cluster, documents: docs }), 'not-draining').state;
    return [at(1), at(WAIT_MS)];
  };
  const excluded = { labels: { [EXCLUDE_LABEL]: '' } };
  const tainted = { taints: [{ key: 'gpu', effect: 'NoSchedule' }] };
  const rows: DrainRow[] = [
    {
      name: 'the exclude label drains what Services have',
      change: excluded,
      object: claim(SERVICE),
      is: ['draining', 'closed'],
    },
    {
      name: 'the exclude label leaves alone what a person claimed',
      change: excluded,
      object: claim(ANYCAST),
      is: ['open', 'open'],
    },
    {
      name: 'a pool may not mind the exclude label',
      change: excluded,
      object: claim(SERVICE),
      over: { ignoreExcludeLabel: true },
      is: ['open', 'open'],
    },
    {
      name: 'a taint that the pool does not name says nothing',
      change: tainted,
      object: claim(SERVICE),
      is: ['open', 'open'],
    },
    {
      name: 'a taint that the pool names drains',
      change: tainted,
      object: claim(ANYCAST),
      over: { drain: { on: ['taint:gpu'], waitSeconds: 10 } },
      is: ['draining', 'closed'],
    },
    {
      name: 'a cordon drains where the pool says so',
      change: { isUnschedulable: true },
      object: claim(ANYCAST),
      over: { drain: { on: ['cordon'], waitSeconds: 10 } },
      is: ['draining', 'closed'],
    },
    {
      name: 'a cordon says nothing otherwise',
      change: { isUnschedulable: true },
      object: claim(SERVICE),
      is: ['open', 'open'],
    },
  ];
  const placed = claim({ ...SERVICE, labels: { [nodeLabel(NODE)]: '0' } });
  for (const [trigger, change] of [
    ['exclude-label', excluded],
    ['taint:gpu', tainted],
    ['cordon', { isUnschedulable: true }],
  ] as const) {
    rows.push({
      name: `an exclusive claim is announced until its move is done, however long that takes: ${trigger}`,
      change,
      object: placed,
      over: { drain: { on: [trigger], waitSeconds: 0 } },
      is: ['draining', 'draining'],
    });
  }
  for (const { name, change, object, over, is } of rows) {
    it(name, () => {
      expect(drained(change, object, over)).to.deep.equal(is);
    });
  }

  it('has no wait where nothing is announced: a restart does not bring routes back for it', () => {
    const memory = restoreCluster({ node: node(excluded) }, BOOT, 5);
    expect(memory.drains.get('exclude-label')?.waitMs).to.equal(0);
    const first = learnNode(NO_CLUSTER_MEMORY, node(excluded), BOOT, {
      nowMs: 5,
      isAnnouncing: false,
    });
    expect(first.drains.get('exclude-label')?.waitMs).to.equal(0);
  });

  it('leaves an exclusive claim announced after a restart of the agent, too: nobody else has it', () => {
    const cluster = clusterFacts(restoreCluster({ node: node(excluded) }, BOOT, 5), BOOT);
    const pools = [pool({ drain: { on: ['exclude-label'], waitSeconds: 1 } })];
    const docs = documents({ pools, claims: [fromApi(placed)] });
    const gate = gateOf(view({ nowMs: WAIT_MS, cluster, documents: docs }), 'not-draining');
    expect(gate.state).to.equal('draining');
  });

  it('gives a stop the time that its process has: exclusive claims stay that long, others for the wait of the pool', () => {
    const stopDrain = { sinceMs: 0, reason: 'the agent stops', moveMs: 40_000 };
    const pools = [pool({ drain: { on: ['stop'], waitSeconds: 10 } })];
    const at = (nowMs: number, object: IpClaim, over = {}) => {
      const docs = documents({ pools, claims: [fromApi(object)] });
      const stop = { ...stopDrain, ...over };
      return gateOf(view({ nowMs, stopDrain: stop, documents: docs }), 'not-draining').state;
    };
    expect([at(39_999, placed), at(40_000, placed)]).to.deep.equal(['draining', 'closed']);
    const anycast = claim(ANYCAST);
    expect([at(9999, anycast), at(10_000, anycast)]).to.deep.equal(['draining', 'closed']);
    expect(at(1, placed, { waitMs: 0 }), 'with nobody to tell').to.equal('closed');
  });

  it('ends where a person takes one exclusive claim off this node, and for all where the node is drained by hand', () => {
    const order = { sinceMs: 0, reason: 'drained by hand' };
    const pools = [pool({ drain: { on: ['stop'], waitSeconds: 10 } })];
    const docs = documents({ pools, claims: [fromApi(placed)] });
    const base = { nowMs: WAIT_MS, documents: docs };
    const ofNode = gateOf(view({ ...base, nodeDrain: order }), 'not-draining');
    expect(ofNode.state).to.equal('draining');
    expect(ofNode.remedy).to.equal('herald undrain');
    const claimDrains = new Map([[placed.name, order]]);
    expect(gateOf(view({ ...base, claimDrains }), 'not-draining').state).to.equal('closed');
  });

  it('keeps the moment when it began, and ends with its cause', () => {
    const began = learnNode(learnt(node()), node(excluded), BOOT, { nowMs: 7, isAnnouncing: true });
    const later = learnNode(began, node({ ...excluded, ready: 'false' }), BOOT, {
      nowMs: 9,
      isAnnouncing: true,
    });
    expect(later.drains.get('exclude-label')?.sinceMs).to.equal(7);
    expect(learnNode(later, node(), BOOT, quiet).drains.size).to.equal(0);
  });

  it('is not the exclude label where agent and controller are one', () => {
    const simple = { ...BOOT, ignoresExcludeLabel: true };
    expect(learnNode(NO_CLUSTER_MEMORY, node(excluded), simple, quiet).drains.size).to.equal(0);
  });
});
