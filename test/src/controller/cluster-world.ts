/** Loops of the controller over an API in memory: caches that have synced, a clock that a test moves, events in a list. */

import { setImmediate as turn } from 'node:timers/promises';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import type { RecordedEvent } from '../../../src/controller/events.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const READY = [{ type: 'Ready', status: 'True' }];
const DEFAULT_SPEC = {
  autoAssign: true,
  avoidFirstLast: false,
  priority: 0,
  placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
  drain: { on: [], waitSeconds: 0 },
  notReady: 'keep',
};
const PEER_SPEC = {
  address: '192.0.2.1',
  asn: 64500,
  port: 179,
  families: ['ipv4', 'ipv6'],
  timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
  maxRoutes: 500,
};

export class ClusterWorld {
  readonly api = new MemoryKubeApi();
  readonly clock = new ManualClock();
  readonly random = new SeededRandom(5);
  readonly log = SILENT_LOG;
  readonly told: string[] = [];
  readonly events = {
    record: ({ object, type, reason, message }: RecordedEvent) =>
      void this.told.push(`${object.kind}/${object.name} ${type} ${reason}: ${message}`),
  };
  readonly caches = new ControllerCaches(this);

  async sync(): Promise<void> {
    this.caches.start();
    await this.settle();
  }

  async settle(): Promise<void> {
    for (let turns = 0; turns < 20; turns += 1) await turn();
  }

  /** in small steps, each with time for what it has begun */
  async advance(ms: number, stepMs = 500): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(Math.min(stepMs, left));
      await this.settle();
    }
  }

  node(name: string, sessions: Readonly<Record<string, string>>, lastError?: string): void {
    this.api.put(NODES, { metadata: { name }, status: { conditions: READY } });
    this.report(name, sessions, lastError);
  }

  report(name: string, sessions: Readonly<Record<string, string>>, lastError?: string): void {
    const joined = {
      open: true,
      reason: 'Joined',
      message: 'joined',
      since: '2026-01-01T00:00:00Z',
    };
    const list = Object.entries(sessions).map(([peer, state]) => ({
      peer,
      address: '192.0.2.1',
      state,
      ...(lastError !== undefined && state !== 'Established' && { lastError }),
    }));
    const uid = `uid-of-${name}`;
    this.api.put(IP_NODES, { metadata: { name, uid }, status: { joined, sessions: list } });
  }

  refuse(name: string, address: string, message: string): void {
    const object = this.api.object(IP_NODES, name);
    const refused = [{ address, gate: 'healthy', message }];
    const status = { ...Object(object?.['status']), refused };
    this.api.put(IP_NODES, { ...object, metadata: { name }, status });
  }

  /** it refuses so many addresses beside those that it lists */
  refuseMore(name: string, refusedMore: number): void {
    const object = this.api.object(IP_NODES, name);
    const status = { ...Object(object?.['status']), refusedMore };
    this.api.put(IP_NODES, { ...object, metadata: { name }, status });
  }

  peer(name: string, spec: object = {}): void {
    this.api.put(BGP_PEERS, { metadata: { name, generation: 1 }, spec: { ...PEER_SPEC, ...spec } });
  }

  pool(name = 'pool'): void {
    const spec = { ...DEFAULT_SPEC, addresses: ['198.51.100.0/24'] };
    this.api.put(IP_POOLS, { metadata: { name, generation: 1 }, spec });
  }

  service(name: string, address: string): void {
    const metadata = { namespace: 'shop', name, uid: `uid-of-${name}` };
    const spec = { type: 'LoadBalancer', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
    this.api.put(inNamespace(SERVICES, 'shop'), { metadata, spec });
    const services = [{ namespace: 'shop', name, uid: `uid-of-${name}` }];
    this.api.put(IP_CLAIMS, { metadata: { name: address }, spec: { pool: 'pool', services } });
  }

  /** condition of a Service: `status reason: message` */
  advertised(name: string): string | undefined {
    const status = Object(this.api.object(SERVICES, `shop/${name}`)?.['status']);
    const found = [...(status.conditions ?? [])].find(
      ({ type }) => type === 'herald.dev/Advertised',
    );
    return found && `${found.status} ${found.reason}: ${found.message}`;
  }

  writes(): string[] {
    return this.api.calls
      .splice(0)
      .flatMap(({ verb, resource, name }) =>
        ['get', 'list', 'watch'].includes(verb) ? [] : [`${verb} ${resource.plural} ${name}`],
      );
  }
}
