/** A cluster as `herald explain` reads it: three nodes, two routers, a pool, a Service with one address. Objects as the API gives them. */

import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  NODES,
  SERVICES,
} from '../../../src/sources/kube/resources.ts';
import { MemoryKubeApi, type MemoryKubeApiOptions } from '../../support/memory-kube-api.ts';

export const SINCE = '2026-01-01T00:00:00Z';
export const NOW_MS = Date.parse('2026-01-01T00:01:00Z');
export const STYLE = { color: false, width: 80, nowMs: NOW_MS };
export const ADDRESS = '198.51.100.10';

const own = (kind: string, name: string, rest: object = {}) => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  ...rest,
});

export const condition = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: SINCE,
});

/** as the API server fills it in */
export const poolSpec = (spec: object = {}) => ({
  addresses: ['198.51.100.0/24'],
  avoidFirstLast: false,
  autoAssign: true,
  priority: 0,
  allowExternalIPs: false,
  ignoreExcludeLabel: false,
  placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 },
  drain: { on: ['stop', 'exclude-label'], waitSeconds: 10 },
  notReady: 'keep',
  ...spec,
});

const peerSpec = (address: string) => ({
  address,
  port: 179,
  asn: 64500,
  families: ['ipv4', 'ipv6'],
  timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
  ttlSecurity: false,
  listen: false,
  maxRoutes: 500,
});

export const session = (peer: string, state = 'Established', lastError?: string) => ({
  peer,
  address: peer === 'tor-a' ? '192.0.2.1' : '192.0.2.2',
  state,
  since: SINCE,
  ...(lastError === undefined ? {} : { lastError }),
});

export const JOINED = { open: true, reason: 'Joined', message: 'it has been Ready', since: SINCE };

export class Scenery {
  readonly api: MemoryKubeApi;
  readonly asked: string[] = [];

  constructor(options: MemoryKubeApiOptions = {}) {
    this.api = new MemoryKubeApi({
      ...options,
      fault: (call) => {
        this.asked.push(`${call.verb} ${call.resource.plural}`);
        return options.fault?.(call);
      },
    });
  }

  async node(name: string, status: object = {}, labels: Record<string, string> = {}) {
    await this.api.create(NODES, { metadata: { name, labels }, spec: {} });
    const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
    await this.#status(NODES, name, ready);
    await this.api.create(IP_NODES, own('IPNode', name));
    await this.#status(IP_NODES, name, {
      joined: JOINED,
      sessions: [session('tor-a'), session('tor-b')],
      ...status,
    });
  }

  async pool(spec: object = {}, status: object = { total: 256, used: 1, free: 255 }) {
    await this.api.create(IP_POOLS, own('IPPool', 'public', { spec: poolSpec(spec) }));
    await this.#status(IP_POOLS, 'public', status);
  }

  async peers() {
    await this.api.create(BGP_PEERS, own('BGPPeer', 'tor-a', { spec: peerSpec('192.0.2.1') }));
    await this.api.create(BGP_PEERS, own('BGPPeer', 'tor-b', { spec: peerSpec('192.0.2.2') }));
  }

  async claim(spec: object = {}, metadata: object = { labels: { [ANYCAST_LABEL]: '' } }) {
    const services = [{ namespace: 'shop', name: 'web' }];
    const claim = own('IPClaim', ADDRESS, { spec: { pool: 'public', services, ...spec } });
    await this.api.create(IP_CLAIMS, { ...claim, metadata: { name: ADDRESS, ...metadata } });
    const placed = condition('Placed', 'True', 'Anycast', 'every node that can serve it');
    await this.#status(IP_CLAIMS, ADDRESS, { phase: 'Placed', conditions: [placed] });
  }

  async service(conditions: readonly object[], spec: object = {}, ingress = [{ ip: ADDRESS }]) {
    const services = inNamespace(SERVICES, 'shop');
    const defaults = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' };
    await this.api.create(services, {
      metadata: { name: 'web', namespace: 'shop' },
      spec: { ...defaults, ...spec },
    });
    await this.#status(services, 'web', { conditions, loadBalancer: { ingress } });
  }

  async #status(resource: Parameters<MemoryKubeApi['patch']>[0], name: string, status: object) {
    const patch = { kind: 'merge', body: { status } } as const;
    await this.api.patch(resource, name, patch, { subresource: 'status' });
  }
}

export const ALLOCATED = condition('herald.dev/Allocated', 'True', 'Allocated', ADDRESS);
