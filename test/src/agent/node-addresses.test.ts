/**
 * A kube-proxy that opens its health-check ports at the Node's addresses alone (nodePortAddresses):
 * it is asked where the Node says by now, although no document comes that says so.
 */

import { expect } from 'chai';
import type { AskHttp, HttpAnswer } from '../../../src/checks/ask-http.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { AgentSource } from '../../../src/sources/kube/agent-source.ts';
import { BGP_PEERS, IP_CLAIMS, IP_POOLS, NODES } from '../../../src/sources/kube/resources.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';
import { storedPeer, storedPool } from '../../support/stored-documents.ts';
import { World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const ROUTE = `${scenery.VIP}/32`;
const PORT = 30_000;

describe('the health-check port of a Local Service at the address of the Node', () => {
  let api: MemoryKubeApi;
  let world: World;
  let source: AgentSource;
  /** where kube-proxy listens, and what it says of the Service */
  let listens: string;
  let status: number;

  beforeEach(() => {
    api = new MemoryKubeApi();
    listens = '10.0.0.5';
    status = 200;
    const labels = { [ANYCAST_LABEL]: '' };
    const creationTimestamp = new Date(0).toISOString();
    const services = [{ namespace: 'a', name: 's', healthCheckNodePort: PORT }];
    api.put(IP_POOLS, storedPool('any'));
    api.put(BGP_PEERS, storedPeer('tor'));
    api.put(IP_CLAIMS, {
      metadata: { name: scenery.VIP, labels, creationTimestamp },
      spec: { checks: [], pool: 'any', services },
    });
  });
  afterEach(() => source.stop());

  function putNode(...addresses: readonly string[]): void {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const internal = addresses.map((address) => ({ type: 'InternalIP', address }));
    const nodeStatus = { nodeInfo: { bootID: 'b' }, conditions, addresses: internal };
    api.put(NODES, { metadata: { name: scenery.NODE }, spec: {}, status: nodeStatus });
  }

  function answerAt(url: string): HttpAnswer {
    if (url.includes('/healthz')) return { kind: 'answered', status: 200, body: '{}' };
    return url.startsWith(`http://${listens}:${PORT}/`)
      ? { kind: 'answered', status, body: '{}' }
      : { kind: 'silent', sentence: 'refused' };
  }

  function start(): void {
    const ask: AskHttp = (url, _, answer) => world.clock.startTimer(8, () => answer(answerAt(url)));
    world = new World([], false, {
      store: { load: () => undefined, save: () => undefined },
      kubeProxy: { ask, url: 'http://proxy/healthz' },
    });
    const { agent, clock } = world;
    agent.setFenced(undefined, false);
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

  it('it is asked when the Node is registered after the documents were heard', async () => {
    start();
    await pass(20_000);
    expect(world.heard.splice(0)).to.deep.equal(['end']);
    putNode('10.0.0.5');
    await pass(10_000);
    expect(world.heard).to.deep.equal([`${ROUTE} ×1`]);
  });

  it('it is asked when the Node is there first, and says its address later', async () => {
    putNode();
    start();
    await pass(20_000);
    expect(world.heard.splice(0)).to.deep.equal(['end']);
    putNode('10.0.0.5');
    await pass(10_000);
    expect(world.heard).to.deep.equal([`${ROUTE} ×1`]);
  });

  it('it is asked at another address of the Node, and the last endpoint takes the route', async () => {
    putNode('10.0.0.5');
    start();
    await pass(20_000);
    expect(world.heard.splice(0)).to.include(`${ROUTE} ×1`);
    listens = '10.0.0.6';
    putNode('10.0.0.6');
    await pass(5000);
    expect(world.heard).to.deep.equal([]);
    status = 503;
    await pass(5000);
    expect(world.heard).to.deep.equal([`-${ROUTE}`]);
  });
});
