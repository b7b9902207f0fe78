/** An agent of a cluster beside a router, on loopback: what the tests of the agent share. */

import { mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentStatus } from '../../src/agent/status.ts';
import { ControlClient } from '../../src/control/client.ts';
import { API_VERSION, nodeLabel } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS } from '../../src/sources/kube/resources.ts';
import { done, notYet, type PollOptions, until } from '../support/poll.ts';

import type { BirdRoute, BirdRouter } from './support/bird.ts';
import type { Cluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';

export const NODE = 'n1';
export const VIP = '198.51.100.7';
export const BOOT_ID = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();

/** other programs may have the machine too: an agent alone may take 20 s to start */
export const PATIENT: PollOptions = { timeoutMs: 90_000 };

export interface AgentRun {
  readonly run: HeraldRun;
  readonly folder: string;
  status(): Promise<AgentStatus>;
}

export interface AgentOptions {
  readonly kubeconfig?: string;
  readonly node?: string;
  /** of an agent before: the same state and socket */
  readonly folder?: string;
  readonly args?: readonly string[];
  readonly source?: string;
}

export function startAgent(cluster: Cluster, options: AgentOptions = {}): AgentRun {
  const folder = options.folder ?? mkdtempSync(join(cluster.folder, 'agent-'));
  const socket = join(folder, 'agent.sock');
  const node = options.node ?? NODE;
  const args = [
    'agent',
    ...['--source', options.source ?? 'kube', '--node-name', node],
    ...['--state-dir', folder, '--socket', socket, '--metrics-address', 'off'],
    ...(options.args ?? ['--kube-proxy-check', 'none']),
  ];
  const kubeconfig = options.kubeconfig ?? cluster.kubeconfig;
  const run = startHerald(args, { name: `agent-${node}`, folder: cluster.folder, kubeconfig });
  return { run, folder, status: () => statusOf(socket) };
}

async function statusOf(socket: string): Promise<AgentStatus> {
  const answer = await new ControlClient(socket).status();
  if (!answer.ok) throw new Error(answer.sentence);
  return answer.value;
}

export function pool(name: string, addresses: readonly string[], spec: object = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name },
    spec: { addresses, ...spec },
  };
}

export function claim(
  name: string,
  spec: object,
  labels: Readonly<Record<string, string>> = { 'herald.dev/anycast': '' },
): object {
  return { apiVersion: API_VERSION, kind: 'IPClaim', metadata: { name, labels }, spec };
}

export const service = (name: string, healthCheckNodePort?: number) => ({
  namespace: 'default',
  name,
  ...(healthCheckNodePort === undefined ? {} : { healthCheckNodePort }),
});

/** the label of a node on an exclusive claim; null takes it off */
export function setLevel(
  cluster: Cluster,
  name: string,
  level: string | null,
  node = NODE,
): Promise<KubeObject> {
  const body = { metadata: { labels: { [nodeLabel(node)]: level } } };
  return cluster.api.patch(IP_CLAIMS, name, { kind: 'merge', body });
}

/** The peer that stands for the router, from the first loopback address. */
export const peer = (bird: BirdRouter, spec: object = {}, name = 'tor'): object =>
  loopbackPeer(name, bird, [NODE, 'n2'], spec);

export const has = (bird: BirdRouter, prefix: string): Promise<boolean> =>
  ask(bird, () => bird.has(prefix));

/** A control socket answers one question after the other: whoever watches beside a test waits for its turn. */
const turns = new WeakMap<BirdRouter, Promise<unknown>>();

export function ask<T>(bird: BirdRouter, question: () => Promise<T>): Promise<T> {
  const asked = (turns.get(bird) ?? Promise.resolve()).then(question, question);
  turns.set(bird, asked);
  return asked;
}

export async function untilRoute(
  bird: BirdRouter,
  prefix: string,
  accept: (route: BirdRoute) => boolean = () => true,
  options: PollOptions = PATIENT,
): Promise<BirdRoute> {
  return await until<BirdRoute>(
    `a route to ${prefix}`,
    async () => {
      const [route] = await ask(bird, () => bird.routes(prefix));
      return route !== undefined && accept(route) ? done(route) : notYet(JSON.stringify(route));
    },
    options,
  );
}

export async function untilNoRoute(bird: BirdRouter, prefix: string): Promise<void> {
  await until(
    `no route to ${prefix}`,
    async () => ((await has(bird, prefix)) ? notYet('there') : done(true)),
    PATIENT,
  );
}

/** The gate of a claim that is not open, in words. */
export async function untilGate(
  agent: AgentRun,
  address: string,
  accept: (sentence: string) => boolean,
): Promise<string> {
  return await until(
    `a gate of ${address}`,
    async () => {
      const status = await agent.status().catch(() => undefined);
      const claims = status?.claims.filter((each) => each.address === address) ?? [];
      const sentences = claims.flatMap(({ gates }) => gates.map(({ sentence }) => sentence));
      const found = sentences.find(accept);
      return found === undefined ? notYet(sentences.join(' | ')) : done(found);
    },
    PATIENT,
  );
}

/** Looks at a route again and again until it is told to end; how often it was not there. */
export function watchRoute(bird: BirdRouter, prefix: string) {
  let looks = 0;
  let absent = 0;
  let isOver = false;
  const looking = (async () => {
    while (!isOver) {
      looks += 1;
      if (!(await has(bird, prefix))) absent += 1;
      await delay(2);
    }
  })();
  return {
    end: async () => {
      isOver = true;
      await looking;
      return { looks, absent };
    },
  };
}
