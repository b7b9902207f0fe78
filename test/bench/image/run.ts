/**
 * The image beside the bundle: how large it is, how soon an agent asks the API, how soon both pods are ready, what they hold when nothing happens. A real API server
 * with a hundred Services; the containers run by a Docker of our own, in the network of this machine. It needs root and about two minutes; it prints a table.
 *
 *   node --conditions=bgp-ts-source test/bench/image/run.ts [ROUNDS]
 */

import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Docker, withDocker } from '../../../lab/docker/docker.ts';
import { API_VERSION, NAMESPACE } from '../../../src/model/names.ts';
import { buildImage } from '../../../tools/image/build.ts';
import { type Cluster, startCluster } from '../../cluster/support/cluster.ts';
import { freePorts } from '../../cluster/support/servers.ts';
import { untilValue } from '../../support/poll.ts';
import { Running } from '../../support/process.ts';
import { memoryOf } from '../cluster/memory.ts';
import { median } from '../median.ts';
import { StartClock } from './start-clock.ts';

const ROOT = join(import.meta.dirname, '../../..');
const IMAGE = 'herald:measured';
const NODE = 'n1';
const SERVICES = 100;
const SETTLE_MS = 10_000;
const base = (file: string) => join(ROOT, 'deploy/base', file);

type Role = 'agent' | 'controller';
type How = 'bundle' | 'image';

interface Seen {
  readonly readyMs: number;
  readonly residentMb: number;
}

const say = (sentence: string) => process.stderr.write(`bench: ${sentence}\n`);

async function main(rounds: number): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-image-bench-'));
  const cluster = await startCluster({ audit: false });
  try {
    await prepare(cluster);
    await withDocker({ own: true, say }, async (docker) => {
      const { bytes } = await buildImage(docker, { image: IMAGE, say });
      print(['image', `${(bytes / 1e6).toFixed(0)} MB`]);
      await measureStarts(rounds);
      for (const role of ['controller', 'agent'] as const)
        await measureRole({ role, rounds, folder, cluster, docker });
    });
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function prepare(cluster: Cluster): Promise<void> {
  await cluster.installCrds();
  await cluster.apply(
    ...['service-accounts', 'rbac-agent', 'rbac-controller'].map((name) => base(`${name}.yaml`)),
  );
  await cluster.addNode(NODE);
  await cluster.applyObjects({
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name: 'bench' },
    spec: { addresses: ['198.18.0.0/24'] },
  });
  const namespace = await cluster.namespace();
  for (let index = 0; index < SERVICES; index += 1)
    await cluster.addService({ namespace, name: `web-${index}` });
}

async function measureStarts(rounds: number): Promise<void> {
  const clock = new StartClock();
  await clock.open();
  const programs = { sources: 'src/cli/herald', bundle: 'dist/herald' };
  const times = new Map<string, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, path] of Object.entries(programs))
      push(times, name, await clock.measureMs([join(ROOT, path)]));
    const entry = join(ROOT, 'dist/image-entry.mjs');
    copyFileSync(join(ROOT, 'src/cli/image-entry.mjs'), entry);
    try {
      const argv = [process.execPath, '--max-semi-space-size=2', entry];
      push(times, 'entry of the image', await clock.measureMs(argv));
    } finally {
      rmSync(entry);
    }
  }
  clock.close();
  for (const [name, values] of times)
    print([`agent, start to first request, ${name}`, `${median(values).toFixed(0)} ms`]);
}

interface RoleRun {
  readonly role: Role;
  readonly rounds: number;
  readonly folder: string;
  readonly cluster: Cluster;
  readonly docker: Docker;
}

async function measureRole(run: RoleRun): Promise<void> {
  const { role, rounds } = run;
  const seen: Record<How, Seen[]> = { bundle: [], image: [] };
  for (let round = 0; round < rounds; round += 1) {
    seen.bundle.push(await asBundle(run));
    seen.image.push(await asImage(run));
    say(`${role}: round ${round + 1} of ${rounds}`);
  }
  for (const how of ['bundle', 'image'] as const) {
    const ready = median(seen[how].map(({ readyMs }) => readyMs));
    const resident = median(seen[how].map(({ residentMb }) => residentMb));
    print([`${role}, ${how}, start to ready`, `${ready.toFixed(0)} ms`]);
    print([`${role}, ${how}, resident`, `${resident.toFixed(0)} MB`]);
  }
}

function kubeconfigOf({ role, cluster }: RoleRun): Promise<string> {
  return cluster.serviceAccountKubeconfig(
    NAMESPACE,
    `herald-${role}`,
    role === 'agent' ? { boundToNode: NODE } : {},
  );
}

function argsOf(role: Role, port: number, state: string): readonly string[] {
  const metrics = ['--metrics-address', `127.0.0.1:${port}`];
  if (role === 'controller') return ['controller', ...metrics];
  const checks = ['--kube-proxy-check', 'none', '--kube-proxy-metrics', 'none'];
  const places = ['--state-dir', state, '--socket', join(state, 'agent.sock')];
  return ['agent', '--source', 'kube', '--node-name', NODE, ...checks, ...places, ...metrics];
}

async function asBundle(run: RoleRun): Promise<Seen> {
  const [port = 0] = await freePorts(1);
  const state = join(run.folder, 'state');
  mkdirSync(state);
  const kubeconfig = await kubeconfigOf(run);
  const started = performance.now();
  const herald = new Running(
    [join(ROOT, 'dist/herald'), ...argsOf(run.role, port, state)],
    join(run.folder, 'log'),
    { env: { KUBECONFIG: kubeconfig } },
  );
  try {
    return await look(herald.pid, port, started);
  } finally {
    await herald.stop();
    rmSync(state, { recursive: true, force: true });
  }
}

async function asImage(run: RoleRun): Promise<Seen> {
  const { docker, role } = run;
  const [port = 0] = await freePorts(1);
  // the controller is nobody, and must be able to read it
  const kubeconfig = join(run.folder, 'kubeconfig');
  copyFileSync(await kubeconfigOf(run), kubeconfig);
  chmodSync(kubeconfig, 0o644);
  const started = performance.now();
  const user = role === 'agent' ? ['--user', '0', '--cap-add', 'NET_ADMIN'] : [];
  const name = (
    await docker.run([
      ...['run', '--detach', '--network', 'host', '--read-only', '--cap-drop', 'ALL'],
      ...['--volume', `${kubeconfig}:/kubeconfig:ro`, '--env', 'KUBECONFIG=/kubeconfig'],
      ...['--tmpfs', '/run/herald', ...user, IMAGE, ...argsOf(role, port, '/run/herald')],
    ])
  ).trim();
  try {
    const pid = await docker.run(['inspect', '--format', '{{.State.Pid}}', name]);
    return await look(Number(pid), port, started);
  } finally {
    await docker.run(['stop', '--time', '20', name]);
    await docker.run(['rm', name]);
  }
}

async function look(pid: number, port: number, started: number): Promise<Seen> {
  await untilValue(
    'it is ready',
    async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status,
    (status) => status === 200,
    { timeoutMs: 60_000, everyMs: 10 },
  );
  const readyMs = performance.now() - started;
  await delay(SETTLE_MS);
  return { readyMs, residentMb: memoryOf({ role: '', pid }).residentMb };
}

function push(times: Map<string, number[]>, name: string, value: number): void {
  times.set(name, [...(times.get(name) ?? []), value]);
}

function print(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

await main(Number(process.argv[2] ?? 3));
