/** The agent of a cluster and one router, on a clock and a network of their own: what the router hears when the agent comes back, and when it stops. */

import { expect } from 'chai';
import { formatSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { AgentSource } from '../../../src/sources/kube/agent-source.ts';
import { BGP_PEERS, IP_CLAIMS, IP_POOLS, NODES } from '../../../src/sources/kube/resources.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { storedPeer, storedPool } from '../../support/stored-documents.ts';
import { told, World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const PORT = 30_100;
const ANYCAST = { [ANYCAST_LABEL]: '' };

const plain = scenery.claim({ at: '198.51.100.1', labels: ANYCAST });
const local = scenery.claim({
  at: '198.51.100.2',
  labels: ANYCAST,
  services: [{ namespace: 'a', name: 's', healthCheckNodePort: PORT }],
});
const checked = scenery.claim({
  at: '198.51.100.3',
  labels: ANYCAST,
  checks: [scenery.check('/x', { target: { kind: 'tcp', host: '127.0.0.1', port: 80 } })],
});

describe('after a planned restart', () => {
  it('End-of-RIB waits until checks and kube-proxy have said how things are', async () => {
    const world = new World([plain, local, checked], true);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', '198.51.100.2/32 ×1']);
    await world.pass(1500);
    expect(world.heard.slice(2)).to.deep.equal(['198.51.100.3/32 ×1', 'end']);
  });

  it('it comes at once where nothing is to be waited for, and where something is known to be down', async () => {
    const world = new World([plain, local], true);
    world.status = 503;
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes when a check has failed as often as it may', async () => {
    const world = new World([plain, checked], true);
    world.isPassing = false;
    await world.pass(6000);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes after fifteen seconds, whoever is silent', async () => {
    const world = new World([plain, local], true);
    world.isSilent = true;
    await world.pass(14_900);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1']);
    await world.pass(200);
    expect(world.heard.slice(1)).to.deep.equal(['end']);
  });

  it('it waits for the join check, and comes when that has failed as often as it may', async () => {
    const over = {
      joinCheck: scenery.check('/ready', { failures: 3 }),
      sources: ['files', 'api'] as const,
    };
    const passing = new World([plain], true, over, 'files');
    await passing.pass(3000);
    expect(passing.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
    const failing = new World([plain], true, over, 'files');
    failing.isPassing = false;
    await failing.pass(900);
    expect(failing.heard).to.deep.equal([]);
    await failing.pass(5000);
    expect(failing.heard).to.deep.equal(['end']);
  });

  it('the router counts as told of nothing before it: it keeps what the process before announced', async () => {
    const held = (level: string) =>
      scenery.claim({ ...checked, labels: { [nodeLabel(scenery.NODE)]: level } });
    const world = new World([held('0')], true);
    await world.pass(100);
    world.agent.setDocuments(told([held('2')]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    expect(world.heard).to.deep.equal([]);
    expect(world.agent.announced.observedClaims, 'before End-of-RIB').to.equal(undefined);
    await world.pass(2000);
    expect(world.heard).to.include('end');
    expect(world.agent.announced.observedClaims, 'behind it').to.equal(9n);
  });

  it('it waits for nothing after any other start', async () => {
    const world = new World([plain, checked], false);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });
});

describe('what a saved View says of the run before', () => {
  it('is how old all objects are, and which pools and BGPPeers of files were in force', () => {
    const ofApi = told([plain]);
    const spine = { ...scenery.sourced(scenery.peer({ name: 'spine' }), 5) };
    const documents = { ...ofApi, peers: [...ofApi.peers, spine] };
    const saved = { version: 1, savedAtMs: 0, routerId: 7, claimDrains: [], documents } as const;
    const store = { load: () => saved, save: () => undefined };
    const { firstSeen, lastGood } = new World([], true, { store }).agent.earlier;
    expect(firstSeen.get('BGPPeer/spine')).to.equal(5);
    expect(firstSeen.has(`IPClaim/${plain.name}`)).to.equal(true);
    expect([lastGood.peers, lastGood.pools]).to.deep.equal([[spine], []]);
  });
});

describe('an agent of a cluster that stops', () => {
  const at = (level: string) =>
    scenery.claim({ at: '198.51.100.4', labels: { [nodeLabel(scenery.NODE)]: level } });

  it('hears that a claim is to step down, and of nothing new', async () => {
    const world = new World([at('0')], false);
    world.agent.setFenced(undefined);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.4/32 ×1', 'end']);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×3');
    world.agent.setDocuments(told([at('2'), plain]), 'api');
    world.agent.setObservedClaims(7n);
    expect(world.agent.announced.observedClaims, 'before it has left').to.equal(undefined);
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×7');
    expect(world.agent.announced.observedClaims).to.equal(7n);
    const count = world.heard.length;
    world.agent.setDocuments(told([plain]), 'api');
    await world.pass(100);
    expect(world.heard.slice(count), 'another has it').to.deep.equal(['-198.51.100.4/32']);
  });

  it('keeps an address whose Service becomes Local meanwhile, until the drain is over', async () => {
    const service = { namespace: 'a', name: 's' };
    const before = { ...local, services: [service] };
    const world = new World([before], false);
    await world.pass(500);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    world.agent.setDocuments(told([local]), 'api');
    await world.pass(8000);
    expect(world.heard).to.deep.equal(['198.51.100.2/32 ×1', 'end', '~198.51.100.2/32 ×1']);
    await world.pass(3000);
    expect(world.heard.at(-1)).to.equal('-198.51.100.2/32');
  });

  it('confirms nothing that it hears after its last word', async () => {
    const world = new World([at('0')], true);
    world.agent.setFenced(undefined);
    await world.pass(500);
    const stopped = world.agent.stopForRestart();
    world.agent.setDocuments(told([]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    await stopped;
    expect(world.agent.announced.observedClaims).to.equal(undefined);
  });
});

describe('of two peers that are one session', () => {
  const GRACEFUL = { gracefulRestart: { restartSeconds: 30 } };
  const RACK_A = { nodeSelector: { matchLabels: { rack: 'a' } } };
  const ELSEWHERE = { address: '192.0.2.77' };
  const WRONG = { asn: 64_999 };
  const VIP = scenery.VIP;
  let saved: SavedView | undefined;
  const store = {
    load: () => saved,
    save: (view: SavedView) => {
      saved = JSON.parse(formatSavedView(view));
      return undefined;
    },
  };

  beforeEach(() => {
    saved = undefined;
  });

  const peer = (name: string, day: number, spec: object) => {
    const { metadata, spec: rest } = storedPeer(name, { ...GRACEFUL, ...spec });
    return {
      metadata: { ...metadata, creationTimestamp: `2026-01-0${day}T00:00:00Z` },
      spec: rest,
    };
  };

  /** the cluster with these BGPPeers, which it lists in this order */
  function clusterOf(...peers: readonly object[]): MemoryKubeApi {
    const api = new MemoryKubeApi();
    const status = {
      nodeInfo: { bootID: 'b' },
      conditions: [{ type: 'Ready', status: 'True' }],
    };
    api.put(NODES, { metadata: { name: scenery.NODE, uid: 'u', labels: { rack: 'a' } }, status });
    api.put(IP_POOLS, storedPool('any'));
    api.put(IP_CLAIMS, { metadata: { name: VIP, labels: ANYCAST }, spec: { checks: [] } });
    for (const each of peers) api.put(BGP_PEERS, each);
    return api;
  }

  function started(api: MemoryKubeApi, isBack: boolean) {
    const world = new World([], isBack, { store });
    const { agent, clock } = world;
    const random = new SeededRandom(7);
    const log = SILENT_LOG;
    const source = new AgentSource({ api, clock, random, log, nodeName: scenery.NODE, agent });
    return { world, source };
  }

  async function pass({ world }: { readonly world: World }, ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      await world.pass(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async function stopped(running: ReturnType<typeof started>): Promise<void> {
    running.source.stop();
    let isOver = false;
    void running.world.agent.stopForRestart().then(() => {
      isOver = true;
    });
    while (!isOver) await pass(running, 10);
  }

  /** Has `tor` alone, then hears of the mistake, and is restarted with that. What the router loses by it. */
  async function restartedWith(before: readonly object[], after: readonly object[]) {
    const api = clusterOf(...before);
    const first = started(api, false);
    first.source.start();
    await pass(first, 3000);
    expect(first.world.heard).to.include(`${VIP}/32 ×1`);
    for (const each of after) api.put(BGP_PEERS, each);
    await pass(first, 3000);
    expect([first.world.downs, first.world.heard.includes(`-${VIP}/32`)]).to.deep.equal([0, false]);
    await stopped(first);
    // twice, the first time without a word of the API
    const silent = started(clusterOf(), true);
    await pass(silent, 3000);
    await stopped(silent);
    const next = started(clusterOf(...after), true);
    await pass(next, 1000);
    expect(next.world.heard, 'by the saved View').to.deep.equal([`${VIP}/32 ×1`, 'end']);
    next.source.start();
    await pass(next, 12_000);
    next.source.stop();
    expect(next.world.heard.slice(2)).to.deep.equal([]);
    expect(next.world.downs).to.equal(0);
    return next.world.agent;
  }

  it('the one that stood before a restart stays, where both are for the same nodes', async () => {
    const tor = peer('tor', 2, {});
    const before = peer('old', 1, { ...ELSEWHERE, ...WRONG });
    const agent = await restartedWith([before, tor], [peer('old', 1, WRONG), tor]);
    const refused = agent.documents?.faults.map(({ subject }) => subject);
    expect(refused).to.deep.equal(['BGPPeer/old']);
  });

  for (const [which, day] of [
    ['older', 1],
    ['newer', 3],
  ] as const) {
    it(`the one that stood before a restart stays, where the ${which} other one meets it on this node alone`, async () => {
      const tor = peer('tor', 2, {});
      const before = peer('rack-a', day, { ...RACK_A, ...ELSEWHERE, ...WRONG });
      const after = peer('rack-a', day, { ...RACK_A, ...WRONG });
      const agent = await restartedWith([before, tor], [after, tor]);
      const kinds = agent.decided.plans.map(({ kind, peer: { name } }) => `${name} ${kind}`);
      expect(kinds.toSorted()).to.deep.equal(['rack-a refused', 'tor neighbour']);
    });
  }
});
