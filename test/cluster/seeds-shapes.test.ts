/**
 * The shapes in which a cluster can be built: one node and one process, kinds that come after the agent (C3, E2), two racks
 * with a router each and one above them (C31), and pools that come back as they were written (E6).
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION, EXCLUDE_LABEL, NAMESPACE } from '../../src/model/names.ts';
import {
  EVENTS,
  IP_CLAIMS,
  IP_POOLS,
  inNamespace,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { heraldProgram } from '../standalone/support/herald-program.ts';
import { untilValue } from '../support/poll.ts';
import { run as runProgram } from '../support/process.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import { agentKubeconfig, startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const PATIENT = { timeoutMs: 60_000 };
/** far less than a router keeps what is only stale */
const SOON = { timeoutMs: 15_000 };

describe('shapes of a cluster', function () {
  this.timeout(240_000);
  let cluster: Cluster;
  const routers: BirdRouter[] = [];
  const runs: HeraldRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
  });

  afterEach(async function () {
    if (this.currentTest?.state === 'failed') {
      for (const each of runs) process.stderr.write(`--- ${each.name}\n${each.log().slice(-3000)}`);
    }
    await Promise.all(runs.splice(0).map((each) => each.kill()));
    await Promise.all(routers.splice(0).map((each) => each.kill()));
    await cluster.reset();
  });

  after(() => cluster?.stop());

  async function router(options: object = {}): Promise<BirdRouter> {
    const bird = await startBird({ folder: cluster.folder, ...options });
    routers.push(bird);
    return bird;
  }

  const announcers = async (bird: BirdRouter, prefix: string) =>
    (await bird.routes(prefix)).map(({ from }) => from).sort();

  const until = (bird: BirdRouter, prefix: string, from: readonly string[]) =>
    untilValue(
      `${prefix} from ${from.join(', ')}`,
      () => announcers(bird, prefix),
      (found) => found.join() === from.join(),
      PATIENT,
    );

  const agent = async (node: string, kubeconfig: string, flags: readonly string[] = []) => {
    const run = await startAgent({ cluster, node, kubeconfig, flags });
    runs.push(run);
    return run;
  };

  /** The server takes up new roles after a moment; what it refuses until then is no fault of ours. */
  async function roleCounts(kubeconfig: string): Promise<void> {
    const api = cluster.apiAs(kubeconfig);
    await untilValue(
      'it may list claims',
      () => api.list(IP_CLAIMS),
      () => true,
      PATIENT,
    );
    api.close();
  }

  it('an agent that is there before the kinds waits for them, says so, and goes on by itself (C3, E2)', async () => {
    const bird = await router();
    await cluster.addNode('a');
    const run = await agent('a', cluster.kubeconfig);
    await run.logged('that they are not there', ({ event }) => event === 'kube.missing', PATIENT);
    await cluster.installCrds();
    await cluster.applyObjects(
      loopbackPeer('bird', bird, ['a']),
      poolBody('p', ['198.51.100.0/24']),
      anycastClaim('198.51.100.7'),
    );
    await until(bird, '198.51.100.7/32', ['127.0.1.1']);
    expect(run.isRunning).to.equal(true);
  });

  it('single node: one process gives a Service its address and announces it, also what went while it was down', async () => {
    await cluster.applyKustomization(join(DEPLOY, 'overlays/single-node'));
    const bird = await router();
    // the label of a control-plane node is no reason where there is no other
    await cluster.addNode('a', { labels: { [EXCLUDE_LABEL]: '' } });
    await cluster.applyObjects(
      loopbackPeer('bird', bird, ['a']),
      poolBody('p', ['198.51.100.0/24'], { drain: { waitSeconds: 0 } }),
    );
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald', {
      boundToNode: 'a',
    });
    await roleCounts(kubeconfig);
    const since = cluster.auditMark();
    const first = await agent('a', kubeconfig, ['--with-controller']);
    const namespace = await cluster.namespace();
    for (const name of ['web', 'shop']) {
      await cluster.setEndpoints({ namespace, name }, 1);
      await cluster.addService({ namespace, name });
    }
    await until(bird, '198.51.100.0/32', ['127.0.1.1']);
    await until(bird, '198.51.100.1/32', ['127.0.1.1']);
    const services = inNamespace(SERVICES, namespace);
    // an address is announced as soon as it is claimed, and told to its Service after that
    const gone = await untilValue(
      'the Service has been told its address',
      async () => {
        const shop = await cluster.api.get(services, 'shop');
        return String(at(shop, 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');
      },
      (address) => address !== '',
      PATIENT,
    );
    expect(await first.stop()).to.equal(0);
    // what was said last may still be on its way through the router
    await untilValue(
      'nothing is left at its end',
      () => bird.count(),
      (count) => count === 0,
      SOON,
    );
    await cluster.api.delete(services, 'shop');
    await agent('a', kubeconfig, ['--with-controller']);
    const kept = gone === '198.51.100.0' ? '198.51.100.1' : '198.51.100.0';
    await until(bird, `${kept}/32`, ['127.0.1.1']);
    await until(bird, `${gone}/32`, []);
    await untilValue(
      'one claim',
      async () => (await cluster.api.list(IP_CLAIMS)).items.map(({ metadata }) => metadata.name),
      (names) => names.join() === kept,
      PATIENT,
    );
    const forbidden = cluster
      .audit(since)
      .filter(({ code, user }) => code === 403 && user.endsWith(':herald'));
    expect(forbidden).to.deep.equal([]);
  });

  const explain = async (service: string) => {
    const options = {
      env: { HOME: cluster.folder, KUBECONFIG: cluster.kubeconfig, HERALD_SOCKET: '' },
      anyStatus: true,
      timeoutMs: 120_000,
    };
    return (await runProgram(heraldProgram(), ['explain', service], options)).stdout;
  };

  it('single node: the label of a control-plane node keeps nothing away, and nobody says that it does', async () => {
    await cluster.applyKustomization(join(DEPLOY, 'overlays/single-node'));
    const bird = await router();
    await cluster.addNode('a', { labels: { [EXCLUDE_LABEL]: '' } });
    await cluster.applyObjects(
      loopbackPeer('bird', bird, ['a']),
      poolBody('p', ['198.51.100.0/24'], { drain: { waitSeconds: 0 } }),
      poolBody('x', ['203.0.113.0/24'], {
        drain: { waitSeconds: 0 },
        placement: { mode: 'exclusive' },
        autoAssign: false,
      }),
    );
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald', {
      boundToNode: 'a',
    });
    await agent('a', kubeconfig, ['--with-controller']);
    const namespace = await cluster.namespace();
    for (const [name, pool] of [['web', 'p'] as const, ['alone', 'x'] as const]) {
      await cluster.setEndpoints({ namespace, name }, 1);
      await cluster.addService({ namespace, name, annotations: { [ANNOTATION.pool]: pool } });
    }
    await until(bird, '198.51.100.0/32', ['127.0.1.1']);
    await until(bird, '203.0.113.0/32', ['127.0.1.1']);
    for (const name of ['web', 'alone']) {
      const advertised = await untilValue(
        `${name} is advertised`,
        async () => {
          const service = await cluster.api.get(inNamespace(SERVICES, namespace), name);
          return conditionOf(service, 'herald.dev/Advertised');
        },
        (condition) => at(condition, 'status') === 'True',
        PATIENT,
      );
      expect(String(at(advertised, 'message'))).to.match(/to 1 of 1 peer$/);
      await untilValue(
        `${name} is explained`,
        () => explain(`${namespace}/${name}`),
        (said) => /^a +bird +announced .*all open$/m.test(said),
        PATIENT,
      );
    }
    const blames = (await cluster.api.list(inNamespace(EVENTS, namespace))).items.filter((event) =>
      String(at(event, 'note')).includes(EXCLUDE_LABEL),
    );
    expect(blames).to.deep.equal([]);
  });

  it('single node: one page tells of agent and controller, and Services without a class are taken where it is told to', async () => {
    await cluster.applyKustomization(join(DEPLOY, 'overlays/single-node'));
    const bird = await router();
    await cluster.addNode('a');
    await cluster.applyObjects(
      loopbackPeer('bird', bird, ['a']),
      poolBody('p', ['198.51.100.0/24']),
    );
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald', {
      boundToNode: 'a',
    });
    const { url } = await agent('a', kubeconfig, ['--with-controller', '--default-class']);
    const namespace = await cluster.namespace();
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    const spec = { loadBalancerClass: undefined };
    await cluster.addService({ namespace, name: 'web', spec });
    await until(bird, '198.51.100.0/32', ['127.0.1.1']);
    const page = async (path: string) => await (await fetch(`${url}${path}`)).text();
    const said = ['ok', 'sessions: 1 of 1 up', 'controller: leading'];
    await untilValue(
      said.join(', '),
      async () => (await page('/readyz')).split('\n'),
      (lines) => said.every((each) => lines.includes(each)),
      PATIENT,
    );
    const numbers = [
      /^herald_allocations_total\{pool="p"\} 1$/m,
      /^herald_controller_leader 1$/m,
      /^herald_bgp_session_up\{peer="bird"\} 1$/m,
      /^herald_api_requests_total\{verb="patch",resource="ipnodes"/m,
      /^herald_api_requests_total\{verb="create",resource="ipclaims"/m,
    ];
    // each is counted by another part, at its own time
    await untilValue(
      'the numbers of both',
      () => page('/metrics'),
      (text) => numbers.every((each) => each.test(text)),
      PATIENT,
    );
  });

  it('two racks: each node peers with its own router by label, and the one above has a way by each rack (C31)', async () => {
    await cluster.applyKustomization(join(DEPLOY, 'base'));
    const core = await router({ asn: 65_000 });
    const [ofOne = 0, ofTwo = 0] = await freePorts(2);
    // BIRD listens where it dials from, by default on port 179 of all addresses: one of two could not
    const above = (asn: number, source: string) => `protocol bgp core {
  local ${source} as ${asn}; strict bind yes; neighbor ${core.address} port ${core.port} as 65000;
  multihop; connect delay time 1; error wait time 1, 1;
  ipv4 { import none; export all; next hop self; };
}`;
    const one = await router({
      asn: 65_001,
      routerId: '192.0.2.1',
      more: above(65_001, `127.0.9.1 port ${ofOne}`),
    });
    const two = await router({
      asn: 65_002,
      routerId: '192.0.2.2',
      more: above(65_002, `127.0.9.2 port ${ofTwo}`),
    });
    const racks = { a: 'one', b: 'one', c: 'two' };
    const nodes = Object.keys(racks);
    for (const [node, rack] of Object.entries(racks)) {
      await cluster.addNode(node, { labels: { 'topology.kubernetes.io/rack': rack } });
    }
    const inRack = (rack: string) => ({
      nodeSelector: { matchLabels: { 'topology.kubernetes.io/rack': rack } },
    });
    await cluster.applyObjects(
      loopbackPeer('tor-one', one, nodes, inRack('one')),
      loopbackPeer('tor-two', two, nodes, inRack('two')),
      poolBody('p', ['198.51.100.0/24']),
      anycastClaim('198.51.100.7'),
    );
    await Promise.all(nodes.map(async (node) => agent(node, await agentKubeconfig(cluster, node))));
    const prefix = '198.51.100.7/32';
    await until(one, prefix, ['127.0.1.1', '127.0.1.2']);
    await until(two, prefix, ['127.0.1.3']);
    await until(core, prefix, ['127.0.9.1', '127.0.9.2']);
    const paths = (await core.routes(prefix)).map(({ asPath }) => asPath).sort();
    expect(paths).to.deep.equal(['65001 64512', '65002 64512']);
    expect((await one.established()).sort()).to.include.members(['127.0.1.1', '127.0.1.2']);
    expect(await two.established()).not.to.include('127.0.1.1');
  });

  it('a pool is read back as it was written, changed and deleted, and the controller counts what it has (E6)', async () => {
    await cluster.installCrds();
    const { kubeconfig, folder } = cluster;
    const args = ['controller', '--metrics-address=off', '--leader-elect=false'];
    runs.push(startHerald(args, { name: 'controller', folder, kubeconfig }));
    const counted = (addresses: number) =>
      untilValue(
        `the controller counts ${addresses} addresses`,
        async () => at(await cluster.api.get(IP_POOLS, 'p'), 'status', 'total'),
        (found) => String(found) === String(addresses),
        PATIENT,
      );
    const annotations = { 'example.com/ticket': '42' };
    const spec = { addresses: ['192.168.16.248/29'], avoidFirstLast: true };
    const body = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPPool' };
    await cluster.api.create(IP_POOLS, { ...body, metadata: { name: 'p', annotations }, spec });
    const made = await cluster.api.get(IP_POOLS, 'p');
    expect(made.metadata.annotations).to.deep.equal(annotations);
    expect(at(made, 'spec')).to.deep.include(spec);
    await counted(6);
    const addresses = ['192.168.16.250-192.168.16.252'];
    const body2 = { spec: { addresses } };
    await cluster.api.patch(IP_POOLS, 'p', { kind: 'merge', body: body2 });
    await counted(3);
    const changed = await cluster.api.get(IP_POOLS, 'p');
    expect(changed.metadata.annotations, 'what others wrote').to.deep.equal(annotations);
    expect(at(changed, 'spec')).to.deep.include({ ...spec, addresses });
    await cluster.api.delete(IP_POOLS, 'p');
    expect((await cluster.api.list(IP_POOLS)).items).to.deep.equal([]);
  });
});
