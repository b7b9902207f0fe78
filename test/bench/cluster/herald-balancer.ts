/** Herald as deploy/base runs it: a controller and an agent, each with its own service account, its rights and the admission policy. */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { API_VERSION, NAMESPACE } from '../../../src/model/names.ts';
import type { Cluster } from '../../cluster/support/cluster.ts';
import { BASE } from '../../cluster/support/full-run.ts';
import { type HeraldRun, startHerald } from '../../cluster/support/herald-run.ts';
import { loopbackPeer } from '../../cluster/support/loopback.ts';
import type { OldRelease } from '../../cluster/support/old-release.ts';
import type { Balancer, BalancerPlace, BalancerProcess } from './balancer.ts';

export interface HeraldSettings {
  /** of kube-proxy's health; default none, as MetalLB has none */
  readonly proxyCheck?: string;
  readonly proxyMetrics?: string;
  /** the agent's way to the API, where somebody counts in between */
  readonly agentKubeconfig?: string;
  readonly controllerMetrics?: number;
  /** without an agent: others play it */
  readonly controllerOnly?: boolean;
  /** of another release */
  readonly program?: string;
}

const MAX_ROUTES = 20_000;
const FILES = [
  'service-accounts.yaml',
  'rbac-agent.yaml',
  'rbac-controller.yaml',
  'admission-policy.yaml',
];

/** Rights and documents; once per cluster. */
export async function installHerald(
  cluster: Cluster,
  place: BalancerPlace,
  release?: OldRelease,
): Promise<void> {
  const base = release?.base ?? BASE;
  await cluster.apply(...FILES.map((file) => join(base, file)));
  const timers = { holdSeconds: 90, keepaliveSeconds: 30, connectRetrySeconds: 1 };
  const spec = { timers, maxRoutes: MAX_ROUTES };
  await cluster.applyObjects(
    loopbackPeer('bird', place.router, [place.node], spec),
    loopbackPeer('receiver', place.receiver, [place.node], spec),
    {
      apiVersion: API_VERSION,
      kind: 'IPPool',
      metadata: { name: 'bench' },
      spec: { addresses: [place.pool], drain: { on: ['stop'], waitSeconds: 0 } },
    },
  );
}

/** Whose processes are started; of this tree where no other release is named. */
export const programOf = (release: OldRelease | undefined): { readonly program?: string } =>
  release === undefined ? {} : { program: release.program };

/** `server`: another way to the API server than the straight one */
export function controllerKubeconfig(cluster: Cluster, server = cluster.url): Promise<string> {
  return cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller', { server });
}

export function agentKubeconfig(cluster: Cluster, node: string): Promise<string> {
  return cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-agent', { boundToNode: node });
}

export class HeraldBalancer implements Balancer {
  readonly name = 'Herald';
  readonly #cluster: Cluster;
  readonly #place: BalancerPlace;
  readonly #settings: HeraldSettings;
  #starts = 0;
  controller: HeraldRun | undefined;
  agent: HeraldRun | undefined;

  constructor(cluster: Cluster, place: BalancerPlace, settings: HeraldSettings = {}) {
    this.#cluster = cluster;
    this.#place = place;
    this.#settings = settings;
  }

  async start(): Promise<void> {
    const { folder, node } = this.#place;
    const { controllerMetrics: port, proxyCheck = 'none' } = this.#settings;
    const { proxyMetrics = 'none', program } = this.#settings;
    const other = program === undefined ? {} : { program };
    const [controller, agent] = [
      await controllerKubeconfig(this.#cluster),
      this.#settings.agentKubeconfig ?? (await agentKubeconfig(this.#cluster, node)),
    ];
    const metrics = ['--metrics-address', port === undefined ? 'off' : `127.0.0.1:${port}`];
    this.controller = startHerald(['controller', ...metrics], {
      name: 'controller',
      folder,
      kubeconfig: controller,
      ...other,
    });
    if (this.#settings.controllerOnly === true) return;
    // a new machine each time: no saved View helps
    this.#starts += 1;
    const state = join(folder, `state-${this.#starts}`);
    mkdirSync(state, { recursive: true });
    const proxy = ['--kube-proxy-check', proxyCheck, '--kube-proxy-metrics', proxyMetrics];
    const own = ['--node-name', node, ...proxy];
    const places = ['--state-dir', state, '--socket', join(state, 'agent.sock')];
    this.agent = startHerald(['agent', '--source', 'kube', ...own, ...places], {
      name: 'agent',
      folder,
      kubeconfig: agent,
      ...other,
    });
  }

  async stop(): Promise<void> {
    await Promise.all([this.controller?.stop(), this.agent?.stop()]);
    this.controller = undefined;
    this.agent = undefined;
  }

  async pids(): Promise<readonly BalancerProcess[]> {
    const runs = { controller: this.controller, agent: this.agent };
    return Object.entries(runs).flatMap(([role, each]) =>
      each === undefined ? [] : [{ role, pid: each.pid }],
    );
  }
}
