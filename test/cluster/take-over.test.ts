/**
 * From another balancer to Herald under traffic. The other one is what it is for routers, the API and clients: Services of no class with an address in their
 * status, and a BGP speaker on each node (BIRD) that announces it. `herald import` translates its objects; then its speakers go node by node, and Herald's
 * agents come. No address changes and no probe is lost.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { edgeAsn, masterAsn } from '../standalone/support/addresses.ts';
import { heraldProgram } from '../standalone/support/herald-program.ts';
import { Prober } from '../standalone/support/prober.ts';
import { RouteWatch } from '../standalone/support/route-watch.ts';
import { untilValue } from '../support/poll.ts';
import { type Running, run } from '../support/process.ts';
import { untilIpNode } from './support/agent-run.ts';
import { at } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { gatewayOf, nodeAddress, TrafficLab } from './support/traffic-lab.ts';

const VIP = '198.51.100.20';
const NODES = [1, 2] as const;
const BOTH = NODES.map(nodeAddress).join(' ');
const WEB = inNamespace(SERVICES, 'default');

/** as `kubectl get -o yaml` shows them */
const otherDocuments = `apiVersion: metallb.io/v1beta1
kind: IPAddressPool
metadata: {name: public, namespace: metallb-system}
spec: {addresses: [198.51.100.0/24]}
---
apiVersion: metallb.io/v1beta1
kind: BGPAdvertisement
metadata: {name: all, namespace: metallb-system}
spec: {}
${NODES.map(
  (index) => `---
apiVersion: metallb.io/v1beta2
kind: BGPPeer
metadata: {name: tor-${index}, namespace: metallb-system}
spec:
  peerAddress: ${gatewayOf(index)}
  peerASN: ${edgeAsn}
  myASN: ${masterAsn}
  nodeSelectors: [{matchLabels: {kubernetes.io/hostname: n${index}}}]`,
).join('\n')}
`;

describe('a take-over from another balancer', function () {
  this.timeout(600_000);
  let world: TrafficLab;
  const others = new Map<number, Running>();

  before(async function () {
    skipWithoutCluster(this, { lab: true });
    world = await TrafficLab.start();
    await world.serve(VIP, [80]);
    await world.addNodes();
    await makeService();
    for (const index of NODES) others.set(index, startOther(index));
    await world.reachedBy(VIP, (hops) => hops === BOTH);
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  async function makeService(): Promise<void> {
    const { cluster } = world;
    await cluster.setEndpoints({ namespace: 'default', name: 'web' }, 2);
    await cluster.api.create(WEB, {
      metadata: { name: 'web', annotations: { 'metallb.io/ip-allocated-from-pool': 'public' } },
      spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    const body = { status: { loadBalancer: { ingress: [{ ip: VIP, ipMode: 'VIP' }] } } };
    await cluster.api.patch(WEB, 'web', { kind: 'merge', body }, { subresource: 'status' });
  }

  function startOther(index: number): Running {
    const host = world.nodeHost(index);
    const [config, socket] = [join(host.folder, 'other.conf'), join(host.folder, 'other.ctl')];
    writeFileSync(
      config,
      `router id ${nodeAddress(index)};
protocol device { }
protocol static { ipv4; route ${VIP}/32 unreachable; }
protocol bgp { local ${nodeAddress(index)} as ${masterAsn}; neighbor ${gatewayOf(index)} as ${edgeAsn};
  connect delay time 1; ipv4 { import none; export all; next hop self; }; }
`,
    );
    return host.spawn('other', 'bird', ['-f', '-c', config, '-s', socket]);
  }

  /** what `herald import` makes of the other's objects, applied as the page says */
  async function applyImported(): Promise<void> {
    const { cluster } = world;
    const [given, made] = ['metallb.yaml', 'herald.yaml'].map((name) => join(cluster.folder, name));
    writeFileSync(given ?? '', otherDocuments);
    const { stdout } = await run(heraldProgram(), ['import', 'metallb', '-f', given ?? '']);
    writeFileSync(made ?? '', stdout);
    await cluster.kubectl(['apply', '-f', made ?? '']);
  }

  /** all addresses that the Service has ever had */
  function watchIngress(): { readonly seen: ReadonlySet<string>; stop(): void } {
    const seen = new Set<string>();
    const ending = new AbortController();
    void (async () => {
      const { resourceVersion } = await world.cluster.api.list(WEB);
      await world.cluster.api.watch(WEB, {
        resourceVersion,
        signal: ending.signal,
        timeoutSeconds: 3600,
        onEvent: (event) => {
          if (event.kind !== 'bookmark') seen.add(ingressOf(event.object));
        },
      });
    })();
    return { seen, stop: () => ending.abort() };
  }

  it('keeps the address and loses no probe', async () => {
    const routes = await RouteWatch.start(world.router);
    const prober = await Prober.start(world.client, {
      ...{ address: VIP, port: 80, everyMs: 10, seconds: 500 },
    });
    const ingress = watchIngress();
    const fromMs = nowMs();
    await applyImported();
    await world.startController('--default-class');
    const { api } = world.cluster;
    await untilValue(
      'the address is claimed',
      async () => (await api.list(IP_CLAIMS)).items.map(({ metadata }) => metadata.name),
      (claims) => claims.join() === VIP,
      { timeoutMs: 60_000 },
    );
    for (const index of NODES) {
      await others.get(index)?.stop();
      await world.startAgent(index);
      // how many routes there are is a number, and told once a minute
      const ours = { cluster: world.cluster, node: `n${index}`, timeoutMs: 90_000 };
      await untilIpNode(ours, 'it announces one route', ({ status }) => status.routes === 1);
      await world.reachedBy(VIP, (hops) => hops === BOTH);
    }
    const outage = await prober.outage(fromMs, nowMs());
    await prober.stop();
    ingress.stop();
    const ways = routes.events(VIP).filter(({ atMs }) => atMs >= fromMs);
    await routes.stop();
    const { lost, answeredBy } = outage;
    expect({ lost }, JSON.stringify(outage)).to.deep.equal({ lost: 0 });
    expect(Object.keys(answeredBy).sort()).to.deep.equal(['p1', 'p2']);
    expect(ways.filter(({ gateways }) => gateways.length === 0)).to.deep.equal([]);
    expect(ingressOf(await api.get(WEB, 'web'))).to.equal(VIP);
    expect([...ingress.seen]).to.deep.equal([VIP]);
    const claim = await api.get(IP_CLAIMS, VIP);
    expect(at(claim, 'spec', 'services', '0', 'name')).to.equal('web');
  });
});

function ingressOf(service: unknown): string {
  return String(at(service, 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');
}
