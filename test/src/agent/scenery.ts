/**
 * Documents and Views for the tests of the agent, with everything open unless a test closes it: one peer, one pool, one claim, a
 * node that has joined. A test names only what it is about.
 */

import { type Address, addressKey, parseAddress } from 'bgp-ts';
import { type DesiredState, desired } from '../../../src/agent/desired.ts';
import type { Gate, GateName } from '../../../src/agent/gate.ts';
import { parseSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import type { View } from '../../../src/agent/view.ts';
import { parseAddressRange } from '../../../src/model/address-range.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import { CHECK_DEFAULTS, type CheckSpec } from '../../../src/model/check-spec.ts';
import { formatClaimName } from '../../../src/model/claim-name.ts';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { type Advertisement, DEFAULT_PLACEMENT, type IpPool } from '../../../src/model/ip-pool.ts';

export const NODE = 'n1';
export const VIP = '198.51.100.7';
export const WAIT_MS = 10_000;

export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
}

export function keyOf(text: string): string {
  return addressKey(address(text));
}

export function peer(over: Partial<BgpPeer> = {}): BgpPeer {
  return {
    name: 'tor',
    labels: {},
    target: { kind: 'address', address: address('192.0.2.1') },
    port: 179,
    asn: 64500,
    families: ['ipv4', 'ipv6'],
    timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 5 },
    ttlSecurity: false,
    nextHop: {},
    listen: false,
    maxRoutes: 500,
    overrides: [],
    ...over,
  };
}

export function pool(
  over: Partial<IpPool> & { readonly addresses?: readonly string[] } = {},
): IpPool {
  const { addresses = ['198.51.100.0/24', '2001:db8:7::/64'], ...rest } = over;
  return {
    name: 'vips',
    labels: {},
    ranges: addresses.map((text) => {
      const range = parseAddressRange(text);
      if (typeof range === 'string') throw new Error(range);
      return range;
    }),
    avoidFirstLast: false,
    autoAssign: true,
    priority: 0,
    shareAcross: [],
    allowExternalIps: false,
    ignoreExcludeLabel: false,
    placement: DEFAULT_PLACEMENT,
    advertisements: [],
    drain: { on: ['stop'], waitSeconds: WAIT_MS / 1000 },
    notReady: 'keep',
    ...rest,
  };
}

export function advertisement(over: Partial<Advertisement> = {}): Advertisement {
  return { communities: [], largeCommunities: [], discardRoute: false, ...over };
}

export function claim(over: Partial<IpClaim> & { readonly at?: string } = {}): IpClaim {
  const { at = VIP, ...rest } = over;
  return {
    name: formatClaimName(address(at)),
    address: address(at),
    labels: {},
    services: [],
    checks: [],
    ...rest,
  };
}

export const EXCLUSIVE = { mode: 'exclusive' } as const;

export function check(path = '/run/ok', over: Partial<CheckSpec> = {}): CheckSpec {
  return { ...CHECK_DEFAULTS, target: { kind: 'file', path }, ...over };
}

export function sourced<T extends { readonly name: string }>(
  object: T,
  createdMs = 0,
  origin = `${object.name}.yaml:1`,
): Sourced<T> {
  return { object, origin, createdMs };
}

export function documents(
  over: {
    readonly peers?: readonly BgpPeer[];
    readonly pools?: readonly IpPool[];
    readonly claims?: readonly (IpClaim | Sourced<IpClaim>)[];
    readonly faults?: Documents['faults'];
  } = {},
): Documents {
  const { peers = [peer()], pools = [pool()], claims = [claim()], faults = [] } = over;
  return {
    peers: peers.map((each) => sourced(each)),
    pools: pools.map((each) => sourced(each)),
    claims: claims.map((each) => ('object' in each ? each : sourced(each))),
    faults,
  };
}

export function view(over: Partial<View> = {}): View {
  return {
    nowMs: 1000,
    node: { name: NODE, labels: { 'kubernetes.io/hostname': NODE }, routerId: 1, asn: 64512 },
    documents: documents(),
    joined: { isOpen: true, sentence: 'the join check passes' },
    health: new Map(),
    bindings: new Map(),
    ownAddresses: new Map(),
    passwords: new Map(),
    claimDrains: new Map(),
    departures: new Map(),
    ...over,
  };
}

/** `peer address` of every route that is wanted, draining ones with a tilde */
export function announced(state: DesiredState): readonly string[] {
  return state.claims
    .flatMap(({ subject, peers }) =>
      peers.flatMap(({ peer: name, route }) =>
        route === undefined
          ? []
          : [`${name} ${route.isDraining ? '~' : ''}${subject.claim.object.name}`],
      ),
    )
    .toSorted();
}

/** the gate of this name of the only claim; `allowed` is the first peer's */
export function gateOf(from: View, name: GateName): Gate {
  const [decision] = desired(from).claims;
  if (decision === undefined) throw new Error('no claim');
  const { joined, assigned, healthy, bound, pooled, notDraining } = decision.gates;
  const allowed = decision.peers[0]?.allowed ?? pooled;
  const gates = [joined, assigned, healthy, bound, allowed, notDraining];
  const found = gates.find((gate) => gate.name === name);
  if (found === undefined) throw new Error(`no gate ${name}`);
  return found;
}

/** of a file that can be used; undefined: it cannot */
export function savedViewIn(text: string): SavedView | undefined {
  const parsed = parseSavedView(text);
  return parsed.ok ? parsed.saved : undefined;
}
