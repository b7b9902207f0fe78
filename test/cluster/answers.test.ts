/**
 * What people ask a cluster: `herald explain` and `herald status` with their own kubeconfig, and the same through kubectl, on a real API server with
 * the rights of deploy/base. The controller is a real one; what agents report is what a test writes.
 */

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { EXCLUDE_LABEL } from '../../src/model/names.ts';
import type { Resource } from '../../src/sources/kube/api.ts';
import {
  BGP_PEERS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { heraldProgram } from '../standalone/support/herald-program.ts';
import { done, notYet, until } from '../support/poll.ts';
import { type Output, run } from '../support/process.ts';
import { type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const SINCE = '2026-01-01T00:00:00Z';
const RBAC = 'rbac.authorization.k8s.io';
const BINDINGS: Resource = {
  group: RBAC,
  version: 'v1',
  plural: 'clusterrolebindings',
};

const own = (kind: string, name: string, spec?: object) => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
});

describe('what people ask a cluster', function () {
  // every question is a program that starts, some ten seconds on a busy machine
  this.timeout(600_000);
  let cluster: Cluster;
  let controller: HeraldRun | undefined;
  let viewer = '';
  let path = '';

  /** a person's shell: HOME without a kubeconfig, no agent on the machine */
  const shell = (args: readonly string[], kubeconfig: string): Promise<Output> => {
    const [command = '', ...rest] = args;
    const env = {
      HOME: cluster.folder,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(cluster.folder, 'kubectl'),
      PATH: path,
      HERALD_SOCKET: '',
    };
    return run(command, rest, { env, anyStatus: true, timeoutMs: 120_000 });
  };

  const herald = (args: readonly string[], kubeconfig = viewer) =>
    shell([heraldProgram(), ...args], kubeconfig);

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.applyKustomization(join(ROOT, 'deploy/base'));
    const bin = join(cluster.folder, 'bin');
    mkdirSync(bin);
    symlinkSync(join(ROOT, 'deploy/kubectl-herald'), join(bin, 'kubectl-herald'));
    const program = join(bin, 'herald');
    writeFileSync(program, `#!/bin/sh\nexec ${heraldProgram()} "$@"\n`, { mode: 0o755 });
    path = `${bin}:${process.env['PATH'] ?? ''}`;
    viewer = cluster.userKubeconfig('viewer');
    // Kubernetes' own view is these two; nobody is here to put them together
    for (const name of ['herald-view', 'system:aggregate-to-view']) {
      await cluster.api.create(BINDINGS, {
        metadata: { name: `viewer-${name}` },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
        subjects: [{ apiGroup: RBAC, kind: 'User', name: 'viewer' }],
      });
    }
    controller = startHerald(['controller', '--metrics-address=off'], {
      name: 'controller',
      folder: cluster.folder,
      kubeconfig: cluster.kubeconfig,
    });
    await scenery();
  });
  after(async () => {
    await controller?.stop();
    await cluster?.stop();
  });

  async function report(node: string, status: object): Promise<void> {
    const joined = { open: true, reason: 'Joined', message: 'Ready in this boot', since: SINCE };
    const session = (peer: string, address: string, state: string) => ({
      peer,
      address,
      state,
      since: SINCE,
      ...(state === 'Established' ? {} : { lastError: 'Bad Peer AS' }),
    });
    const sessions = [
      session('tor-a', '192.0.2.1', 'Established'),
      session('tor-b', '192.0.2.2', node === 'node-b' ? 'Active' : 'Established'),
    ];
    const body = { status: { joined, sessions, routes: 1, ...status } };
    await cluster.api.patch(IP_NODES, node, { kind: 'merge', body }, { subresource: 'status' });
  }

  async function scenery(): Promise<void> {
    for (const name of ['node-a', 'node-b', 'node-c']) await cluster.addNode(name);
    for (const name of ['node-a', 'node-b']) {
      await cluster.api.create(IP_NODES, own('IPNode', name));
      await report(name, {});
    }
    await cluster.api.create(
      BGP_PEERS,
      own('BGPPeer', 'tor-a', { address: '192.0.2.1', asn: 64500 }),
    );
    await cluster.api.create(
      BGP_PEERS,
      own('BGPPeer', 'tor-b', { address: '192.0.2.2', asn: 64500 }),
    );
    await cluster.api.create(IP_POOLS, own('IPPool', 'one', { addresses: ['198.51.100.7/32'] }));
    await cluster.addService({ namespace: 'default', name: 'web' });
    await cluster.setEndpoints({ namespace: 'default', name: 'web' }, 1);
    await settled(['explain', 'default/web'], 'advertised by 2 of 2 nodes');
    await cluster.addService({ namespace: 'default', name: 'late' });
    // a Service and its pool are told of in writes of their own
    await settled(['explain', 'default/late'], '0 are free; full for');
    await settled(['status'], 'PoolExhausted');
  }

  async function settled(args: readonly string[], text: string): Promise<string> {
    return await until(
      `herald ${args.join(' ')}: ${text}`,
      async () => {
        const { stdout, stderr } = await herald(args);
        return stdout.includes(text) ? done(stdout) : notYet(`${stdout}${stderr}`);
      },
      { timeoutMs: 120_000 },
    );
  }

  const squeezed = (text: string) => text.replaceAll(/\s+/g, ' ');

  it('explains a Service with the rights of a viewer: its address, its place, each node and router', async () => {
    const { status, stdout, stderr } = await herald(['explain', 'default/web']);
    expect(status, stderr).to.equal(0);
    const text = squeezed(stdout);
    expect(text).to.include('Service default/web');
    expect(text).to.include('Allocated');
    expect(text).to.include('anycast: every node that can serve it (Placed');
    expect(text).to.match(/node-a tor-a announced Established \S+ all open/);
    expect(text).to.match(/node-b tor-b waiting Active \S+ all open/);
    expect(text).to.include('Bad Peer AS');
    // Nodes are not for viewers
    expect(text).to.include('you may not list nodes (Forbidden)');
  });

  it('explains its address, and one that is free, and one of nobody', async () => {
    const { stdout } = await herald(['explain', '198.51.100.7']);
    expect(stdout).to.include('Service default/web');
    const other = await herald(['explain', '203.0.113.9']);
    expect(other.status).to.equal(1);
    expect(squeezed(other.stdout.replaceAll('\n', ' '))).to.include('no pool holds it');
  });

  it('knows labels and taints of Nodes where they may be read, and who has no agent', async () => {
    await cluster.setNode('node-a', { labels: { [EXCLUDE_LABEL]: '' } });
    const { stdout } = await herald(['explain', 'default/web'], cluster.kubeconfig);
    await cluster.setNode('node-a', { labels: { [EXCLUDE_LABEL]: null } });
    expect(squeezed(stdout)).to.match(
      /node-a tor-a draining Established \S+ not-draining draining/,
    );
    expect(stdout).to.include('→ kubectl label node node-a');
    expect(stdout).to.include('Nodes without an agent take no part: node-c');
  });

  it('says why a Service waits, and since when its pool is full', async () => {
    const { status, stdout } = await herald(['explain', 'default/late']);
    expect(status).to.equal(1);
    expect(stdout).to.match(/address +PoolExhausted for \d+/);
    expect(stdout).to.match(/Pool one: 1 of 1 addresses are taken, 0 are free; full for/);
  });

  it('shows the cluster: who leads, nodes and sessions, pools, claims, who waits', async () => {
    const { status, stdout, stderr } = await herald(['status'], cluster.kubeconfig);
    expect(status, stderr).to.equal(0);
    const text = squeezed(stdout);
    expect(text).to.match(/controller \S+ leads for \S+, heard \d+s ago/);
    expect(text).to.include('Nodes: 2 of 2 joined, 3 of 4 sessions established');
    expect(text).to.match(/node-b yes 1 tor-b 192\.0\.2\.2 Active/);
    expect(text).to.match(/one 1 0 1/);
    expect(text).to.include('Claims: 1 (1 placed)');
    expect(text).to.match(/default\/late \S+ PoolExhausted/);
  });

  it('has no word on the life of agents that need no Lease', async () => {
    const node = await cluster.api.get(IP_NODES, 'node-a');
    expect(conditionOf(node, 'AgentAlive')).to.equal(undefined);
  });

  it('prints JSON of the same', async () => {
    const { stdout } = await herald(['explain', 'default/web', '--json']);
    const answer: unknown = JSON.parse(stdout);
    expect(answer).to.have.nested.property('claims[0].nodes[1].peers[1].route', 'waiting');
    const status: unknown = JSON.parse((await herald(['status', '-o', 'json'])).stdout);
    expect(status).to.have.nested.property('claims.placed', 1);
  });

  it('says plainly what is not allowed, not there, not installed, not answering', async () => {
    const stranger = cluster.userKubeconfig('stranger');
    const forbidden = await herald(['status'], stranger);
    expect(forbidden.status).to.equal(1);
    expect(forbidden.stderr).to.include('bind the ClusterRole herald-view to you');
    const missing = await herald(['explain', 'default/nobody']);
    expect(missing.stderr).to.include('there is no Service nobody in namespace default');
    const nowhere = cluster.writeKubeconfig(
      'nowhere',
      { kind: 'token', token: 'x' },
      'https://127.0.0.1:1',
    );
    const unreachable = await herald(['status'], nowhere);
    expect(unreachable.status).to.equal(1);
    expect(unreachable.stderr).to.include('the API server does not answer');
    const none = await herald(['status', '--kubeconfig', join(cluster.folder, 'none')]);
    expect(none.status).to.equal(2);
  });

  it('plans a change: which sessions and routes it would change where, and writes nothing', async () => {
    const file = join(cluster.folder, 'change.yaml');
    const spec = { address: '192.0.2.2', asn: 64500, nodeSelector: { matchLabels: { rack: '1' } } };
    writeFileSync(file, JSON.stringify(own('BGPPeer', 'tor-b', spec)));
    const { status, stdout, stderr } = await herald(['plan', '-f', file], cluster.kubeconfig);
    expect(status, stderr).to.equal(0);
    expect(squeezed(stdout)).to.include('Node node-a CHANGE WHAT ROUTER close session tor-b');
    expect(squeezed(stdout)).to.include('withdraw 198.51.100.7/32 tor-b');
    const unknown = await herald(['plan', '--delete', 'bgppeer/tor-x'], cluster.kubeconfig);
    expect(unknown.status).to.equal(1);
    expect(unknown.stderr).to.include("there is no BGPPeer 'tor-x'; did you mean 'tor-a'?");
    const gone = await herald(['plan', '--delete', 'bgppeers/tor-b'], cluster.kubeconfig);
    expect(squeezed(gone.stdout)).to.include('close session tor-b');
    writeFileSync(file, JSON.stringify(own('IPPool', 'more', { addresses: ['198.51.100.0/25'] })));
    const overlap = await herald(['plan', '-f', file], cluster.kubeconfig);
    expect(overlap.status, overlap.stdout).to.equal(1);
    expect(overlap.stderr).to.include('IPPool/more would be refused');
  });

  it('says in an event that an annotation is misspelt, and kubectl shows which pool is refused', async () => {
    const services = inNamespace(SERVICES, 'default');
    await cluster.api.create(services, {
      metadata: { name: 'misspelt', annotations: { 'herald.dev/adresses': '198.51.100.99' } },
      spec: { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald', ports: [{ port: 80 }] },
    });
    await cluster.api.create(IP_POOLS, own('IPPool', 'twice', { addresses: ['198.51.100.7'] }));
    await until('an event of the Service', async () => {
      const { stdout } = await shell(
        ['kubectl', 'describe', 'service', 'misspelt'],
        cluster.kubeconfig,
      );
      return /Warning +AnnotationIgnored .*did you mean herald\.dev\/addresses\?/.test(stdout)
        ? done(true)
        : notYet(stdout);
    });
    await until('the column READY', async () => {
      const { stdout } = await shell(['kubectl', 'get', 'ippools.herald.dev'], cluster.kubeconfig);
      return /^twice .* False /m.test(stdout) && /^one .* True /m.test(stdout)
        ? done(true)
        : notYet(stdout);
    });
    await cluster.api.delete(services, 'misspelt');
    await cluster.api.delete(IP_POOLS, 'twice');
  });

  it('reads only: nothing of what it asks writes anything', async () => {
    const mark = cluster.auditMark();
    await herald(['status']);
    await herald(['explain', 'default/web']);
    const verbs = await until('the audit log', () => {
      const asked = cluster.audit(mark).filter(({ user }) => user === 'viewer');
      return asked.length > 8 ? done(asked.map(({ verb }) => verb)) : notYet(`${asked.length}`);
    });
    expect(new Set(verbs)).to.deep.equal(new Set(['get', 'list']));
  });

  it('is a plugin of kubectl, with its flags before and behind the sub-command', async () => {
    const status = await shell(['kubectl', 'herald', 'status'], viewer);
    expect(status.status, status.stderr).to.equal(0);
    expect(status.stdout).to.include('Nodes: 2 of 2 joined');
    const ways = [
      ['explain', 'web', '-n', 'default', '--kubeconfig', viewer],
      ['--kubeconfig', viewer, '-n', 'default', 'explain', 'web'],
      [`--kubeconfig=${viewer}`, 'explain', 'default/web'],
      ['explain', 'web', `--kubeconfig=${viewer}`],
    ];
    for (const args of ways) {
      const answer = await shell(['kubectl', 'herald', ...args], join(cluster.folder, 'none'));
      expect(answer.status, `${args.join(' ')}: ${answer.stderr}`).to.equal(0);
      expect(answer.stdout).to.include('Service default/web');
    }
    const wrong = await shell(['kubectl', 'herald', 'status', '--context', 'nope'], viewer);
    expect(wrong.status).to.equal(2);
    expect(wrong.stderr).to.include('has no context nope');
    const bare = await shell(['kubectl', 'herald', '--context'], viewer);
    expect(bare.stderr).to.include('--context needs a value');
  });
});

describe('a cluster without Herald', function () {
  this.timeout(240_000);

  it('is told from one that is broken', async function () {
    skipWithoutCluster(this);
    const cluster = await startCluster();
    try {
      const env = { KUBECONFIG: cluster.kubeconfig, HOME: cluster.folder };
      const options = { env, anyStatus: true, timeoutMs: 120_000 };
      const { status, stderr } = await run(heraldProgram(), ['status', '--cluster'], options);
      expect(status).to.equal(1);
      expect(stderr).to.include('Herald is not installed there');
    } finally {
      await cluster.stop();
    }
  });
});
