/** The report of a real agent, its API in memory and its clock turned by hand: what steps down, what is told, and when. */

import { prefix, Speaker } from 'bgp-ts';
import { expect } from 'chai';
import { MemoryNetwork } from '../../../../protocol/io/memory-transport.ts';
import { Agent } from '../../../../src/agent/agent.ts';
import type { ViewStore } from '../../../../src/agent/agent-options.ts';
import { type KubeReport, startKubeReport } from '../../../../src/agent/kube-report/kube-report.ts';
import { MemoryAddressTable, MemoryHost } from '../../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import type { BgpPeer } from '../../../../src/model/bgp-peer.ts';
import type { ClusterNode } from '../../../../src/model/cluster-node.ts';
import type { Documents } from '../../../../src/model/documents.ts';
import type { IpClaim } from '../../../../src/model/ip-claim.ts';
import { DEFAULT_PLACEMENT, type IpPool } from '../../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL } from '../../../../src/model/names.ts';
import { ApiUnreachable } from '../../../../src/sources/kube/api.ts';
import { convertIpNode } from '../../../../src/sources/kube/convert-ip-node.ts';
import { IP_CLAIMS, IP_NODES, LEASES } from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { address, claim, documents, peer, pool, VIP } from '../scenery.ts';
import { pass } from './passing.ts';

const LABEL = 'node.herald.dev/n1';
const EXCLUSIVE = pool({ placement: { ...DEFAULT_PLACEMENT, mode: 'exclusive' } });
const NODE: ClusterNode = {
  name: 'n1',
  uid: 'uid-n1',
  labels: {},
  taints: [],
  isUnschedulable: false,
  isBeingDeleted: false,
  ready: 'true',
  addresses: [],
};

/** that takes what it is told */
function startRouter(network: MemoryNetwork, clock: ManualClock, random: SeededRandom): void {
  const speaker = new Speaker({
    clock,
    random,
    transport: network.host(address('192.0.2.1')),
    interfaceAddresses: () => undefined,
    listen: { port: 179 },
  });
  const settings = { name: 'node', localAsn: 64500, peerAsn: 'any', routerId: 9 } as const;
  speaker.apply({
    peers: [],
    ranges: [{ settings, range: prefix('192.0.2.0/24'), limit: 10, routes: [] }],
  });
  void speaker.start();
}

function agentOf(clock: ManualClock, save: ViewStore['save']): Agent {
  const random = new SeededRandom(5);
  const network = new MemoryNetwork({ clock, random });
  startRouter(network, clock, random);
  const transport = network.host(address('192.0.2.10'));
  return new Agent({
    clock,
    random,
    speaker: new Speaker({ clock, random, transport, interfaceAddresses: () => undefined }),
    listen: () => undefined,
    addresses: new MemoryAddressTable({ host: new MemoryHost() }),
    probe: () => Promise.resolve({ ok: true, detail: '' }),
    readPassword: () => '',
    store: { load: () => undefined, save },
    log: SILENT_LOG,
    node: { name: 'n1', labels: {} },
    asn: 64512,
    routerId: 1,
    isRouterIdFixed: true,
    joinCheck: 'none',
    maxStaleMs: 1e9,
    source: 'kube',
    sources: ['api'],
    version: 'test',
    pid: 1,
  });
}

function fromApi(
  claims: readonly IpClaim[],
  pools: readonly IpPool[],
  peers: readonly BgpPeer[] = [peer()],
): Documents {
  const plain = documents({ peers, pools, claims });
  return {
    ...plain,
    peers: plain.peers.map((one) => ({ ...one, source: 'api' })),
    pools: plain.pools.map((one) => ({ ...one, source: 'api' })),
    claims: plain.claims.map((one) => ({ ...one, source: 'api' })),
  };
}

function prependOf({ decided }: Agent): number | undefined {
  const [decision] = decided.claims;
  const route = decision?.peers[0]?.route;
  return route === undefined ? undefined : (route.attributes.prepend ?? 0);
}

class Scene {
  readonly clock: ManualClock;
  readonly api: MemoryKubeApi;
  readonly agent: Agent;
  readonly report: KubeReport;
  /** the version up to which it has heard */
  told = 0;
  /** Views on disk, in their order; `isRead`: the API had by then that nothing is announced */
  readonly saved: { readonly isGivenBack: boolean; readonly isRead: boolean }[] = [];
  isDiskFull = false;

  constructor(
    instance = 'instance-1',
    of?: Scene,
    awaitClaims?: (names: readonly string[]) => boolean,
  ) {
    const clock = of?.clock ?? new ManualClock();
    const api = of?.api ?? new MemoryKubeApi();
    this.clock = clock;
    this.api = api;
    const random = new SeededRandom(5);
    this.agent = agentOf(clock, ({ isGivenBack = false }) => {
      if (this.isDiskFull) return Promise.resolve(false);
      this.saved.push({ isGivenBack, isRead: this.status?.joined?.open === false });
      return Promise.resolve(true);
    });
    this.report = startKubeReport({
      api,
      agent: this.agent,
      clock,
      random,
      log: SILENT_LOG,
      node: 'n1',
      instance,
      ...(awaitClaims === undefined ? {} : { awaitClaims }),
    });
    this.agent.start();
    this.agent.setNodeFacts(NODE);
  }

  /** what the API has, and what the agent has heard of it */
  place(level: string | undefined, pools: readonly IpPool[] = [EXCLUSIVE]): void {
    this.write(level);
    this.hear(level, pools);
  }

  write(level: string | undefined): void {
    const labels = level === undefined ? {} : { [LABEL]: level };
    this.api.put(IP_CLAIMS, { metadata: { name: VIP, labels } });
  }

  hear(level: string | undefined, pools: readonly IpPool[] = [EXCLUSIVE]): void {
    const claims = level === undefined ? [] : [claim({ node: 'n1', labels: { [LABEL]: level } })];
    this.set(claims, pools);
  }

  set(claims: readonly IpClaim[], pools: readonly IpPool[]): void {
    this.agent.setDocuments(fromApi(claims, pools), 'api');
    this.told = this.api.version;
    this.agent.setObservedClaims(BigInt(this.told));
  }

  cut(): void {
    const error = new ApiUnreachable('refused', undefined);
    this.api.fault = () => ({ kind: 'before', error });
  }

  get prepend(): number | undefined {
    return prependOf(this.agent);
  }

  get status() {
    const found = this.api.object(IP_NODES, 'n1');
    return found === undefined ? undefined : convertIpNode(found)?.status;
  }
}

describe('the report of an agent', () => {
  it('an exclusive claim begins below whatever another node may announce, and goes up when the Lease is held', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 1000);
    expect(scene.prepend).to.equal(9);
    await pass(scene.clock, 12_000);
    expect(scene.prepend).to.equal(0);
    expect(scene.report.health.lease?.isFenced).to.equal(false);
    expect(scene.status?.levels).to.deep.equal([{ address: VIP, level: 0 }]);
    await pass(scene.clock, 150_000);
    // a server takes away what is not applied any more, the one in memory does not
    const last = scene.api.calls.findLast(({ subresource }) => subresource === 'status');
    expect(last?.body, 'as it should be, and told no more').to.not.have.nested.property(
      'status.levels',
    );
  });

  it('an agent of the API that nobody has spoken for is down', () => {
    const agent = agentOf(new ManualClock(), () => undefined);
    agent.start();
    agent.setNodeFacts(NODE);
    const labels = { [LABEL]: '0' };
    agent.setDocuments(fromApi([claim({ node: 'n1', labels })], [EXCLUSIVE]), 'api');
    expect(prependOf(agent)).to.equal(9);
  });

  it('has no Lease where no exclusive claim can come', async () => {
    const scene = new Scene();
    scene.set([claim({ labels: { 'herald.dev/anycast': '' } })], [pool()]);
    await pass(scene.clock, 20_000);
    expect(scene.prepend).to.equal(0);
    expect(scene.api.all(LEASES)).to.have.length(0);
    expect(scene.report.health.lease).to.equal(undefined);
  });

  it('has one where a pool may place one here, and none where its nodeSelector says otherwise', async () => {
    const elsewhere = { ...EXCLUSIVE.placement, nodeSelector: { matchLabels: { zone: 'b' } } };
    const scene = new Scene();
    scene.set([], [{ ...EXCLUSIVE, placement: elsewhere }]);
    await pass(scene.clock, 10_000);
    expect(scene.api.all(LEASES)).to.have.length(0);
    scene.set([], [EXCLUSIVE]);
    await pass(scene.clock, 1000);
    expect(scene.api.all(LEASES)).to.have.length(1);
  });

  it('steps down when the API is cut off, and never comes back to what was given away meanwhile (H1)', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 15_000);
    scene.cut();
    const lowest = new Set<number | undefined>();
    for (let second = 0; second < 16; second += 1) {
      await pass(scene.clock, 1000);
      lowest.add(scene.prepend);
    }
    expect([...lowest], 'one step, and more when another may have it').to.deep.equal([0, 3, 9]);
    // the controller has moved it; the watch has not said so yet
    scene.write(undefined);
    scene.api.fault = undefined;
    for (let second = 0; second < 30; second += 1) {
      await pass(scene.clock, 1000);
      expect(scene.prepend, `${second} s after the API is back`).to.equal(9);
    }
    scene.hear(undefined);
    await pass(scene.clock, 30_000);
    expect(scene.prepend).to.equal(undefined);
    expect(scene.report.health.lease?.isFenced).to.equal(false);
  });

  it('comes back up where nobody has touched its claim', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 15_000);
    scene.cut();
    await pass(scene.clock, 16_000);
    expect(scene.prepend).to.equal(9);
    scene.api.fault = undefined;
    await pass(scene.clock, 15_000);
    expect(scene.prepend).to.equal(0);
  });

  it('asks for its own claims by name when it is back, and lists no others (F14)', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 12_000);
    scene.cut();
    await pass(scene.clock, 30_000);
    scene.api.fault = undefined;
    const from = scene.api.calls.length;
    await pass(scene.clock, 20_000);
    expect(scene.prepend).to.equal(0);
    const asked = scene.api.calls.slice(from).filter(({ resource }) => resource === IP_CLAIMS);
    expect(asked.map(({ verb, name }) => `${verb} ${name ?? ''}`)).to.deep.equal([`get ${VIP}`]);
  });

  it('a frozen process decides nothing at its old level: documents that come first find it down', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 15_000);
    // 20 s in which no timer ran: the clock is ahead of all of them
    const before = scene.clock.now.bind(scene.clock);
    scene.clock.now = () => before() + 20_000;
    scene.place('0');
    expect(scene.prepend).to.equal(9);
  });

  it('answers the move of an exclusive claim within half a second', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 15_000);
    scene.place('1');
    await pass(scene.clock, 500);
    expect(scene.status?.levels).to.deep.equal([{ address: VIP, level: 1 }]);
    scene.place(undefined, [{ ...EXCLUSIVE, drain: { on: [], waitSeconds: 0 } }]);
    await pass(scene.clock, 500);
    expect(scene.prepend).to.equal(undefined);
  });

  it('tells of claims that were placed here straight as of facts: one write for many (F13)', async () => {
    const scene = new Scene();
    scene.set([], [EXCLUSIVE]);
    await pass(scene.clock, 15_000);
    const writes = () => scene.api.calls.filter(({ subresource }) => subresource === 'status');
    const before = writes().length;
    const placed = Array.from({ length: 8 }, (_, index) =>
      claim({ at: `198.51.100.${index + 1}`, node: 'n1', labels: { [LABEL]: '0' } }),
    );
    for (let count = 1; count <= placed.length; count += 1) {
      scene.set(placed.slice(0, count), [EXCLUSIVE]);
      await pass(scene.clock, 150);
    }
    await pass(scene.clock, 2500);
    expect(scene.status?.levels).to.have.length(8);
    expect(writes().length - before, 'of eight that came within 1.2 s').to.equal(1);
    await pass(scene.clock, 130_000);
    expect(writes().length - before, 'and what has settled goes with the numbers').to.be.below(5);
  });

  it('waits for the proof of a straight placement that it refuses, and answers at once then', async () => {
    const asked: string[][] = [];
    let isOpen = true;
    const awaitClaims = (names: readonly string[]) => {
      if (names.length > 0) asked.push([...names]);
      return names.length > 0 && isOpen;
    };
    const scene = new Scene('instance-1', undefined, awaitClaims);
    scene.set([], [EXCLUSIVE]);
    await pass(scene.clock, 15_000);
    expect(asked).to.deep.equal([]);
    const labels = { [LABEL]: '0' };
    scene.write('0');
    scene.agent.setDocuments(
      fromApi([claim({ node: 'n1', labels, pool: 'another' })], [EXCLUSIVE]),
      'api',
    );
    await pass(scene.clock, 3000);
    expect(asked[0]).to.deep.equal([VIP]);
    expect(scene.status?.refused?.map(({ address: at }) => at)).to.deep.equal([VIP]);
    isOpen = false;
    scene.told = scene.api.version;
    scene.agent.setObservedClaims(BigInt(scene.told));
    await pass(scene.clock, 500);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
  });

  it('tells its level of a claim that all may still announce: the others leave when it holds it', async () => {
    const scene = new Scene();
    const anycast = { [ANYCAST_LABEL]: '' };
    scene.set([claim({ labels: anycast })], [EXCLUSIVE]);
    await pass(scene.clock, 15_000);
    scene.write('0');
    scene.set([claim({ node: 'n1', labels: { ...anycast, [LABEL]: '0' } })], [EXCLUSIVE]);
    await pass(scene.clock, 1000);
    expect(scene.status?.levels).to.deep.equal([{ address: VIP, level: 0 }]);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
  });

  it('answers also where it announces nothing: the controller need not wait for it', async () => {
    const scene = new Scene();
    scene.set([], [EXCLUSIVE]);
    await pass(scene.clock, 15_000);
    const labels = { [LABEL]: '0' };
    scene.write('0');
    // a pool that does not hold it closes a gate
    scene.set([claim({ node: 'n1', labels, pool: 'another' })], [EXCLUSIVE]);
    await pass(scene.clock, 3000);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
    expect(scene.status?.levels ?? []).to.deep.equal([]);
  });

  it('answers the release of an address when its route has gone', async () => {
    const scene = new Scene();
    const labels = { 'herald.dev/anycast': '' };
    const service = { namespace: 'default', name: 'web' };
    scene.set([claim({ labels, services: [service] })], [pool()]);
    await pass(scene.clock, 5000);
    expect(scene.status?.routes).to.equal(1);
    const { observedClaims: before } = scene.status ?? {};
    scene.write(undefined);
    scene.set([claim({ labels, services: [], withdrawn: { reason: 'released' } })], [pool()]);
    await pass(scene.clock, 2700);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
    expect(scene.status?.observedClaims).to.not.equal(before);
    expect(scene.status?.routes).to.equal(0);
  });

  it('answers the same address twice that is released, taken and released again before the next write', async () => {
    const scene = new Scene();
    const labels = { 'herald.dev/anycast': '' };
    const service = { namespace: 'default', name: 'web' };
    const release = () =>
      scene.set([claim({ labels, services: [], withdrawn: { reason: 'released' } })], [pool()]);
    scene.set([claim({ labels, services: [service] })], [pool()]);
    await pass(scene.clock, 5000);
    release();
    await pass(scene.clock, 2700);
    scene.set([claim({ labels, services: [service] })], [pool()]);
    release();
    await pass(scene.clock, 2700);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
  });

  it('answers a release as soon as it may, though the other watch of claims was late', async () => {
    const scene = new Scene();
    scene.set([claim({ labels: { [LABEL]: '0' }, node: 'n1' })], [pool()]);
    await pass(scene.clock, 5000);
    const released = claim({ labels: { [LABEL]: '0' }, withdrawn: { reason: 'released' } });
    scene.agent.setDocuments(fromApi([released], [pool()]), 'api');
    scene.agent.setObservedClaims(BigInt(scene.told), true);
    await pass(scene.clock, 5000);
    expect(scene.status?.observedClaims).to.equal(String(scene.told));
    scene.agent.setObservedClaims(BigInt(scene.told) + 7n, false);
    await pass(scene.clock, 2700);
    expect(scene.status?.observedClaims).to.equal(String(BigInt(scene.told) + 7n));
  });

  it('a second machine with the name of this node announces nothing of the API and says why', async () => {
    const first = new Scene();
    first.place('0');
    await pass(first.clock, 15_000);
    const second = new Scene('instance-2', first);
    second.hear('0');
    await pass(first.clock, 60_000);
    expect(second.prepend).to.equal(undefined);
    expect(second.agent.status().joined.sentence).to.match(/two machines go by the name n1/);
    expect(first.prepend).to.equal(0);
    expect(first.status?.joined?.open).to.equal(true);
  });

  it('says at its end that nothing is announced, and gives the Lease back after that', async () => {
    const scene = new Scene();
    scene.place('0');
    await pass(scene.clock, 15_000);
    const stopping = scene.agent.stop('SIGTERM');
    await pass(scene.clock, 300);
    expect(scene.status?.draining?.reason).to.match(/SIGTERM/);
    await pass(scene.clock, 15_000);
    await stopping;
    expect(scene.api.object(LEASES, 'herald-system/node-n1')?.['spec']).to.include({
      holderIdentity: 'n1/instance-1',
    });
    await scene.report.stop('away');
    expect(scene.status?.joined).to.include({ open: false });
    expect(scene.api.object(LEASES, 'herald-system/node-n1')?.['spec']).to.include({
      holderIdentity: '',
    });
    expect(scene.clock.pendingTimers).to.equal(0);
  });

  it('keeps the Lease at its end where a router that could not be told may still have its routes, and says for how long', async () => {
    const scene = new Scene();
    scene.place('0');
    const gracefulRestart = { restartSeconds: 40 };
    const lost = { kind: 'address', address: address('192.0.2.77') } as const;
    const peers = [peer(), peer({ name: 'lost', target: lost, gracefulRestart })];
    const claims = [claim({ node: 'n1', labels: { [LABEL]: '0' } })];
    scene.agent.setDocuments(fromApi(claims, [EXCLUSIVE], peers), 'api');
    await pass(scene.clock, 15_000);
    expect(scene.status?.sessions?.map(({ keptSeconds }) => keptSeconds)).to.deep.equal([
      undefined,
      40,
    ]);
    const stopping = scene.agent.stop('SIGTERM');
    await pass(scene.clock, 15_000);
    await stopping;
    await scene.report.stop('away');
    const lease = scene.api.object(LEASES, 'herald-system/node-n1');
    expect(lease?.['spec']).to.include({ holderIdentity: 'n1/instance-1' });
    const seconds = Number(lease?.metadata.annotations?.['herald.dev/restarting-seconds']);
    expect(seconds).to.be.within(1, 43 - 15);
    // nor does it say that nothing of it is announced: a freed address would be given to others
    expect(scene.status?.joined?.open).to.equal(true);
    expect(scene.saved.some(({ isGivenBack }) => isGivenBack)).to.equal(false);
  });

  describe('and the addresses that it gives back at its end', () => {
    const stopped = async (prepare: (scene: Scene) => void) => {
      const scene = new Scene();
      scene.place('0');
      await pass(scene.clock, 15_000);
      prepare(scene);
      const stopping = scene.agent.stop('SIGTERM');
      await pass(scene.clock, 15_000);
      await stopping;
      const ended = scene.report.stop('away');
      await pass(scene.clock, 5000);
      await ended;
      return scene;
    };

    it('are so on disk before the API reads that nothing is announced here', async () => {
      const { saved, status } = await stopped(() => undefined);
      expect(saved.at(-1)).to.deep.equal({ isGivenBack: true, isRead: false });
      expect(status?.joined?.open).to.equal(false);
    });

    it('stay with the next process where the API could not be reached', async () => {
      const { saved, status } = await stopped((scene) => scene.cut());
      expect(saved.at(-1)?.isGivenBack).to.equal(false);
      expect(status?.joined?.open).to.equal(true);
    });

    it('stay with it where the disk does not take it, and nothing else is said', async () => {
      const scene = await stopped((one) => {
        one.isDiskFull = true;
      });
      expect(scene.saved.some(({ isGivenBack }) => isGivenBack)).to.equal(false);
      expect(scene.status?.joined?.open).to.equal(true);
    });
  });
});
