/**
 * What a user of the library says about a neighbour, and how that becomes the session machine's configuration.
 * Pure; times in seconds. Defaults are Herald's: hold 9, keepalive 3, connect retry 5.
 */

import type { AdjRibInPolicy } from '../bgp/adj-rib-in.ts';
import { AddPathMode, Afi } from '../bgp/codes.ts';
import { FAMILIES, familyId } from '../bgp/family.ts';
import type { Capability } from '../bgp/message.ts';
import type { SessionConfig } from '../bgp/session.ts';
import type { TtlRule } from '../io/transport.ts';
import type { Address, Family, Ipv4Address, Ipv6Address } from '../net/address.ts';

export interface PeerSettings {
  /** unique in a speaker; the name in every event */
  readonly name: string;
  readonly address: Address;
  /** default 179 */
  readonly port?: number;
  /** interface name, for a link-local address */
  readonly zone?: string;
  readonly localAsn: number;
  /** `external` is any but ours, `internal` ours, `any` both */
  readonly peerAsn: number | 'external' | 'internal' | 'any';
  /** BGP identifier as an unsigned 32-bit number */
  readonly routerId: number;
  /** default both */
  readonly families?: readonly Family[];
  readonly timers?: PeerTimers;
  /** refuse a neighbour that wants no hold time, unless ours is 0 too */
  readonly requiresHoldTime?: boolean;
  /** TCP-MD5 key (RFC 2385); never appears in an event */
  readonly password?: string;
  /** GTSM (RFC 5082) or a fixed number of hops */
  readonly ttl?: TtlRule;
  readonly sourceAddress?: Address;
  readonly sourceInterface?: string;
  readonly nextHop?: NextHopSettings;
  /** never dial; implies accepting */
  readonly passive?: boolean;
  /** accept what this neighbour dials (the speaker must listen) */
  readonly listen?: boolean;
  /** restarting side of RFC 4724; absent = capability not sent */
  readonly gracefulRestart?: { readonly restartSeconds: number };
  /** families for which several paths may be sent (RFC 7911) */
  readonly addPathSend?: readonly Family[];
  /** offer IPv4 routes with IPv6 next hops (RFC 8950), and announce them so on a session over IPv6 */
  readonly extendedNextHop?: boolean;
  /** offer messages of 65,535 octets (RFC 8654); default true */
  readonly extendedMessage?: boolean;
  /** our BGP role (RFC 9234) */
  readonly role?: number;
  readonly strictRole?: boolean;
  /** what becomes of the neighbour's routes; default: rejected and counted */
  readonly inbound?: AdjRibInPolicy;
}

export interface PeerTimers {
  readonly holdSeconds?: number;
  readonly keepaliveSeconds?: number;
  readonly connectRetrySeconds?: number;
  readonly delayOpenSeconds?: number;
  /** RFC 9687; default the greater of 8 minutes and twice the hold time, 0 = off */
  readonly sendHoldSeconds?: number;
  readonly idleHoldSeconds?: number;
  readonly idleHoldMaximumSeconds?: number;
}

/** Per family; what is absent is the session's own address, or its interface's address of the other family. */
export interface NextHopSettings {
  /** an IPv6 address only together with `extendedNextHop` */
  readonly ipv4?: Ipv4Address | Ipv6Address;
  readonly ipv6?: Ipv6Address;
  /** send the interface's link-local address beside the global one (RFC 2545 §3) */
  readonly ipv6LinkLocal?: boolean;
}

/** What says that our process has come back from a planned restart. */
export interface RestartState {
  /** R bit: we have just restarted and the neighbour may keep our old routes until End-of-RIB */
  readonly restarting: boolean;
}

const DEFAULT_PORT = 179;
const DEFAULT_HOLD_SECONDS = 9;
const DEFAULT_CONNECT_RETRY_SECONDS = 5;
const MINIMUM_SEND_HOLD_SECONDS = 480;
const CLOSE_SECONDS = 3;

export function peerPort(settings: AnySettings): number {
  return settings.port ?? DEFAULT_PORT;
}

function peerFamilies(settings: AnySettings): readonly Family[] {
  return settings.families ?? FAMILIES;
}

export function sessionConfig(settings: PeerSettings, restart: RestartState): SessionConfig {
  const timers = settings.timers ?? {};
  const hold = timers.holdSeconds ?? DEFAULT_HOLD_SECONDS;
  return {
    localAsn: settings.localAsn,
    routerId: settings.routerId,
    peerAsn: settings.peerAsn,
    holdTimeSeconds: hold,
    ...(settings.requiresHoldTime === true && { requiresHoldTime: true }),
    ...(timers.keepaliveSeconds === undefined ? {} : { keepaliveSeconds: timers.keepaliveSeconds }),
    connectRetrySeconds: timers.connectRetrySeconds ?? DEFAULT_CONNECT_RETRY_SECONDS,
    delayOpenSeconds: timers.delayOpenSeconds ?? 0,
    passive: settings.passive === true,
    acceptIncoming: settings.listen === true || settings.passive === true,
    capabilities: capabilities(settings, restart),
    ...(settings.strictRole === undefined ? {} : { strictRole: settings.strictRole }),
    idleHold: {
      initialSeconds: timers.idleHoldSeconds ?? 1,
      maximumSeconds: timers.idleHoldMaximumSeconds ?? 60,
    },
    sendHoldSeconds: timers.sendHoldSeconds ?? Math.max(MINIMUM_SEND_HOLD_SECONDS, 2 * hold),
    closeSeconds: CLOSE_SECONDS,
  };
}

function capabilities(settings: PeerSettings, restart: RestartState): readonly Capability[] {
  const families = peerFamilies(settings);
  const list: Capability[] = families.map((family) => ({
    kind: 'multiprotocol',
    ...familyId(family),
  }));
  list.push({ kind: 'route-refresh' }, { kind: 'enhanced-route-refresh' });
  if (settings.extendedMessage !== false) list.push({ kind: 'extended-message' });
  if (settings.extendedNextHop === true) {
    list.push({
      kind: 'extended-next-hop',
      entries: [{ ...familyId('ipv4'), nextHopAfi: Afi.ipv6 }],
    });
  }
  if (settings.role !== undefined) list.push({ kind: 'role', role: settings.role });
  list.push({ kind: 'four-octet-asn', asn: settings.localAsn });
  if (settings.addPathSend !== undefined && settings.addPathSend.length > 0) {
    const entries = settings.addPathSend.map((family) => ({
      ...familyId(family),
      mode: AddPathMode.send,
    }));
    list.push({ kind: 'add-path', entries });
  }
  if (settings.gracefulRestart !== undefined) {
    list.push({
      kind: 'graceful-restart',
      restarting: restart.restarting,
      // RFC 8538: with the N bit a silent death would cost hold time plus restart time
      notification: false,
      restartTimeSeconds: settings.gracefulRestart.restartSeconds,
      // host routes live in the kernel, so forwarding survives a restart of this process
      families: families.map((family) => ({ ...familyId(family), forwarding: true })),
    });
  }
  return list;
}

/** of a neighbour, or of all that dial from a range */
type AnySettings = Omit<PeerSettings, 'address' | 'zone'>;

/**
 * True when a change from one to the other needs a new session: anything that is said in the OPEN, or that belongs to the
 * socket. Next hops and the timers that are only ours change in place. A name counts here: whoever renames compares under one.
 *
 * @example
 * needsNewSession(settings, { ...settings, nextHop: { ipv4: ipv4('192.0.2.1') } }); // false
 */
export function needsNewSession(before: AnySettings, after: AnySettings): boolean {
  return sessionFacts(before) !== sessionFacts(after);
}

function sessionFacts(settings: AnySettings): string {
  const { nextHop: _nextHop, timers, ...rest } = settings;
  return JSON.stringify(
    {
      ...rest,
      families: peerFamilies(settings),
      port: peerPort(settings),
      hold: timers?.holdSeconds ?? DEFAULT_HOLD_SECONDS,
      keepalive: timers?.keepaliveSeconds,
    },
    sortedKeys,
  );
}

/** JSON.stringify replacer: objects with their keys in order, so that equal settings give equal text */
function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
