/** The loops of Services over an API in memory: what is put in, and what comes of it. */

import type { KubeObject } from '../../src/sources/kube/api.ts';
import {
  ENDPOINT_SLICES,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  NAMESPACES,
  NODES,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { ManualClock } from './manual-clock.ts';
import { MemoryKubeApi } from './memory-kube-api.ts';
import { expectExact, ingressNames, ServiceLoopsRun } from './service-loops-run.ts';

export class Bed {
  readonly api = new MemoryKubeApi();
  readonly clock = new ManualClock();
  readonly runs: ServiceLoopsRun[] = [];

  constructor() {
    this.api.put(NAMESPACES, { metadata: { name: 'a' } });
  }

  pool(name: string, addresses: readonly string[], spec: object = {}): void {
    const placement = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    const drain = { on: [], waitSeconds: 10 };
    const whole = { addresses, autoAssign: true, priority: 0, placement, drain, notReady: 'keep' };
    this.api.put(IP_POOLS, { metadata: { name }, spec: { ...whole, ...spec } });
  }

  service(
    name: string,
    { annotations = {}, spec = {} }: { annotations?: object; spec?: object } = {},
  ): void {
    const base = {
      type: 'LoadBalancer',
      loadBalancerClass: 'herald.dev/herald',
      ipFamilies: ['IPv4'],
      ports: [{ port: 80, protocol: 'TCP' }],
    };
    const before = this.api.object(SERVICES, `a/${name}`);
    this.api.put(SERVICES, {
      ...before,
      metadata: { ...before?.metadata, namespace: 'a', name, annotations },
      spec: { ...base, ...spec },
    });
  }

  endpoints(name: string, count: number, addressType?: 'IPv4' | 'IPv6'): void {
    const endpoints = Array.from({ length: count }, () => ({ conditions: { ready: true } }));
    const labels = { 'kubernetes.io/service-name': name };
    const metadata = { namespace: 'a', name, labels };
    this.api.put(ENDPOINT_SLICES, { metadata, addressType, endpoints });
  }

  node(name: string, observedClaims?: string): void {
    this.api.put(NODES, { metadata: { name } });
    const joined = { open: true, reason: 'x', message: '', since: '' };
    const status = { joined, ...(observedClaims !== undefined && { observedClaims }) };
    this.api.put(IP_NODES, { metadata: { name }, status });
  }

  run(maxStaleMs?: number): ServiceLoopsRun {
    const run = new ServiceLoopsRun({
      api: this.api,
      clock: this.clock,
      ...(maxStaleMs !== undefined && { maxStaleMs }),
    }).start();
    this.runs.push(run);
    return run;
  }

  stop(): void {
    for (const run of this.runs) run.stop();
  }

  /** lets everything come to rest, timers included */
  async settle(rounds = 40): Promise<void> {
    for (let round = 0; round < rounds; round += 1) {
      for (let turn = 0; turn < 12; turn += 1) await new Promise(setImmediate);
      this.clock.advance(500);
    }
  }

  /** the watch of one resource brings nothing until the answer is called */
  freeze(resource: typeof SERVICES): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.api.fault = (call) =>
      call.verb === 'watch' && call.resource.plural === resource.plural
        ? { kind: 'hold', until: promise }
        : undefined;
    this.api.endWatches({ kind: 'closed' }, resource);
    return () => {
      this.api.fault = undefined;
      resolve();
    };
  }

  writes(verb: string, plural: string): number {
    return this.api.calls.filter((call) => call.verb === verb && call.resource.plural === plural)
      .length;
  }

  address(name: string): string | undefined {
    const service = this.api.object(SERVICES, `a/${name}`);
    return service && ingressNames(service)[0];
  }

  claim(name: string): KubeObject | undefined {
    return this.api.object(IP_CLAIMS, name);
  }

  spec(name: string): Record<string, unknown> {
    return JSON.parse(JSON.stringify(this.claim(name)?.['spec'] ?? {}));
  }

  exact(): void {
    expectExact(this.api.all(SERVICES), this.api.all(IP_CLAIMS));
  }
}
