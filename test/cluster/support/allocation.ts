/** The controller's allocation on a real API server: the program's own client, caches and loops, and questions to the server beside it. */

import { readFileSync } from 'node:fs';
import { nodeClock, nodeRandom } from 'bgp-ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { createKubeApi } from '../../../src/sources/kube/api-client.ts';
import { loadKubeAccess } from '../../../src/sources/kube/kube-access.ts';
import { IP_CLAIMS, IP_POOLS, inNamespace, SERVICES } from '../../../src/sources/kube/resources.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { expectExact, ingressNames, ServiceLoopsRun } from '../../support/service-loops-run.ts';
import { type Cluster, conditionOf } from './cluster.ts';

const readFile = (path: string): string => readFileSync(path, 'utf8');

export interface Allocator {
  readonly run: ServiceLoopsRun;
  stop(): void;
}

export async function startAllocator(
  kubeconfig: string,
  options: { readonly defaultClass?: boolean; readonly coolDownMs?: number } = {},
): Promise<Allocator> {
  const access = await loadKubeAccess({ kubeconfig, env: {}, readFile, clock: nodeClock });
  const api = createKubeApi(access, { clock: nodeClock, random: nodeRandom, log: SILENT_LOG });
  const run = new ServiceLoopsRun({ api, clock: nodeClock, ...options }).start();
  return {
    run,
    stop: () => {
      run.stop();
      api.close();
    },
  };
}

export class Bench {
  readonly cluster: Cluster;
  readonly namespace: string;

  constructor(cluster: Cluster, namespace: string) {
    this.cluster = cluster;
    this.namespace = namespace;
  }

  pool(name: string, addresses: readonly string[], spec: object = {}): Promise<unknown> {
    const metadata = { name };
    const body = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPPool', metadata };
    return this.cluster.applyObjects({ ...body, spec: { addresses, ...spec } });
  }

  async service(
    name: string,
    options: {
      readonly annotations?: Record<string, string>;
      readonly spec?: object;
      readonly port?: number;
    } = {},
  ): Promise<KubeObject> {
    const { annotations = {}, spec = {}, port = 80 } = options;
    const { namespace } = this;
    return await this.cluster.addService({
      namespace,
      name,
      annotations,
      ports: [{ port }],
      spec: { ...spec },
    });
  }

  patchService(name: string, body: object): Promise<KubeObject> {
    return this.cluster.api.patch(inNamespace(SERVICES, this.namespace), name, {
      kind: 'merge',
      body,
    });
  }

  patchStatus(name: string, status: object): Promise<KubeObject> {
    const patch = { kind: 'merge', body: { status } } as const;
    const services = inNamespace(SERVICES, this.namespace);
    return this.cluster.api.patch(services, name, patch, { subresource: 'status' });
  }

  deleteService(name: string): Promise<void> {
    return this.cluster.api.delete(inNamespace(SERVICES, this.namespace), name);
  }

  get(name: string): Promise<KubeObject> {
    return this.cluster.api.get(inNamespace(SERVICES, this.namespace), name);
  }

  claim(name: string): Promise<KubeObject> {
    return this.cluster.api.get(IP_CLAIMS, name);
  }

  async services(): Promise<readonly KubeObject[]> {
    return (await this.cluster.api.list(inNamespace(SERVICES, this.namespace))).items;
  }

  async claims(): Promise<readonly KubeObject[]> {
    return (await this.cluster.api.list(IP_CLAIMS)).items;
  }

  async pools(): Promise<readonly KubeObject[]> {
    return (await this.cluster.api.list(IP_POOLS)).items;
  }

  /** the Service has exactly these addresses in its status */
  has(name: string, ...addresses: readonly string[]): Promise<unknown> {
    const wanted = addresses.join();
    return until(
      `${name} has ${wanted || 'nothing'}`,
      async () => {
        const found = ingressNames(await this.get(name)).join();
        return found === wanted ? done(true) : notYet(found);
      },
      PATIENCE,
    );
  }

  /** what each Service has in its status from now on, for ten minutes */
  async watchIngress(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
    const seen = new Map<string, Set<string>>();
    const services = inNamespace(SERVICES, this.namespace);
    const { resourceVersion } = await this.cluster.api.list(services);
    void this.cluster.api.watch(services, {
      resourceVersion,
      signal: AbortSignal.timeout(600_000),
      timeoutSeconds: 600,
      onEvent: (event) => {
        if (event.kind === 'bookmark') return;
        const { name } = event.object.metadata;
        const known = seen.get(name) ?? new Set();
        seen.set(name, known.add(ingressNames(event.object).join()));
      },
    });
    return seen;
  }

  /** the condition of ours on the Service has this reason; its message */
  async says(name: string, reason: string): Promise<string> {
    return await until(
      `${name} says ${reason}`,
      async () => {
        const condition = JSON.parse(
          JSON.stringify(conditionOf(await this.get(name), 'herald.dev/Allocated') ?? {}),
        );
        return condition.reason === reason ? done(String(condition.message)) : notYet(condition);
      },
      PATIENCE,
    );
  }

  claimed(...names: readonly string[]): Promise<unknown> {
    const wanted = names.toSorted().join();
    return until(
      `there are claims of ${wanted || 'nothing'}`,
      async () => {
        const found = (await this.claims())
          .map(({ metadata }) => metadata.name)
          .toSorted()
          .join();
        return found === wanted ? done(true) : notYet(found);
      },
      PATIENCE,
    );
  }

  /** everything is told, claimed and nothing left over: `served` Services have an address */
  exact(served: number, timeoutMs = PATIENCE.timeoutMs): Promise<unknown> {
    return until(
      `${served} Services have exactly one address each`,
      async () => {
        const services = await this.services();
        const claims = await this.claims();
        expectExact(services, claims);
        const found = services.filter((service) => ingressNames(service).length === 1).length;
        return found === served ? done(true) : notYet({ found, claims: claims.length });
      },
      { timeoutMs, everyMs: 100 },
    );
  }
}

const PATIENCE = { timeoutMs: 30_000 };
