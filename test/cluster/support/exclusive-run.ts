/**
 * Exclusive addresses of Services with three agents and three controllers, each a process of its own: all of them run at the start of each test, and
 * nothing is announced at its end.
 */

import { expect } from 'chai';
import { AGENT_ALIVE } from '../../../src/controller/liveness-condition.ts';
import { CONTROLLER_LEASE } from '../../../src/model/names.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  inNamespace,
  LEASES,
  NODES,
  PODS,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { untilValue } from '../../support/poll.ts';
import { at, type Cluster, conditionOf } from './cluster.ts';
import { FullRun } from './full-run.ts';
import type { HeraldRun } from './herald-run.ts';

export const ALL = ['a', 'b', 'c'] as const;
export const PATIENTLY = { timeoutMs: 120_000 };
/** shorter than the defaults, yet so long that a leader that waits for a processor does not lose its Lease */
const QUICK = [
  '--leader-elect-lease-duration=9',
  '--leader-elect-renew-deadline=6',
  '--leader-elect-retry-period=1',
];
const DRAIN = { drain: { on: ['stop', 'exclude-label'], waitSeconds: 5 } };
/** Services that are added until each node holds one, at most */
const MOST_MORE = 60;

export type Runs = readonly (HeraldRun | undefined)[];
export type Loads = Readonly<Record<string, number>>;

export const exclusive = (spec: object = {}) => ({
  placement: { mode: 'exclusive', ...spec },
  ...DRAIN,
});

export async function powerOff(runs: Runs): Promise<void> {
  await Promise.all(runs.map((each) => each?.kill()));
}

export async function freeze(runs: Runs): Promise<void> {
  for (const each of runs) each?.freeze();
}

/** so that the next test starts them again */
export async function end(runs: Map<string, HeraldRun>, names: readonly string[]): Promise<void> {
  for (const name of names) {
    runs.get(name)?.thaw();
    await runs.get(name)?.kill();
    runs.delete(name);
  }
}

export class ExclusiveRun {
  readonly world: FullRun;
  readonly cluster: Cluster;
  namespace = '';

  private constructor(world: FullRun) {
    this.world = world;
    this.cluster = world.cluster;
  }

  static async start(): Promise<ExclusiveRun> {
    return new ExclusiveRun(await FullRun.start(ALL));
  }

  async beginTest(): Promise<void> {
    const { world } = this;
    this.namespace = await this.cluster.namespace();
    await Promise.all([
      ...ALL.filter((node) => !world.agents.has(node)).map((node) => world.agent(node)),
      ...ALL.filter((name) => !world.controllers.has(name)).map((name) =>
        world.controller(name, QUICK),
      ),
    ]);
  }

  async endTest(hasFailed: boolean): Promise<void> {
    if (hasFailed) process.stderr.write(`${this.world.logs()}\n`);
    for (const { metadata } of await this.#services()) await this.remove(metadata.name);
    await this.world.routed([], PATIENTLY);
  }

  remove(name: string) {
    return this.cluster.api.delete(inNamespace(SERVICES, this.namespace), name);
  }

  async #services() {
    return (await this.cluster.api.list(inNamespace(SERVICES, this.namespace))).items;
  }

  async serve(count: number, prefix = 's'): Promise<void> {
    const { namespace } = this;
    const names = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    await Promise.all(
      names.map(async (name) => {
        await this.cluster.setEndpoints({ namespace, name }, 1);
        await this.cluster.addService({ namespace, name });
      }),
    );
  }

  /**
   * So many Services, and more until every node holds one; the addresses of all. A node whose agent has just started gets nothing until its renewals were
   * seen, and what stands is not moved for it; a new claim goes to the emptiest node.
   */
  async serveOnAll(count: number): Promise<string[]> {
    await this.serve(count);
    for (let more = 0; more < MOST_MORE; more += 1) {
      let empty: readonly string[] = [];
      const addresses = await this.settled((loads) => {
        empty = ALL.filter((each) => loads[each] === undefined);
        return true;
      });
      if (empty.length === 0) return addresses;
      await this.serve(1, `more${more}-`);
    }
    throw new Error(`a node got none of ${count + MOST_MORE} Services`);
  }

  async countAlive(): Promise<number> {
    const { items } = await this.cluster.api.list(IP_NODES);
    return items.filter((each) => at(conditionOf(each, AGENT_ALIVE), 'status') === 'True').length;
  }

  /** Nodes that are believed in first would be given more, and what stands is not moved for a better balance; nor may what the last test left still weigh. */
  async allAtRest(): Promise<void> {
    await untilValue(
      'every node lives, and no claim is left',
      async () => {
        const claims = (await this.cluster.api.list(IP_CLAIMS)).items.length;
        return { alive: await this.countAlive(), claims };
      },
      ({ alive, claims }) => alive === ALL.length && claims === 0,
      PATIENTLY,
    );
  }

  /** addresses of all Services, once each has one and one node holds each at full preference; by holder */
  async settled(accept: (loads: Loads) => boolean): Promise<string[]> {
    let addresses: string[] = [];
    await untilValue(
      'every address has one holder',
      async () => {
        addresses = (await this.#services()).map(ingress);
        const paths = await this.world.paths();
        const loads: Record<string, number> = {};
        for (const address of addresses) {
          const found = paths.get(address) ?? [];
          const one = found.length === 1 && found[0]?.length === 1 ? found[0].node : 'unsettled';
          loads[one] = (loads[one] ?? 0) + 1;
        }
        return loads;
      },
      (loads) => loads['unsettled'] === undefined && accept(loads),
      PATIENTLY,
    );
    return addresses;
  }

  async leader(): Promise<string> {
    return await untilValue(
      'a controller that lives leads',
      async () => {
        const lease = await this.cluster.api.get(LEASES, CONTROLLER_LEASE);
        return String(at(lease, 'spec', 'holderIdentity') ?? '').split('_')[0] ?? '';
      },
      (name) => this.world.controllers.get(name)?.isRunning === true,
      PATIENTLY,
    );
  }

  /** as it is where a machine lost its power: its kubelet tells nobody */
  async kubernetesHasNotNoticed(): Promise<void> {
    for (const node of (await this.cluster.api.list(NODES)).items) {
      expect(conditionOf(node, 'Ready'), node.metadata.name).to.include({ status: 'True' });
    }
    const pods = (await this.cluster.api.list(PODS)).items.map(({ metadata }) => metadata);
    expect(pods.filter(({ deletionTimestamp }) => deletionTimestamp !== undefined)).to.deep.equal(
      [],
    );
  }
}

const ingress = (service: unknown) =>
  String(at(service, 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');
