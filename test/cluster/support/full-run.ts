/**
 * Herald as deploy/base runs it: controllers and agents as processes of their own, each with the token that its pod would have, and BIRD as
 * the router of all nodes. What a path is worth is read from BIRD's table: the length of its AS path is the level of preference.
 */

import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { NAMESPACE } from '../../../src/model/names.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { type PollOptions, untilValue } from '../../support/poll.ts';
import { threadStates } from '../../support/process-group.ts';
import { type AgentRun, startAgent } from './agent-run.ts';
import { type BirdRouter, startBird } from './bird.ts';
import { type Cluster, type ClusterOptions, startCluster } from './cluster.ts';
import { type HeraldRun, startHerald } from './herald-run.ts';
import { loopbackPeer, nodeSource } from './loopback.ts';

export const BASE = join(import.meta.dirname, '../../../deploy/base');
/** other programs may have the machine too */
export const PATIENT: PollOptions = { timeoutMs: 60_000 };

export interface Path {
  readonly node: string;
  /** of the AS path: 1 is the holder, each step down adds 3 */
  readonly length: number;
  /** what BIRD compares beside it: LOCAL_PREF before, MED after it */
  readonly localPref: number;
  readonly med: number;
  readonly isBest: boolean;
  readonly since: string;
}

/** `Table`: paths by address */
export interface Sample<Table = ReadonlyMap<string, readonly Path[]>> {
  readonly atMs: number;
  readonly paths: Table;
}

export class FullRun {
  readonly cluster: Cluster;
  readonly bird: BirdRouter;
  readonly nodes: readonly string[];
  readonly agents = new Map<string, HeraldRun>();
  readonly controllers = new Map<string, HeraldRun>();

  constructor(cluster: Cluster, bird: BirdRouter, nodes: readonly string[]) {
    this.cluster = cluster;
    this.bird = bird;
    this.nodes = nodes;
  }

  /** deploy/base, the Nodes and a peer for all of them. */
  static async start(nodes: readonly string[], options: ClusterOptions = {}): Promise<FullRun> {
    const cluster = await startCluster(options);
    await cluster.installCrds();
    await cluster.applyKustomization(BASE);
    const bird = await startBird({ folder: cluster.folder });
    const run = new FullRun(cluster, bird, nodes);
    await run.furnish();
    return run;
  }

  async furnish(): Promise<void> {
    for (const node of this.nodes) await this.cluster.addNode(node);
    await this.cluster.applyObjects(loopbackPeer('bird', this.bird, this.nodes));
  }

  /** `program`: of another release */
  async agent(node: string, flags: readonly string[] = [], program?: string): Promise<AgentRun> {
    const other = program === undefined ? {} : { program };
    const run = await startAgent({ cluster: this.cluster, node, flags, ...other });
    this.agents.set(node, run);
    return run;
  }

  async controller(
    name: string,
    flags: readonly string[] = [],
    program?: string,
  ): Promise<HeraldRun> {
    const { cluster } = this;
    const other = program === undefined ? {} : { program };
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const args = ['controller', `--identity=${name}`, '--metrics-address=off', ...flags];
    const run = startHerald(args, { name, folder: cluster.folder, kubeconfig, ...other });
    this.controllers.set(name, run);
    return run;
  }

  /** Paths by address. */
  async paths(bird = this.bird): Promise<Map<string, Path[]>> {
    const found = new Map<string, Path[]>();
    for (const { prefix, from, asPath, localPref = 100, med = 0, ...more } of await bird.routes()) {
      const { since, isBest } = more;
      const [address = ''] = prefix.split('/');
      const node = this.nodes.find((_, index) => nodeSource(index) === from) ?? from;
      const length = asPath.trim().split(/\s+/).length;
      const path = { node, length, localPref, med, isBest, since };
      found.set(address, [...(found.get(address) ?? []), path]);
    }
    return found;
  }

  /** `a b`: who announces it at its full preference */
  async holders(address: string): Promise<string> {
    const paths = (await this.paths()).get(address) ?? [];
    return paths
      .filter(({ length }) => length === 1)
      .map(({ node }) => node)
      .sort()
      .join(' ');
  }

  /** Until exactly these nodes announce it; none: until nobody does. */
  async heldBy(address: string, nodes: string, options: PollOptions = PATIENT): Promise<void> {
    await untilValue(
      `${address} is announced by: ${nodes}`,
      () => this.holders(address),
      (found) => found === nodes,
      options,
    );
  }

  /** Until exactly these addresses have a path. */
  async routed(addresses: readonly string[], options: PollOptions = PATIENT): Promise<void> {
    const wanted = addresses.toSorted().join(' ');
    await untilValue(
      `routes to ${wanted}`,
      async () => [...(await this.paths()).keys()].toSorted().join(' '),
      (found) => found === wanted,
      options,
    );
  }

  sample(bird = this.bird): Sampler {
    return new Sampler(() => this.paths(bird));
  }

  async endProcesses(): Promise<void> {
    const all = [...this.agents.values(), ...this.controllers.values()];
    this.agents.clear();
    this.controllers.clear();
    for (const each of all) each.thaw();
    await Promise.all(all.map((each) => each.kill()));
  }

  /** What they said, where a test has failed, and the state of their threads: T is frozen, none has ended. */
  logs(): string {
    const all = [...this.agents.values(), ...this.controllers.values()];
    const states = ({ pid }: HeraldRun) => [...new Set(threadStates(pid))].join('') || 'none';
    return all
      .map((each) => `--- ${each.name} (threads: ${states(each)})\n${each.log().slice(-3000)}`)
      .join('\n');
  }

  async stop(): Promise<void> {
    await this.endProcesses();
    await this.bird.kill();
    await this.cluster.stop();
  }
}

/** Looks at the router's table every 15 ms until it is stopped. */
export class Sampler<Table = Sample['paths']> {
  readonly samples: Sample<Table>[] = [];
  readonly #look: () => Promise<Table>;
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(look: () => Promise<Table>) {
    this.#look = look;
    this.#done = this.#run();
  }

  async stop(): Promise<readonly Sample<Table>[]> {
    this.#isStopped = true;
    await this.#done;
    return this.samples;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.samples.push({ atMs: nowMs(), paths: await this.#look() });
      await delay(15);
    }
  }
}

/** Addresses that at some moment had two paths of the same preference; exclusive ones never may. */
export function equalAt(samples: readonly Sample[]): string[] {
  const ranks = (paths: readonly Path[]) =>
    paths.map(({ localPref, length, med }) => `${localPref} ${length} ${med}`);
  return found(samples, (paths) => new Set(ranks(paths)).size < paths.length);
}

/** Those of `addresses` that at some moment nobody announced. */
export function absentAt(samples: readonly Sample[], addresses: readonly string[]): string[] {
  const isAbsent = ({ paths }: Sample, address: string) => (paths.get(address) ?? []).length === 0;
  return addresses.filter((address) => samples.some((sample) => isAbsent(sample, address)));
}

function found(samples: readonly Sample[], isWrong: (paths: readonly Path[]) => boolean): string[] {
  const wrong = new Set<string>();
  for (const { paths } of samples) {
    for (const [address, each] of paths) {
      if (isWrong(each)) wrong.add(`${address}: ${JSON.stringify(each)}`);
    }
  }
  return [...wrong];
}
