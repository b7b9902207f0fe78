/**
 * The lab with its real cluster, from nothing to nothing: routers, three nodes with kubelets, Herald from deploy/base, a client outside that is answered by
 * pods through the routers; then all of it taken away, and the machine looked at.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { clusterGroup } from '../../lab/cluster/down.ts';
import { clusterFolder } from '../../lab/cluster/folder.ts';
import {
  bringUpLab,
  type ClusterLab,
  isBuilt,
  takeDownLab,
  whyNoCluster,
} from '../../lab/cluster/lab.ts';
import { hostInterface } from '../../lab/cluster/plan.ts';
import { Machines } from '../../lab/cluster/power.ts';
import { readyNodes } from '../../lab/cluster/up.ts';
import { testLabName } from '../../lab/runner/test-labs.ts';
import { openLab } from '../../lab/scenarios/open-lab.ts';
import { play } from '../../lab/scenarios/play.ts';
import type { Scenario } from '../../lab/scenarios/scenario.ts';
import type { World } from '../../lab/scenarios/world.ts';
import { cacheFolder } from '../../tools/kubernetes/version.ts';
import { requireLab, skipLoudly } from '../interop/require-lab.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';

const NAME = testLabName('t', process.pid);
const ROOT = join(import.meta.dirname, '../..');
const NODES = ['n1', 'n2', 'n3'];
const DUAL_STACK = join(import.meta.dirname, 'support/dual-stack.yaml');
const KINDS_WHILE_UP = ['process', 'namespace', 'interface', 'cgroup', 'folder'];
/** an address that nobody has */
const FAR = '192.0.2.250';
/** With all that is built in the cache, as docs/e2e.md promises; it is about a minute on two cores. */
const UP_WITHIN_MS = 180_000;
const WITHIN = { timeoutMs: 120_000, everyMs: 200 };

interface Block {
  readonly script: string;
  /** what it must say at last; '' when it must succeed at once */
  readonly until: string;
}

const PAGE = readFileSync(join(ROOT, 'docs/getting-started-cluster.md'), 'utf8');
const BLOCKS: readonly Block[] = [...PAGE.matchAll(/^```sh run([^\n]*)\n([\s\S]*?)^```/gm)].map(
  ([, words = '', script = '']) => {
    const quoted = /until="((?:[^"\\]|\\.)*)"/.exec(words)?.[1]?.replaceAll('\\"', '"');
    return { script, until: quoted ?? /until=(\S+)/.exec(words)?.[1] ?? '' };
  },
);

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
  let untouched: ReadonlyMap<string, string> = new Map();
  let lab: ClusterLab | undefined;

  before(function look() {
    const missing = [...new Set([...whyNoCluster(), ...requireLab(['bird', 'frr'])])];
    if (missing.length > 0) skipLoudly(this, `the lab's cluster cannot run: ${missing.join(' ')}`);
    untouched = machineNow();
  });

  after(async () => {
    await takeDownLab(NAME, () => undefined);
  });

  it('comes up: three nodes are Ready, an agent on each, the controllers available', async () => {
    const wasBuilt = isBuilt();
    const started = performance.now();
    lab = await bringUpLab(NAME, told(started));
    const tookMs = performance.now() - started;
    told(started)('up');
    if (wasBuilt) expect(tookMs, 'ms to come up').to.be.lessThan(UP_WITHIN_MS);
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

  const exports: string[] = [];
  let reached = 0;
  /** Steps of the page, which is for a lab in which nobody has had an address yet. */
  const page = (from: number, to: number) => {
    for (const [index, block] of [...BLOCKS.entries()].slice(from, to)) {
      it(`docs/getting-started-cluster.md, step ${index + 1}: ${block.script.split('\n')[0]}`, async function () {
        // each one stands on the ones before
        if (reached < index) this.skip();
        if (block.script.includes('make lab-down'))
          expect(traces()).to.include.members(KINDS_WHILE_UP);
        await type(block, exports);
        exports.push(...block.script.split('\n').filter((line) => line.startsWith('export ')));
        reached = index + 1;
      });
    }
  };
  page(0, BLOCKS.length - 1);

  it('answers the client by pods of all nodes, through both racks and both families', async () => {
    const { kubectl, network } = up(lab);
    await kubectl.run('apply', '-f', DUAL_STACK);
    await kubectl.run('rollout', 'status', 'deployment/both', '--timeout=120s');
    const addresses = await addressesOf(up(lab));
    const [ipv4 = '', ipv6 = ''] = addresses;
    await hasWays(up(lab), 'tor1', ipv4, ['10.1.0.11', '10.1.0.12']);
    await hasWays(up(lab), 'tor2', ipv4, ['10.2.0.13']);
    await hasWays(up(lab), 'spine', ipv4, ['10.0.1.2', '10.0.2.2']);
    await hasWays(up(lab), 'tor1', ipv6, ['fd00:1::11', 'fd00:1::12']);
    for (const url of [`http://${ipv4}/`, `http://[${ipv6}]/`]) {
      const answered = new Set<string>();
      await untilValue(
        `pods of all nodes answer ${url}`,
        async () => {
          const ask = ['curl', '-s', '--max-time', '2', url];
          const { stdout } = await network.exec('client', ask, { anyStatus: true });
          const node = /on node (\S+) answers/.exec(stdout)?.[1];
          if (node !== undefined) answered.add(node);
          return [...answered].sort();
        },
        (nodes) => nodes.length === NODES.length,
        WITHIN,
      );
    }
  });

  it('plays a story, after which the nodes remember no connection to its addresses', async () => {
    const addresses = await addressesOf(up(lab));
    const remembered = async () => {
      const found: string[] = [];
      for (const node of NODES) {
        for (const address of addresses) {
          const list = ['-L', '-f', address.includes(':') ? 'ipv6' : 'ipv4', '-d', address];
          found.push((await up(lab).network.exec(node, ['conntrack', ...list])).stdout);
        }
      }
      return found.join('');
    };
    const quiet = () => undefined;
    const { signal } = new AbortController();
    const opened = await openLab(NAME, quiet, signal);
    let during = '';
    const run = async (world: World) => {
      for (const address of addresses) {
        await (await world.probe({ address, everyMs: 20, seconds: 30 })).stop();
        await world.hold({ address, connections: 5, everyMs: 100 });
      }
      during = await remembered();
      return [];
    };
    const scenario: Scenario = { title: 'a client comes, and stays', run };
    const result = await play(opened.lab, { name: 'memory', scenario }, { say: quiet, signal });
    expect(result.failure).to.equal(undefined);
    for (const address of addresses) expect(during).to.include(`dst=${address} `);
    expect(during).to.include('ESTABLISHED').and.to.include('TIME_WAIT');
    expect(await remembered()).to.equal('');
  });

  it('takes the power from a node and gives it back: the route goes and comes', async () => {
    const machines = new Machines(NAME);
    const [address = ''] = await addressesOf(up(lab));
    const remembers = async (call: readonly string[]) =>
      (await up(lab).network.exec('n2', ['conntrack', ...call, '-d', FAR])).stdout;
    const connection = ['-p', 'tcp', '-s', '198.51.100.1', '--sport', '4000', '--dport', '80'];
    await remembers(['-I', ...connection, '--state', 'ESTABLISHED', '--timeout', '3600']);
    expect(await remembers(['-L'])).to.include('ESTABLISHED');
    await machines.switchOff('n2');
    expect(() => machines.on('n2')).to.throw('no power');
    await hasWays(up(lab), 'tor1', address, ['10.1.0.11']);
    await machines.switchOn('n2', () => undefined);
    await hasWays(up(lab), 'tor1', address, ['10.1.0.11', '10.1.0.12']);
    expect(
      await remembers(['-L']),
      'what a kernel knows of a connection before it booted',
    ).to.equal('');
  });

  page(BLOCKS.length - 1, BLOCKS.length);

  it('is gone then, and nothing is left on this machine', async () => {
    expect(reached, 'steps of the page').to.equal(BLOCKS.length).and.to.be.above(10);
    await leavesNothing();
    expect(Object.fromEntries(machineNow())).to.deep.equal(Object.fromEntries(untouched));
  });

  it('leaves nothing when a start is broken off, or killed and then taken down', async () => {
    await takeDownLab(NAME, () => undefined);
    const broken = await startAndSignal('SIGINT');
    expect(broken).to.equal(130);
    await leavesNothing();
    await startAndSignal('SIGKILL');
    expect(traces()).to.include('process');
    const log = join(clusterFolder(NAME), 'n1/containerd.log');
    const reader = spawn('tail', ['-f', log], { stdio: 'ignore' });
    const readerEnded = once(reader, 'exit');
    try {
      await takeDownLab(NAME, () => undefined);
      expect(reader.signalCode, 'what became of a person who reads a log').to.equal(null);
    } finally {
      reader.kill();
      await readerEnded;
    }
    await leavesNothing();
  });
});

/** As a person types it, with the name of this lab and what was exported so far. */
async function type({ script, until: text }: Block, exports: readonly string[]): Promise<void> {
  const main = `${process.execPath} --conditions=bgp-ts-source lab/cluster/main.ts`;
  const lines = ['set -eu', `cd ${ROOT}`, ...exports, script].join('\n');
  const here = lines
    .replaceAll('make lab-cluster', `${main} up --name ${NAME}`)
    .replaceAll('make lab-down', `${main} down --name ${NAME}`)
    .replaceAll('/tmp/herald-lab-cluster', clusterFolder(NAME))
    .replaceAll('--name cluster', `--name ${NAME}`)
    .replaceAll('$HOME/.cache/herald/kubernetes/1.34.4', cacheFolder());
  await untilValue(
    `it says '${text}'`,
    async () => {
      const { status, stdout, stderr } = await run('bash', ['-c', here], {
        anyStatus: true,
        timeoutMs: 120_000,
      });
      return { status, stdout, stderr };
    },
    ({ status, stdout }) => (text === '' ? status === 0 : stdout.includes(text)),
    text === '' ? { timeoutMs: 0 } : WITHIN,
  );
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

async function addressesOf({ kubectl }: ClusterLab): Promise<readonly string[]> {
  const path = 'jsonpath={.status.loadBalancer.ingress[*].ip}';
  const text = await untilValue(
    'the Service has an address of each family',
    () => kubectl.run('get', 'service', 'both', '-o', path),
    (found) => found.split(' ').length === 2,
    WITHIN,
  );
  return text.split(' ').sort((a, b) => Number(a.includes(':')) - Number(b.includes(':')));
}

/** The router's kernel has exactly these ways to an address; a moment before it may have had one around, by the other rack. */
async function hasWays(
  { network }: ClusterLab,
  router: string,
  address: string,
  ways: readonly string[],
): Promise<void> {
  await untilValue(
    `${router} has the ways ${ways.join(', ')} to ${address}`,
    async () => {
      const show = ['ip', address.includes(':') ? '-6' : '-4', 'route', 'show', address];
      const { stdout } = await network.exec(router, show, { anyStatus: true });
      return [...stdout.matchAll(/via (\S+)/g)].map(([, hop = '']) => hop).sort();
    },
    (hops) => hops.join() === ways.join(),
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

/** A process that was killed is in /proc until the kernel has come to it. */
async function leavesNothing(): Promise<void> {
  await untilValue('nothing is left', traces, (kinds) => kinds.length === 0, WITHIN);
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
  const controllers = globSync('/sys/fs/cgroup/{*/,}cgroup.subtree_control').map(
    (file): [string, string] => [file, readFileSync(file, 'utf8').trim()],
  );
  return new Map([...places, ...settings, ...controllers]);
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
