/**
 * An agent that is started anew and can list its Node, and not all the rest: what the Node says
 * closes and opens the gates of the View's claims as it does in an agent that has heard everything.
 */

import { expect } from 'chai';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ANYCAST_LABEL, OUT_OF_SERVICE_TAINT } from '../../../src/model/names.ts';
import { AgentSource } from '../../../src/sources/kube/agent-source.ts';
import type { Resource } from '../../../src/sources/kube/api.ts';
import { BGP_PEERS, IP_CLAIMS, IP_POOLS, NODES } from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const ROUTE = `${scenery.VIP}/32`;
const TAINT = { key: OUT_OF_SERVICE_TAINT, effect: 'NoExecute', value: 'nodeshutdown' };

describe('an agent that has heard of its Node since its start, and not of all the rest', () => {
  let api: MemoryKubeApi;
  let world: World;
  let source: AgentSource;

  beforeEach(() => {
    api = new MemoryKubeApi();
    const labels = { [ANYCAST_LABEL]: '' };
    const creationTimestamp = new Date(0).toISOString();
    const metadata = { name: scenery.VIP, labels, creationTimestamp };
    api.put(IP_CLAIMS, { metadata, spec: { checks: [] } });
    put();
  });
  afterEach(() => source.stop());

  function put(spec: object = {}, boot = 'b', ready = 'True'): void {
    const conditions = [{ type: 'Ready', status: ready }];
    const status = { nodeInfo: { bootID: boot }, conditions };
    api.put(NODES, { metadata: { name: scenery.NODE }, spec, status });
  }

  /** the API has no such lists, and the machine has been up since the boot `b` or a later one */
  function start(missing: readonly Resource[], bootId = 'b'): void {
    for (const resource of missing) api.uninstall(resource);
    const claim = scenery.claim({ labels: { [ANYCAST_LABEL]: '' } });
    const documents = told([claim]);
    const pool = scenery.pool({ drain: { on: ['cordon'], waitSeconds: 5 } });
    const pools = documents.pools.map((each) => ({ ...each, object: pool }));
    const saved: SavedView = {
      version: 1,
      savedAtMs: new ManualClock().wallTimeMs(),
      routerId: 7,
      claimDrains: [],
      documents: { ...documents, pools },
      cluster: { node: clusterNode(scenery.NODE, { bootId: 'b' }), readyBoot: 'b' },
    };
    const store = { load: () => saved, save: () => undefined };
    const cluster = { bootId, ignoresExcludeLabel: false };
    world = new World([], bootId === 'b', { store, cluster });
    const { agent, clock } = world;
    const options = { api, clock, random: new SeededRandom(7), log: SILENT_LOG };
    source = new AgentSource({ ...options, nodeName: scenery.NODE, agent });
    source.start();
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 10) {
      await world.pass(10);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  const changes = {
    'out of service': () => put({ taints: [TAINT] }),
    cordoned: () => put({ unschedulable: true }),
    gone: () => api.remove(NODES, scenery.NODE),
  } as const;

  for (const [what, change] of Object.entries(changes)) {
    for (const lists of [[BGP_PEERS], [IP_POOLS], [BGP_PEERS, IP_POOLS, IP_CLAIMS]] as const) {
      const failing = lists.map(({ plural }) => plural).join(', ');

      it(`a Node that is ${what} is heard although another list fails: ${failing}`, async () => {
        start(lists);
        await pass(12_000);
        expect(world.heard.splice(0)).to.deep.equal([`${ROUTE} ×1`, 'end']);
        change();
        await pass(1000);
        if (what === 'cordoned') {
          expect(world.heard.splice(0)).to.deep.equal([`~${ROUTE} ×1`]);
          await pass(5000);
        }
        expect(world.heard).to.deep.equal([`-${ROUTE}`]);
      });
    }

    it(`a Node that was ${what} meanwhile is heard ten seconds after a start`, async () => {
      change();
      start([BGP_PEERS]);
      await pass(16_000);
      expect(world.heard[0]).to.equal(`${ROUTE} ×1`);
      expect(world.heard.at(-1)).to.equal(`-${ROUTE}`);
    });
  }

  it('a Node that is Ready in this boot is heard although another list fails, once it is', async () => {
    start([BGP_PEERS], 'b2');
    await pass(12_000);
    expect(world.heard.splice(0), 'that is of the boot before').to.deep.equal(['end']);
    put({}, 'b2', 'False');
    await pass(1000);
    expect(world.heard).to.deep.equal([]);
    put({}, 'b2');
    await pass(1000);
    expect(world.heard).to.deep.equal([`${ROUTE} ×1`]);
  });

  it('it opens nothing that has left the node by then', async () => {
    start([BGP_PEERS], 'b2');
    await pass(12_000);
    world.heard.splice(0);
    api.remove(IP_CLAIMS, scenery.VIP);
    await pass(500);
    put({}, 'b2');
    await pass(12_000);
    expect(world.heard).to.deep.equal([]);
  });

  it('after a reboot it opens nothing where IPClaims cannot be listed, too', async () => {
    start([IP_CLAIMS], 'b2');
    await pass(12_000);
    put({}, 'b2');
    await pass(30_000);
    expect(world.heard).to.deep.equal(['end']);
    api.install(IP_CLAIMS);
    await pass(60_000);
    expect(world.agent.status().joined.state).to.equal('open');
  });
});
