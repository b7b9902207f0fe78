/**
 * The lab with its real cluster, from nothing to nothing: routers, three nodes with kubelets, Herald from deploy/base, a client outside that is answered by
 * pods through the routers; then all of it taken away, and the machine looked at.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { clusterFolder, clusterGroup } from '../../lab/cluster/down.ts';
import { bringUpLab, type ClusterLab, takeDownLab, whyNoCluster } from '../../lab/cluster/lab.ts';
import { hostInterface } from '../../lab/cluster/plan.ts';
import { Machines } from '../../lab/cluster/power.ts';
import { readyNodes } from '../../lab/cluster/up.ts';
import { requireLab, skipLoudly } from '../interop/require-lab.ts';
import { untilValue } from '../support/poll.ts';

const NAME = `t${process.pid}`;
const ROOT = join(import.meta.dirname, '../..');
const NODES = ['n1', 'n2', 'n3'];
const WITHIN = { timeoutMs: 60_000, everyMs: 200 };

/** Places on this machine that a kubelet, a containerd or a pod of ours could write to. */
const PLACES = [
  ...[
    '/var/lib/kubelet',
    '/var/lib/cni',
    '/var/lib/etcd',
    '/var/lib/containerd',
    '/var/lib/herald',
  ],
  ...['/var/log/pods', '/var/log/containers', '/usr/libexec/kubernetes', '/run/kubernetes'],
  ...['/etc/cni/net.d', '/etc/kubernetes', '/run/flannel', '/run/xtables.lock'],
];
const SETTINGS = [
  ...['kernel/panic', 'kernel/panic_on_oops', 'vm/overcommit_memory', 'vm/panic_on_oom'],
  ...['kernel/keys/root_maxkeys', 'net/ipv4/ip_forward', 'net/netfilter/nf_conntrack_max'],
];

describe('the lab with a real cluster', function () {
  this.timeout(400_000);
  const before = new Map<string, string>();
  let lab: ClusterLab | undefined;

  before_(before);

  after(async () => {
    await takeDownLab(NAME, () => undefined);
  });

  it('comes up: three nodes are Ready, an agent on each, the controllers available', async () => {
    const started = performance.now();
    lab = await bringUpLab(NAME, told(started));
    told(started)('up');
    expect(await readyNodes(lab.kubectl)).to.have.members(NODES);
    const path = '{.status.desiredNumberScheduled} {.status.numberReady}';
    expect(await herald(lab, 'daemonset/herald-agent', path)).to.equal('3 3');
    const controllers = await herald(
      lab,
      'deployment/herald-controller',
      '{.status.availableReplicas}',
    );
    expect(controllers).to.equal('2');
  });

  it('takes a Service: the client is answered by pods of all nodes, through both racks', async () => {
    const { kubectl, network } = up(lab);
    await kubectl.run('apply', '-f', join(ROOT, 'lab/cluster/deploy/web.yaml'));
    await kubectl.run('rollout', 'status', 'deployment/web', '--timeout=60s');
    const address = await addressOf(up(lab));
    expect(await nextHops(up(lab), 'tor1', address, 2)).to.deep.equal(['10.1.0.11', '10.1.0.12']);
    expect(await nextHops(up(lab), 'tor2', address, 1)).to.deep.equal(['10.2.0.13']);
    expect(await nextHops(up(lab), 'spine', address, 2)).to.deep.equal(['10.0.1.2', '10.0.2.2']);
    const answered = new Set<string>();
    await untilValue(
      'pods of all nodes answer the client',
      async () => {
        const ask = ['curl', '-s', '--max-time', '2', `http://${address}/`];
        const { stdout } = await network.exec('client', ask, { anyStatus: true });
        const node = /on node (\S+) answers/.exec(stdout)?.[1];
        if (node !== undefined) answered.add(node);
        return [...answered].sort();
      },
      (nodes) => nodes.length === NODES.length,
      WITHIN,
    );
  });

  it('takes the power from a node and gives it back: the route goes and comes', async () => {
    const machines = new Machines(NAME);
    const address = await addressOf(up(lab));
    await machines.switchOff('n2');
    expect(() => machines.on('n2')).to.throw('no power');
    expect(await nextHops(up(lab), 'tor1', address, 1)).to.deep.equal(['10.1.0.11']);
    await machines.switchOn('n2', () => undefined);
    expect(await nextHops(up(lab), 'tor1', address, 2)).to.deep.equal(['10.1.0.11', '10.1.0.12']);
  });

  it('goes, and nothing is left on this machine', async () => {
    expect(traces()).to.include.members(['process', 'namespace', 'interface', 'cgroup', 'folder']);
    await takeDownLab(NAME, () => undefined);
    expect(traces()).to.deep.equal([]);
    expect(Object.fromEntries(machineNow())).to.deep.equal(Object.fromEntries(before));
  });

  it('leaves nothing when a start is broken off, or killed and then taken down', async () => {
    const broken = await startAndSignal('SIGINT');
    expect(broken).to.equal(130);
    expect(traces()).to.deep.equal([]);
    await startAndSignal('SIGKILL');
    expect(traces()).to.include('process');
    await takeDownLab(NAME, () => undefined);
    expect(traces()).to.deep.equal([]);
  });
});

/** Says loudly why there is no cluster; else looks at the machine. */
function before_(seen: Map<string, string>): void {
  before(function look() {
    const missing = [...new Set([...whyNoCluster(), ...requireLab(['bird', 'frr'])])];
    if (missing.length > 0) skipLoudly(this, `the lab's cluster cannot run: ${missing.join(' ')}`);
    for (const [name, value] of machineNow()) seen.set(name, value);
  });
}

function up(lab: ClusterLab | undefined): ClusterLab {
  if (lab === undefined) throw new Error('the lab did not come up');
  return lab;
}

const told = (started: number) => (sentence: string) =>
  process.stderr.write(
    `${((performance.now() - started) / 1000).toFixed(1).padStart(9)} s  ${sentence}\n`,
  );

const herald = ({ kubectl }: ClusterLab, what: string, path: string): Promise<string> =>
  kubectl.run('-n', 'herald-system', 'get', what, '-o', `jsonpath=${path}`);

function addressOf({ kubectl }: ClusterLab): Promise<string> {
  const path = 'jsonpath={.status.loadBalancer.ingress[0].ip}';
  return untilValue(
    'the Service has an address',
    () => kubectl.run('get', 'service', 'web', '-o', path),
    (address) => address !== '',
    WITHIN,
  );
}

/** The ways that a router's kernel has to an address, when there are so many. */
function nextHops(
  { network }: ClusterLab,
  router: string,
  address: string,
  count: number,
): Promise<readonly string[]> {
  return untilValue(
    `${router} has ${count} ways to ${address}`,
    async () => {
      const show = ['ip', 'route', 'show', `${address}/32`];
      const { stdout } = await network.exec(router, show, { anyStatus: true });
      return [...stdout.matchAll(/via (\S+)/g)].map(([, hop = '']) => hop).sort();
    },
    (hops) => hops.length === count,
    WITHIN,
  );
}

/** What there is of the lab on this machine, by kind. */
function traces(): readonly string[] {
  const folder = clusterFolder(NAME);
  const mine = readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && belongs(pid, folder));
  const found = {
    process: mine.length > 0,
    mount: readFileSync('/proc/mounts', 'utf8').includes(folder),
    namespace: globSync(`/run/netns/lab.${NAME}.*`).length > 0,
    interface: existsSync(`/sys/class/net/${hostInterface(NAME)}`),
    cgroup: globSync(`/sys/fs/cgroup/{*/,}${clusterGroup(NAME).slice(1)}`).length > 0,
    folder: existsSync(folder) || existsSync(`/run/herald-lab/${NAME}`),
  };
  return Object.entries(found).flatMap(([kind, is]) => (is ? [kind] : []));
}

function belongs(pid: string, folder: string): boolean {
  try {
    const cgroup = readFileSync(`/proc/${pid}/cgroup`, 'utf8');
    const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return cgroup.includes(clusterGroup(NAME)) || line.includes(folder);
  } catch {
    // it has ended while we looked
    return false;
  }
}

/** What a cluster must not change. */
function machineNow(): ReadonlyMap<string, string> {
  const places = PLACES.map((path): [string, string] => [path, existsSync(path) ? 'there' : '']);
  const settings = SETTINGS.map((name): [string, string] => {
    const file = `/proc/sys/${name}`;
    return [name, existsSync(file) ? readFileSync(file, 'utf8').trim() : ''];
  });
  return new Map([...places, ...settings]);
}

/** Starts it as a person does, and ends that while nodes are being started; its exit status, -1 by a signal. */
async function startAndSignal(signal: NodeJS.Signals): Promise<number> {
  const main = join(ROOT, 'lab/cluster/main.ts');
  const args = [...process.execArgv, main, 'up', '--name', NAME];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  child.stdout.resume();
  const ended = once(child, 'exit');
  await untilValue(
    'a containerd has begun',
    () => existsSync(join(clusterFolder(NAME), 'n1/containerd.log')),
    (is) => is,
    WITHIN,
  );
  child.kill(signal);
  const [status] = await ended;
  return typeof status === 'number' ? status : -1;
}
