/**
 * Agents as the controller sees them, without their routers: a Node, an IPNode and a Lease each, renewed and answered when the test says
 * so. They read claims as real ones do, by their label, and keep what a router would have of them.
 */

import { formatClaimName } from '../../src/model/claim-name.ts';
import type { IpNodeLevel, IpNodeSession, IpNodeStatus } from '../../src/model/ip-node.ts';
import { API_VERSION, NAMESPACE, nodeLabel, nodeLease, parseLevel } from '../../src/model/names.ts';
import { ApiError, isNotFound, type KubeApi, type KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_NODES, LEASES, NODES } from '../../src/sources/kube/resources.ts';

const SINCE = '2026-01-01T00:00:00Z';
const UP: IpNodeSession = { peer: 'tor', address: '192.0.2.1', state: 'Established' };

export class FakeAgent {
  readonly name: string;
  readonly #api: KubeApi;
  #renewals = 0;
  #status: IpNodeStatus = {
    joined: { open: true, reason: 'Joined', message: 'it has joined', since: SINCE },
    sessions: [UP],
  };
  isSilent = false;
  /** what its Lease says of its length */
  leaseSeconds = 15;
  /** addresses that it does not announce, though it has a part in them; it says so */
  readonly refusing = new Set<string>();
  /** of these it lists so many, as a real one lists 100 */
  mostRefused = Number.POSITIVE_INFINITY;
  /** which levels it lists, of the claims that carry its label; absent: all that it announces */
  lists?: (
    claims: readonly KubeObject[],
    announced: readonly IpNodeLevel[],
  ) => readonly IpNodeLevel[];

  constructor(api: KubeApi, name: string) {
    this.#api = api;
    this.name = name;
  }

  /** Node, IPNode and Lease, as of a node that has joined. */
  async join(labels: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.#api.create(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: this.name, labels },
    });
    await this.report();
    await this.renew();
  }

  async renew(): Promise<void> {
    this.#renewals += 1;
    const renewTime = new Date(Date.UTC(2026, 0, 1) + this.#renewals * 1000).toISOString();
    const spec = {
      holderIdentity: this.name,
      leaseDurationSeconds: this.leaseSeconds,
      renewTime: renewTime.replace('Z', '000Z'),
    };
    await this.#writeLease(spec);
  }

  /** as an agent does that stops on purpose */
  async release(): Promise<void> {
    this.isSilent = true;
    await this.#api.patch(LEASES, nodeLease(this.name), {
      kind: 'merge',
      body: { spec: { holderIdentity: null } },
    });
  }

  async #writeLease(spec: object): Promise<void> {
    const name = nodeLease(this.name);
    try {
      await this.#api.patch(LEASES, name, { kind: 'merge', body: { spec } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await this.#api.create(LEASES, {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name, namespace: NAMESPACE },
        spec,
      });
    }
  }

  setSessions(state: IpNodeSession['state']): Promise<void> {
    return this.report({ ...this.#status, sessions: [{ ...UP, state }] });
  }

  /** with a session to each of these routers, up or down */
  setRouters(routers: Readonly<Record<string, boolean>>): Promise<void> {
    const sessions = Object.entries(routers).map(([peer, isUp]) => {
      return { ...UP, peer, state: isUp ? ('Established' as const) : ('Active' as const) };
    });
    return this.report({ ...this.#status, sessions });
  }

  async setDraining(reason: string | undefined): Promise<void> {
    const { draining: _, ...rest } = this.#status;
    await this.report(
      reason === undefined ? rest : { ...rest, draining: { reason, since: SINCE } },
    );
  }

  /** Takes up the claims that carry its label, and says at which levels it announces them. */
  async answer(): Promise<ReadonlyMap<string, number>> {
    const labelSelector = nodeLabel(this.name);
    const list = await this.#api.list(IP_CLAIMS, { labelSelector });
    const claims = list.items.map(({ metadata: { name, labels } }) => ({
      address: name.includes('-') ? name.replaceAll('-', ':') : name,
      level: parseLevel(labels?.[labelSelector] ?? '0'),
    }));
    const levels = claims.filter(({ address }) => !this.refusing.has(address));
    const refused = claims
      .filter(({ address }) => this.refusing.has(address))
      .map(({ address }) => ({ address, gate: 'healthy', message: 'its check fails' }));
    const listed = refused.slice(0, this.mostRefused);
    await this.report({
      ...this.#status,
      levels: this.lists?.(list.items, levels) ?? levels,
      refused: listed,
      refusedMore: refused.length - listed.length,
      observedClaims: list.resourceVersion,
    });
    return new Map(levels.map(({ address, level }) => [address, level]));
  }

  async report(status: IpNodeStatus = this.#status): Promise<void> {
    this.#status = status;
    const { name } = this;
    try {
      await this.#write();
    } catch (error) {
      if (!(error instanceof ApiError) || !isNotFound(error)) throw error;
      await this.#api.create(IP_NODES, {
        apiVersion: API_VERSION,
        kind: 'IPNode',
        metadata: { name },
      });
      await this.#write();
    }
  }

  /** fields that are gone are removed: as server-side apply does it */
  async #write(): Promise<void> {
    const gone = { draining: null, levels: null, refused: null, refusedMore: null };
    const body = { status: { ...gone, observedClaims: null, ...this.#status } };
    await this.#api.patch(IP_NODES, this.name, { kind: 'merge', body }, { subresource: 'status' });
  }
}

/** 10.0.0.0 and on: names of claims */
export function claimName(index: number): string {
  return formatClaimName({ family: 'ipv4', bits: 0x0a000001 + index });
}

export function exclusivePool(name: string, more: Readonly<Record<string, unknown>> = {}): object {
  return {
    apiVersion: API_VERSION,
    kind: 'IPPool',
    metadata: { name },
    spec: {
      addresses: ['10.0.0.0/16'],
      autoAssign: true,
      priority: 0,
      notReady: 'keep',
      placement: { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 },
      drain: { on: ['stop', 'exclude-label'], waitSeconds: 10 },
      ...more,
    },
  };
}

export function claimBody(
  name: string,
  spec: Readonly<Record<string, unknown>> = {},
  labels: Readonly<Record<string, string>> = {},
): object {
  return { apiVersion: API_VERSION, kind: 'IPClaim', metadata: { name, labels }, spec };
}
