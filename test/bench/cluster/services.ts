/** Services by the hundred: their EndpointSlices first, so that each is served the moment it is there; then the Services, by several clients at once. */

import { ENDPOINT_SLICES, inNamespace, SERVICES } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { serviceBody, sliceBody } from '../../cluster/support/objects.ts';
import { pathOf, type TestApi } from '../../cluster/support/test-api.ts';
import { done, notYet, until } from '../../support/poll.ts';
import { NODE, type Stage } from './stage.ts';

export interface Creation {
  readonly firstMs: number;
  readonly lastMs: number;
  readonly perSecond: number;
}

const SETUP_CLIENTS = 16;

export function names(prefix: string, howMany: number): string[] {
  return Array.from({ length: howMany }, (_, index) => `${prefix}-${index}`);
}

/** one ready endpoint on our node each */
export async function createSlices(stage: Stage, services: readonly string[]): Promise<void> {
  const { namespace } = stage;
  const resource = inNamespace(ENDPOINT_SLICES, namespace);
  await byClients(stage, SETUP_CLIENTS, services, (api, name) =>
    api.create(resource, sliceBody({ namespace, name }, [{ node: NODE }])),
  );
}

export async function createServices(
  stage: Stage,
  services: readonly string[],
  options: { readonly clients: number; readonly annotations?: Readonly<Record<string, string>> },
): Promise<Creation> {
  const { namespace } = stage;
  const resource = inNamespace(SERVICES, namespace);
  const { clients, annotations = {} } = options;
  const firstMs = nowMs();
  await byClients(stage, clients, services, (api, name) =>
    api.create(resource, serviceBody({ namespace, name, annotations })),
  );
  const lastMs = nowMs();
  return { firstMs, lastMs, perSecond: (services.length * 1000) / (lastMs - firstMs) };
}

/** Takes all Services of the stage away. */
export async function deleteServices({ cluster, namespace }: Stage): Promise<void> {
  const resource = inNamespace(SERVICES, namespace);
  const options = { timeoutMs: 300_000 };
  // a busy server may give up on the way: then again, for the rest
  await until(
    'no Services are left',
    async () => {
      await cluster.api.call({ method: 'DELETE', path: pathOf(resource), options });
      const { items } = await cluster.api.list(resource, { limit: 1 });
      return items.length === 0 ? done(true) : notYet('some');
    },
    { timeoutMs: 600_000, everyMs: 500 },
  );
}

/** Each client has connections of its own and asks one thing at a time. */
export async function byClients(
  { cluster }: Stage,
  howMany: number,
  services: readonly string[],
  work: (api: TestApi, name: string) => Promise<unknown>,
): Promise<void> {
  const rest = services[Symbol.iterator]();
  const clients = Array.from({ length: howMany }, () => cluster.apiAs(cluster.kubeconfig, 'bench'));
  await Promise.all(
    clients.map(async (api) => {
      for (const name of rest) await work(api, name);
      api.close();
    }),
  );
}
