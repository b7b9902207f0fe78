/** Services with endpoints, a pool that allows external IPs, two agents and a controller as deploy/base runs them, and BIRD as their router. */

import {
  EVENTS,
  IP_CLAIMS,
  IP_POOLS,
  inNamespace,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { untilValue } from '../../support/poll.ts';
import { poolBody } from './agent-documents.ts';
import { at, type Cluster, conditionOf } from './cluster.ts';
import { FullRun, PATIENT } from './full-run.ts';

export const PLAIN = { type: 'ClusterIP', loadBalancerClass: undefined };
export const ip = (last: number) => `198.51.100.${last}`;

export class ServicesRun {
  readonly world: FullRun;
  readonly cluster: Cluster;
  namespace = '';

  private constructor(world: FullRun) {
    this.world = world;
    this.cluster = world.cluster;
  }

  static async start(): Promise<ServicesRun> {
    const world = await FullRun.start(['a', 'b']);
    const bed = new ServicesRun(world);
    await Promise.all([...world.nodes.map((node) => world.agent(node)), bed.lead('first')]);
    return bed;
  }

  async beginTest(): Promise<void> {
    this.namespace = await this.cluster.namespace();
    await this.setPool('198.51.100.0/24');
  }

  async endTest(hasFailed: boolean): Promise<void> {
    if (hasFailed) process.stderr.write(`${this.world.logs()}\n`);
    const { items } = await this.cluster.api.list(this.#services);
    for (const { metadata } of items) await this.remove(metadata.name);
    if (this.world.controllers.size === 0) await this.lead('next');
    await this.world.routed([]);
    await this.claimed([]);
  }

  get #services() {
    return inNamespace(SERVICES, this.namespace);
  }

  async lead(name: string): Promise<void> {
    await this.world.controller(name, ['--leader-elect=false']);
  }

  async unlead(): Promise<void> {
    await Promise.all([...this.world.controllers.values()].map((each) => each.stop()));
    this.world.controllers.clear();
  }

  /** Pools and Services come to the controller by different ways: a Service that is added at once may find the pool as it was before. */
  async setPool(addresses: string, allowExternalIPs = true): Promise<void> {
    await this.cluster.applyObjects(poolBody('any', [addresses], { allowExternalIPs }));
    await untilValue(
      'the controller has read the pool',
      async () => {
        const pool = await this.cluster.api.get(IP_POOLS, 'any');
        const read = at(conditionOf(pool, 'Ready'), 'observedGeneration');
        return { read, written: at(pool, 'metadata', 'generation') };
      },
      ({ read, written }) => read === written,
      PATIENT,
    );
  }

  /** with an endpoint, so that it is announced */
  async add(name: string, options: object = {}): Promise<void> {
    const { namespace } = this;
    await this.cluster.setEndpoints({ namespace, name }, 1);
    await this.cluster.addService({ namespace, name, ...options });
  }

  external(name: string, ...last: readonly number[]): Promise<void> {
    return this.add(name, { spec: { ...PLAIN, externalIPs: last.map(ip) } });
  }

  remove(name: string) {
    return this.cluster.api.delete(this.#services, name);
  }

  patch(name: string, body: object) {
    return this.cluster.api.patch(this.#services, name, { kind: 'merge', body });
  }

  async externalIps(name: string): Promise<unknown> {
    return at(await this.cluster.api.get(this.#services, name), 'spec', 'externalIPs');
  }

  routed(...last: readonly number[]): Promise<void> {
    return this.world.routed(last.map(ip));
  }

  async claimed(names: readonly string[]): Promise<void> {
    await untilValue(
      `claims: ${names.join(' ')}`,
      async () =>
        (await this.cluster.api.list(IP_CLAIMS)).items.map(({ metadata }) => metadata.name),
      (found) => found.toSorted().join() === names.toSorted().join(),
      PATIENT,
    );
  }

  async eventsOf(name: string): Promise<string[]> {
    return (await this.cluster.api.list(inNamespace(EVENTS, this.namespace))).items
      .filter((event) => at(event, 'regarding', 'name') === name)
      .map((event) => `${at(event, 'type')} ${at(event, 'reason')}: ${at(event, 'note')}`);
  }
}
