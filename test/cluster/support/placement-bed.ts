/** One controller's placement and agents that only renew and answer, on an API server that is emptied after each test. */

import type { LeaseTimes } from '../../../src/model/lease-times.ts';
import { IP_CLAIMS, IP_NODES, IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../../support/fake-agents.ts';
import { untilValue } from '../../support/poll.ts';
import { type Cluster, conditionOf, startCluster } from './cluster.ts';
import { levelsOf, PlacementWorld, QUICK } from './placement-world.ts';

export const PATIENT = { timeoutMs: 60_000 };

type Recording = Awaited<ReturnType<PlacementWorld['record']>>;

export class PlacementBed {
  readonly cluster: Cluster;
  #world: PlacementWorld | undefined;

  private constructor(cluster: Cluster) {
    this.cluster = cluster;
  }

  static async start(): Promise<PlacementBed> {
    const cluster = await startCluster();
    await cluster.installCrds();
    return new PlacementBed(cluster);
  }

  async endTest(): Promise<void> {
    this.#world?.stop();
    await this.cluster.reset();
  }

  async begin(
    nodes: readonly string[] = ['a', 'b', 'c'],
    pool: object = exclusivePool('p'),
    times: LeaseTimes = QUICK,
  ): Promise<PlacementWorld> {
    const world = new PlacementWorld(this.cluster, times);
    this.#world = world;
    await world.lead();
    await this.cluster.api.create(IP_POOLS, pool);
    await world.join(...nodes);
    return world;
  }

  async claim(count: number, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, index) =>
        this.cluster.api.create(IP_CLAIMS, claimBody(claimName(index), {}, labels)),
      ),
    );
  }

  /** writes of claims that were taken */
  movesSince(mark: ReturnType<Cluster['auditMark']>) {
    return this.cluster
      .audit(mark)
      .filter(
        ({ verb, resource, subresource, code }) =>
          verb === 'patch' && resource === 'ipclaims' && subresource === undefined && code === 200,
      );
  }

  async aliveOf(name: string): Promise<string> {
    const ipNode = await this.cluster.api.get(IP_NODES, name);
    return JSON.stringify(conditionOf(ipNode, 'AgentAlive') ?? {});
  }

  /** A node that has not been seen to renew twice gets nothing yet, and nothing evens that out. */
  async allLive(...names: readonly string[]): Promise<void> {
    await untilValue(
      `${names.join(' ')} live`,
      () => Promise.all(names.map((name) => this.aliveOf(name).catch(() => ''))),
      (found) => found.every((each) => each.includes('"True"')),
      PATIENT,
    );
  }

  /** until then the condition says that it lives, as before */
  async foundDead(name: string): Promise<void> {
    await untilValue(
      `${name} is found dead`,
      () => this.aliveOf(name),
      (found) => found.includes('"False"'),
      PATIENT,
    );
  }

  /** a watch may lag behind what a list shows */
  async hasSeenTheEnd(world: PlacementWorld, { states }: Recording): Promise<void> {
    const ends = (await world.claims()).map(
      (each) => [each.metadata.name, levelsOf(each)] as const,
    );
    await untilValue(
      'the recording has come to the end, too',
      () => ends.filter(([name, end]) => states.get(name)?.at(-1) !== end),
      (missing) => missing.length === 0,
    );
  }
}
