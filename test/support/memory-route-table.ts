/**
 * A kernel's route table in memory, for what a real one does only now and then: it takes a gateway only if it is reachable, replaces
 * in place, and loses routes when a test says so. The real one is judged in test/standalone/router.test.ts.
 */

import { formatAddress, formatPrefix, type Prefix } from 'bgp-ts';
import type { Outcome } from '../../src/linux/address-table.ts';
import type { KernelRoute, RouteTable } from '../../src/linux/route-table.ts';

export class MemoryRouteTable implements RouteTable {
  readonly #routes = new Map<string, KernelRoute>();
  /** gateways that the kernel would take; undefined = all */
  reachable: Set<string> | undefined;
  /** prefixes where somebody else has a route; as in a real one, next hops are judged before that is seen */
  readonly foreign = new Set<string>();
  refusesRemoval = false;
  isClosed = false;
  /** how often a route was to be written or removed */
  attempts = 0;
  /** and with how many next hops in all */
  attemptedHops = 0;
  /** every change that was asked for and made, as text */
  readonly changes: string[] = [];

  list(): readonly KernelRoute[] {
    return [...this.#routes.values()];
  }

  replace(route: KernelRoute): Outcome {
    this.attempts += 1;
    this.attemptedHops += route.nextHops.length;
    const gateways = texts(route);
    const lost = gateways.find((each) => this.reachable?.has(each) === false);
    const prefix = formatPrefix(route.prefix);
    if (lost !== undefined) {
      return { kind: 'failed', code: 'ENETUNREACH', sentence: `cannot install ${prefix}: no way` };
    }
    if (this.foreign.has(prefix)) {
      return { kind: 'foreign', sentence: `cannot install ${prefix}: not ours` };
    }
    this.#routes.set(prefix, route);
    this.changes.push(`${prefix} via ${gateways.join(' ')}`);
    return { kind: 'done', changed: true };
  }

  remove(prefix: Prefix): Outcome {
    this.attempts += 1;
    const text = formatPrefix(prefix);
    if (this.refusesRemoval) return { kind: 'failed', sentence: `cannot remove ${text}: busy` };
    const changed = this.#routes.delete(text);
    if (changed) this.changes.push(`${text} removed`);
    return { kind: 'done', changed };
  }

  clear(): Outcome {
    for (const { prefix } of this.list()) {
      const outcome = this.remove(prefix);
      if (outcome.kind !== 'done') return outcome;
    }
    return { kind: 'done', changed: true };
  }

  close(): void {
    this.isClosed = true;
  }

  /** the kernel, or a person, took it away */
  lose(prefix: string): void {
    this.#routes.delete(prefix);
  }

  get table(): Record<string, string[]> {
    return Object.fromEntries([...this.#routes].map(([prefix, route]) => [prefix, texts(route)]));
  }
}

function texts({ nextHops }: KernelRoute): string[] {
  return nextHops.map(({ gateway }) => (gateway === undefined ? 'direct' : formatAddress(gateway)));
}
