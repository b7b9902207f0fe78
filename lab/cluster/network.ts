/** The management network of a cluster, made and removed with iproute2; who has which address is in plan.ts. */

import { spawnSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { run } from '../../tools/kubernetes/run.ts';
import {
  type ClusterPlan,
  MANAGEMENT_INTERFACE,
  MANAGEMENT_LENGTH,
  nodeNetworkLines,
  serverNetworkLines,
} from './plan.ts';

const GONE_WITHIN_MS = 10_000;
const COMMAND_MS = 30_000;
const POLL_MS = 50;

/** A node passes packets on between pods and both networks. */
const SETTINGS = [
  'net.ipv4.ip_forward=1',
  'net.ipv6.conf.all.disable_ipv6=0',
  'net.ipv6.conf.default.disable_ipv6=0',
  'net.ipv6.conf.all.forwarding=1',
  'net.ipv6.conf.default.accept_dad=0',
  'net.ipv4.conf.all.rp_filter=0',
  'net.ipv4.conf.default.rp_filter=0',
];

export async function hostRoutes(): Promise<string> {
  return await ip('route', 'show', 'table', 'all');
}

export async function makeNetwork(plan: ClusterPlan, folder: string): Promise<void> {
  const { netns, hostInterface, nodes } = plan;
  await ip('netns', 'add', netns);
  await configure(netns, ['sysctl', '-q', '-w', ...SETTINGS]);
  await batch(join(folder, 'bridge.ip'), netns, [
    `link add ${MANAGEMENT_INTERFACE} type bridge`,
    ...nodes.map(
      (node) =>
        `link add ${node.name} type veth peer name ${MANAGEMENT_INTERFACE} netns ${node.netns}`,
    ),
    `link add host type veth peer name ${hostInterface} netns /proc/${process.pid}/ns/net`,
    ...['host', ...nodes.map(({ name }) => name)].map(
      (each) => `link set ${each} master ${MANAGEMENT_INTERFACE} up`,
    ),
    ...serverNetworkLines(plan),
  ]);
  await ip('address', 'add', `${plan.host}/${MANAGEMENT_LENGTH.ipv4}`, 'dev', hostInterface);
  await ip('link', 'set', hostInterface, 'up');
  for (const node of nodes) {
    await configure(node.netns, ['sysctl', '-q', '-w', ...SETTINGS]);
    await batch(join(folder, `${node.name}.ip`), node.netns, nodeNetworkLines(plan, node));
  }
}

/** By name, so that it works after a start that was broken off as well. */
export async function removeNetwork(netns: string, hostInterface: string): Promise<void> {
  if (existsSync(`/sys/class/net/${hostInterface}`))
    spawnSync('ip', ['link', 'delete', hostInterface], { stdio: 'ignore', timeout: COMMAND_MS });
  if (existsSync(`/run/netns/${netns}`)) await ip('netns', 'delete', netns);
  const started = performance.now();
  while (existsSync(`/sys/class/net/${hostInterface}`)) {
    if (performance.now() - started > GONE_WITHIN_MS)
      throw new Error(`the interface ${hostInterface} cannot be removed.`);
    await delay(POLL_MS);
  }
}

const ip = (...args: readonly string[]): Promise<string> =>
  run('ip', args, { timeoutMs: COMMAND_MS });

const configure = (netns: string, argv: readonly string[]): Promise<string> =>
  run('nsenter', [`--net=/run/netns/${netns}`, ...argv], { timeoutMs: COMMAND_MS });

async function batch(file: string, netns: string, lines: readonly string[]): Promise<void> {
  writeFileSync(file, `${lines.join('\n')}\n`);
  await ip('-netns', netns, '-batch', file);
}
