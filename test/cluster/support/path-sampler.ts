/** Samples the paths of one prefix in a router's own table, and judges the samples: never two paths of equal preference, never none. */

import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { BirdRouter } from './bird.ts';
import { nodeSource } from './loopback.ts';

/** What the router had at one moment: node, length of its AS path, MED. */
export interface PathSample {
  readonly atMs: number;
  readonly paths: readonly {
    readonly node: string;
    readonly length: number;
    readonly med: number;
  }[];
}

export interface SampledPrefix {
  readonly bird: BirdRouter;
  readonly prefix: string;
  /** in the order of their addresses (loopback.ts) */
  readonly nodes: readonly string[];
}

/** Reads the table every 20 ms until it is stopped. */
export class PathSampler {
  readonly samples: PathSample[] = [];
  readonly #subject: SampledPrefix;
  #isStopped = false;
  readonly #done: Promise<void>;

  constructor(subject: SampledPrefix) {
    this.#subject = subject;
    this.#done = this.#run();
  }

  async stop(): Promise<readonly PathSample[]> {
    this.#isStopped = true;
    await this.#done;
    return this.samples;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.samples.push({ atMs: nowMs(), paths: await pathsOf(this.#subject) });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
}

export async function pathsOf({
  bird,
  prefix,
  nodes,
}: SampledPrefix): Promise<PathSample['paths']> {
  const routes = await bird.routes(prefix);
  return routes.map(({ from, asPath, med = 0 }) => ({
    node: nodes.find((_, index) => nodeSource(index) === from) ?? from,
    length: asPath.trim().split(/\s+/).length,
    med,
  }));
}

/** two paths of the same length and MED; undefined: never */
export function equalPaths(samples: readonly PathSample[]): PathSample | undefined {
  return samples.find(
    ({ paths }) => new Set(paths.map(({ length, med }) => `${length} ${med}`)).size < paths.length,
  );
}

/** no path at all; undefined: never */
export function noPath(samples: readonly PathSample[]): PathSample | undefined {
  return samples.find(({ paths }) => paths.length === 0);
}
