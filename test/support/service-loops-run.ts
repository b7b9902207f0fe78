/** A controller that only gives out addresses, on whatever API and clock a test has; and what must be true when it has come to rest. */

import { type Clock, nodeRandom } from 'bgp-ts';
import { expect } from 'chai';
import { ControllerCaches } from '../../src/controller/caches.ts';
import { type ControllerCounters, NO_COUNTERS } from '../../src/controller/counters.ts';
import type { RecordedEvent } from '../../src/controller/events.ts';
import { ServiceLoops } from '../../src/controller/service-loops.ts';
import { type Log, SILENT_LOG } from '../../src/log/log.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { RELEASED_BY_ANNOTATION } from '../../src/model/names.ts';
import type { KubeApi, KubeObject } from '../../src/sources/kube/api.ts';
import { convertService } from '../../src/sources/kube/convert-service.ts';

export interface RunOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly defaultClass?: boolean;
  readonly maxStaleMs?: number;
  readonly coolDownMs?: number;
  readonly counters?: ControllerCounters;
  readonly log?: Log;
}

export class ServiceLoopsRun {
  readonly events: RecordedEvent[] = [];
  readonly caches: ControllerCaches;
  readonly loops: ServiceLoops;

  constructor({
    api,
    clock,
    defaultClass = false,
    maxStaleMs = 86_400_000,
    coolDownMs = 0,
    counters = NO_COUNTERS,
    log = SILENT_LOG,
  }: RunOptions) {
    const base = { api, clock, random: nodeRandom, log };
    this.caches = new ControllerCaches(base);
    this.loops = new ServiceLoops({
      ...base,
      caches: this.caches,
      events: { record: (event) => void this.events.push(event) },
      counters,
      settings: { defaultClass, maxStaleMs, coolDownMs },
    });
  }

  start(): this {
    this.caches.start();
    this.caches.whenSynced(() => this.loops.start());
    return this;
  }

  stop(): void {
    this.loops.stop();
    this.caches.stop();
  }
}

interface ClaimView {
  readonly name: string;
  readonly services: readonly {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
  }[];
  readonly isReleased: boolean;
}

export function claimView({ metadata, spec }: KubeObject): ClaimView {
  const { services = [] } = JSON.parse(JSON.stringify(spec ?? {}));
  const isReleased = metadata.annotations?.[RELEASED_BY_ANNOTATION] !== undefined;
  return { name: metadata.name, services, isReleased };
}

/** names of the claims that a Service has in its status */
export function ingressNames(service: KubeObject): readonly string[] {
  return (convertService(service)?.ingress ?? []).map(formatClaimName);
}

/** Every address in a status is claimed for exactly that Service, every claim is in a status, nothing is left over, nothing given twice. */
export function expectExact(services: readonly KubeObject[], claims: readonly KubeObject[]): void {
  const told = new Map<string, string>();
  for (const service of services) {
    for (const name of ingressNames(service)) {
      expect(told.get(name), `${name} is given twice`).to.equal(undefined);
      told.set(name, service.metadata.uid);
    }
  }
  for (const { name, services: entries, isReleased } of claims.map(claimView)) {
    expect(isReleased, `${name} is still released`).to.equal(false);
    expect(
      entries.map(({ uid }) => uid),
      `claim ${name}`,
    ).to.deep.equal([told.get(name)]);
    told.delete(name);
  }
  expect([...told.keys()], 'told but not claimed').to.deep.equal([]);
}
