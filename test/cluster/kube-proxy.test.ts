/**
 * Herald beside real kube-proxies, which write their rules when it suits them: a router must not send packets to a node that would refuse
 * them. A client asks for the address all the time, from before there is a Service; from the moment at which the router has a way, each of
 * its probes has to be answered. One node's kube-proxy is in nftables mode, the other one's in iptables mode. HERALD_TEST_PROXY_CHECK=none shows what it is about: without the check half a second of probes is lost.
 */

import { expect } from 'chai';
import { ANNOTATION } from '../../src/model/names.ts';
import { ENDPOINT_SLICES, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { Prober } from '../standalone/support/prober.ts';
import { RouteWatch } from '../standalone/support/route-watch.ts';
import { passes, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { conditionOf, at as field } from './support/cluster.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { nodeAddress, podAddress, TrafficLab } from './support/traffic-lab.ts';

const { HERALD_TEST_LONG = '', HERALD_TEST_PROXY_CHECK = 'http://127.0.0.1:10256/healthz' } =
  process.env;
const ROUNDS = HERALD_TEST_LONG === '' ? 8 : 60;
const MODES = ['nftables', 'iptables'];
const EVERY_MS = 5;
/** what is looked at after the last node has come */
const AFTER_MS = 700;
/** what was open when the router's next hops changed began so long before, at most; and the time until a change is seen */
const OPEN_MS = 100;
const SEEN_MS = 30;
/** the kernel's stamps of routes are wall time, of which we know the millisecond */
const CLOCK_MS = 2;
const BOTH = `${nodeAddress(1)} ${nodeAddress(2)}`;

describe('beside a real kube-proxy', function () {
  this.timeout(ROUNDS * 20_000 + 300_000);
  let world: TrafficLab;

  before(async function () {
    skipWithoutCluster(this, { lab: true });
    world = await TrafficLab.start();
    await world.cluster.applyObjects(poolBody('any', ['198.51.100.64/26']));
    await world.startProxies(MODES);
    await world.startHerald({ proxyCheck: HERALD_TEST_PROXY_CHECK });
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${world.logs()}\n`);
  });

  after(() => world?.stop());

  async function serve(name: string, address: string): Promise<void> {
    const { cluster } = world;
    const service = { namespace: 'default', name };
    const pods = [1, 2].map((index) => ({ node: `n${index}`, address: podAddress(index) }));
    await cluster.setEndpoints(service, pods);
    await cluster.addService({ ...service, annotations: { [ANNOTATION.addresses]: address } });
  }

  /**
   * Probes that were sent while the router had a way, and got no answer. When a second way comes the router deals out anew, and what was on the
   * way in that very moment may end at a node that has not seen its beginning: that is the router's, and a matter of milliseconds.
   */
  async function lostOnTheWay(address: string, probing: Prober, routes: RouteWatch) {
    await world.reachedBy(address, (hops) => hops === BOTH);
    const settledMs = nowMs() + AFTER_MS;
    await passes(AFTER_MS);
    // who looks on may get its turn later than the kernel changes
    const changes = await untilValue(
      `both ways of ${address} were seen to come`,
      () => routes.events(address),
      (events) => events.at(-1)?.gateways.join(' ') === BOTH,
    );
    const first = changes.find(({ gateways }) => gateways.length > 0);
    if (first === undefined) throw new Error('the kernel has the route, but nobody saw it come');
    const { sent } = await probing.outage(first.atMs, settledMs);
    const later = changes.filter(({ atMs }) => atMs > first.atMs);
    const lost = probing
      .read()
      .filter(({ sentMs }) => sentMs >= first.atMs + CLOCK_MS && sentMs <= settledMs)
      .filter(({ lost: why }) => why !== undefined && why !== 'reset')
      .filter(({ sentMs }) => {
        return !later.some(({ atMs }) => sentMs > atMs - OPEN_MS && sentMs < atMs + SEEN_MS);
      });
    return { sent, lost, changes };
  }

  it('probes do not arrive before they can be served', async () => {
    const routes = await RouteWatch.start(world.router);
    const lost: Record<string, unknown> = {};
    let sent = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const address = `198.51.100.${65 + round}`;
      const probing = await Prober.start(world.client, {
        ...{ address, port: 80, everyMs: EVERY_MS, seconds: 60 },
      });
      await serve(`s${round}`, address);
      const seen = await lostOnTheWay(address, probing, routes);
      await probing.stop();
      sent += seen.sent;
      if (seen.lost.length > 0) lost[address] = seen;
      await world.cluster.api.delete(inNamespace(SERVICES, 'default'), `s${round}`);
    }
    await routes.stop();
    expect(lost).to.deep.equal({});
    expect(sent).to.be.above(ROUNDS * 50);
  });

  it('a Service that becomes Local keeps its ways until kube-proxy says who has no endpoint', async () => {
    const { cluster } = world;
    const address = '198.51.100.120';
    await serve('flipped', address);
    await world.reachedBy(address, (hops) => hops === BOTH);
    const routes = await RouteWatch.start(world.router);
    const services = inNamespace(SERVICES, 'default');
    const body = { spec: { externalTrafficPolicy: 'Local' } };
    const { spec } = await cluster.api.patch(services, 'flipped', { kind: 'merge', body });
    const port = field(spec, 'healthCheckNodePort');
    for (const index of [1, 2]) {
      const ask = ['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}'];
      const url = `http://${nodeAddress(index)}:${port}/`;
      await untilValue(
        `kube-proxy of n${index} has opened the port`,
        async () =>
          (await world.nodeHost(index).exec('sh', ['-c', `${ask.join(' ')} ${url}; true`])).stdout,
        (status) => status === '200',
        { timeoutMs: 60_000 },
      );
    }
    await passes(AFTER_MS);
    expect(routes.events(address), 'changes of the ways').to.deep.equal([]);
    const alone = [{ node: 'n2', address: podAddress(2) }];
    await cluster.setEndpoints({ namespace: 'default', name: 'flipped' }, alone);
    await world.reachedBy(address, (hops) => hops === nodeAddress(2));
    await routes.stop();
  });

  const services = inNamespace(SERVICES, 'default');

  async function shares(name: string, pod: number, port: number): Promise<void> {
    const service = { namespace: 'default', name };
    const endpoints = [{ node: `n${pod}`, address: podAddress(pod) }];
    await world.cluster.setEndpoints(service, endpoints);
    const annotations = { [ANNOTATION.share]: 'w', [ANNOTATION.pool]: 'any' };
    await world.cluster.addService({ ...service, annotations, ports: [{ port }] });
  }

  async function ingress(name: string): Promise<string> {
    const service = await world.cluster.api.get(services, name);
    return JSON.stringify(field(service, 'status', 'loadBalancer'));
  }

  function has(name: string, accept: (text: string) => boolean): Promise<string> {
    return untilValue(`addresses of ${name}`, () => ingress(name), accept, { timeoutMs: 60_000 });
  }

  async function answers(at: string): Promise<string> {
    const ask = ['-s', '-m', '2', `http://${at}/`];
    return (await world.client.exec('curl', ask, { anyStatus: true })).stdout.trim();
  }

  /** who answers twenty times, each once */
  async function answering(at: string): Promise<readonly string[]> {
    const who = new Set<string>();
    for (let probe = 0; probe < 20; probe += 1) who.add((await answers(at)).slice(0, 2));
    return [...who].toSorted();
  }

  it('who takes the port of another on a shared address leaves it, and the other has all its packets', async () => {
    const { cluster } = world;
    const address = '198.51.100.121';
    // it came first, so the order of those that share does not protect the other
    await shares('mallory', 2, 9999);
    await has('mallory', (text) => text.includes('198.51.100.'));
    const shared = /198\.51\.100\.\d+/.exec(await ingress('mallory'))?.[0] ?? address;
    await shares('victim', 1, 80);
    await has('victim', (text) => text.includes(`"${shared}"`));
    await world.reachedBy(shared, (hops) => hops === BOTH);
    await untilValue(
      'p1 answers',
      () => answers(shared),
      (who) => who.includes('p1'),
      {
        timeoutMs: 60_000,
      },
    );
    const routes = await RouteWatch.start(world.router);
    const body = { spec: { ports: [{ port: 80 }] } };
    await cluster.api.patch(services, 'mallory', { kind: 'merge', body });
    await has('mallory', (text) => text.includes('"ip"') && !text.includes(`"${shared}"`));
    const other = /198\.51\.100\.\d+/.exec(await ingress('mallory'))?.[0] ?? '';
    await world.reachedBy(other, (hops) => hops === BOTH);
    await untilValue(
      'p2 answers',
      () => answers(other),
      (who) => who.includes('p2'),
      {
        timeoutMs: 60_000,
      },
    );
    // kube-proxy has written its rules for the new address, and with them it has forgotten the old one
    expect(await answering(shared)).to.deep.equal(['p1']);
    expect(routes.events(shared), 'changes of the ways').to.deep.equal([]);
    await routes.stop();
    const condition = conditionOf(
      await cluster.api.get(services, 'victim'),
      'herald.dev/Allocated',
    );
    expect(condition).to.include({ status: 'True', reason: 'Allocated' });
  });

  it('who takes it while it is being deleted, and its own finalizer keeps it, leaves it as well', async () => {
    const { cluster } = world;
    const edit = (body: object) => cluster.api.patch(services, 'going', { kind: 'merge', body });
    await shares('going', 2, 9998);
    const [shared = ''] =
      /198\.51\.100\.\d+/.exec(await has('going', (text) => text.includes('198.51.100.'))) ?? [];
    await shares('staying', 1, 8080);
    await has('staying', (text) => text.includes(`"${shared}"`));
    await untilValue(
      'p1 answers',
      () => answering(`${shared}:8080`),
      (who) => who.join() === 'p1',
      { timeoutMs: 60_000 },
    );
    await edit({ metadata: { finalizers: ['example.org/stay'] } });
    await cluster.api.delete(services, 'going');
    await edit({ spec: { ports: [{ port: 8080 }] } });
    await has('going', (text) => !text.includes(shared));
    await untilValue(
      'p1 answers alone',
      () => answering(`${shared}:8080`),
      (who) => who.join() === 'p1',
      { timeoutMs: 60_000 },
    );
    await edit({ metadata: { finalizers: null } });
  });

  it('answers on a port that a Service gets later, and no more on one that it loses (D27)', async () => {
    const { cluster } = world;
    const address = '198.51.100.125';
    await serve('ports', address);
    await world.reachedBy(address, (hops) => hops === BOTH);
    const services = inNamespace(SERVICES, 'default');
    const { spec } = await cluster.api.get(services, 'ports');
    const [first] = [field(spec, 'ports')].flat();
    const routes = await RouteWatch.start(world.router);
    const answers = async (port: number, isWanted: boolean) => {
      const url = `http://${address}:${port}/readyz`;
      const args = ['-s', '-o', '/dev/null', '--max-time', '2', url];
      await untilValue(
        `port ${port} ${isWanted ? 'answers' : 'is closed'}`,
        async () => (await world.client.exec('curl', args, { anyStatus: true })).status === 0,
        (isThere) => isThere === isWanted,
        { timeoutMs: 60_000 },
      );
    };
    await answers(80, true);
    await answers(8443, false);
    const later = { ...Object(first), name: 'later', port: 8443 };
    delete later.nodePort;
    const slices = inNamespace(ENDPOINT_SLICES, 'default');
    const labelSelector = 'kubernetes.io/service-name=ports';
    const [slice] = (await cluster.api.list(slices, { labelSelector })).items;
    const [behind] = [field(slice, 'ports')].flat();
    /** as the controllers of Kubernetes do it: the slices follow the Service, port by name */
    const setPorts = async (ports: readonly { readonly name: string }[]) => {
      await cluster.api.patch(services, 'ports', { kind: 'merge', body: { spec: { ports } } });
      const followed = ports.map(({ name }) => ({ ...Object(behind), name }));
      const body = { ports: followed };
      await cluster.api.patch(slices, slice?.metadata.name ?? '', { kind: 'merge', body });
    };
    await setPorts([{ ...Object(first), name: 'first' }, later]);
    await answers(8443, true);
    await answers(80, true);
    await setPorts([later]);
    await answers(80, false);
    await answers(8443, true);
    expect(routes.events(address), 'changes of the ways').to.deep.equal([]);
    await routes.stop();
  });

  it('the exclusive address of a Local Service goes where its pod is', async () => {
    const { cluster } = world;
    const address = '198.51.100.200';
    const placement = { mode: 'exclusive' };
    await cluster.applyObjects(poolBody('one', [`${address}/32`], { placement }));
    const service = { namespace: 'default', name: 'alone' };
    const on = (index: number) =>
      cluster.setEndpoints(service, [{ node: `n${index}`, address: podAddress(index) }]);
    await on(1);
    await cluster.addService({
      ...service,
      annotations: { [ANNOTATION.pool]: 'one' },
      spec: { externalTrafficPolicy: 'Local' },
    });
    for (const index of [1, 2, 1]) {
      await on(index);
      await world.reachedBy(address, (hops) => hops === nodeAddress(index));
      const probing = await Prober.start(world.client, {
        ...{ address, port: 80, everyMs: 50, seconds: 60 },
      });
      await untilValue(
        `p${index} answers`,
        () => probing.read().at(-1)?.who ?? '',
        (who) => who === `p${index}`,
      );
      await probing.stop();
    }
  });

  it('what IPVS mode binds on every node is not the node’s own address', async () => {
    const address = '198.51.100.121';
    await serve('bound', address);
    await world.reachedBy(address, (hops) => hops === BOTH);
    const routes = await RouteWatch.start(world.router);
    const nodes = [1, 2].map((index) => world.nodeHost(index));
    for (const node of nodes) {
      // a dummy where the kernel has one; what is seen of it are its name, its flags and its addresses
      await node.ip('link add kube-ipvs0 type veth peer name far-end');
      await node.ip('link set kube-ipvs0 arp off');
      await node.ip(`address add ${address}/32 dev kube-ipvs0`);
    }
    // decided on after the addresses were seen
    await serve('later', '198.51.100.122');
    await world.reachedBy('198.51.100.122', (hops) => hops === BOTH);
    expect(routes.events(address), 'changes of the paths').to.deep.equal([]);
    await world.reachedBy(address, (hops) => hops === BOTH);
    const probing = await Prober.start(world.client, {
      ...{ address, port: 80, everyMs: 50, seconds: 60 },
    });
    await untilValue(
      'the Service answers',
      () => probing.read().at(-1)?.who ?? '',
      (who) => who !== '',
    );
    await probing.stop();
    await routes.stop();
    for (const node of nodes) await node.ip('link delete kube-ipvs0');
  });
});
