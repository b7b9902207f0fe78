/** Where exclusive claims are and when they got there: a watch of all claims beside the controller's. */

import { isNodeLabel } from '../../../src/model/names.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS } from '../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { TestApi } from '../../cluster/support/test-api.ts';
import { field, text } from '../../interop/routers/json.ts';

interface Placed {
  readonly node: string;
  /** it has the label of that node alone */
  readonly isSettled: boolean;
  readonly atMs: number;
}

export class ClaimFeed {
  readonly #claims = new Map<string, Placed>();
  readonly #ending = new AbortController();

  static async start(api: TestApi): Promise<ClaimFeed> {
    const feed = new ClaimFeed();
    const list = await api.list(IP_CLAIMS);
    for (const claim of list.items) feed.#take(claim, false);
    void api.watch(IP_CLAIMS, {
      resourceVersion: list.resourceVersion,
      signal: feed.#ending.signal,
      timeoutSeconds: 3600,
      onEvent: (event) => {
        if (event.kind !== 'bookmark') feed.#take(event.object, event.kind === 'deleted');
      },
    });
    return feed;
  }

  /** names of the claims that these nodes hold */
  heldBy(nodes: readonly string[]): string[] {
    const wanted = new Set(nodes);
    return [...this.#claims].flatMap(([name, { node }]) => (wanted.has(node) ? [name] : []));
  }

  /** those that have left these nodes and are settled on others, and when the first and the last of them came there */
  moved(claims: readonly string[], from: readonly string[]) {
    const left = new Set(from);
    const times = claims.flatMap((name) => {
      const claim = this.#claims.get(name);
      return claim === undefined || left.has(claim.node) || !claim.isSettled ? [] : [claim.atMs];
    });
    const isAll = times.length === claims.length;
    return { count: times.length, isAll, firstMs: Math.min(...times), lastMs: Math.max(...times) };
  }

  stop(): void {
    this.#ending.abort();
  }

  #take(claim: KubeObject, isGone: boolean): void {
    const { name, labels = {} } = claim.metadata;
    if (isGone) {
      this.#claims.delete(name);
      return;
    }
    const node = text(field(claim, 'spec', 'node'));
    const count = Object.keys(labels).filter(isNodeLabel).length;
    this.#claims.set(name, { node, isSettled: count === 1, atMs: nowMs() });
  }
}
