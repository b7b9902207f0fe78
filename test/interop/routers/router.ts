/**
 * What the interop tests know of a router: a neutral configuration in, its own tables and sessions out.
 *
 * Five drivers stand behind the `Router` interface. Each renders a real configuration file, runs the real
 * daemon in a namespace and reads the answers from the router's own CLI; none of them decodes BGP for the
 * router (ExaBGP keeps no table, see exabgp.ts). Where routers word the same thing differently, the driver
 * brings it to one form: communities `a:b`, large ones `a:b:c`, extended ones `rt:65000:1`.
 */

import type { Host } from '../../support/netns.ts';

export type RouterKind = 'bird' | 'frr' | 'gobgp' | 'openbgpd' | 'exabgp';
export type Family = 'ipv4' | 'ipv6';

export type Neighbour = {
  /** The other side's address; link-local needs `interface`. */
  readonly address: string;
  readonly interface?: string;
  readonly asn: number;
  readonly families: readonly Family[];
  readonly localAddress: string;
  readonly isPassive?: boolean;
  /** The port to dial, 179 unless said. */
  readonly port?: number;
  readonly password?: string;
  readonly hasTtlSecurity?: boolean;
  /** Hops allowed; a directly connected neighbour unless said. */
  readonly multihop?: number;
  readonly holdTimeSeconds?: number;
  readonly connectRetrySeconds?: number;
  /** Keep this neighbour's routes while it restarts (RFC 4724 helper). */
  readonly isGracefulRestartHelper?: boolean;
  /** Restart gracefully oneself; only BIRD takes it, to play the neighbour that restarts. */
  readonly isGracefulRestarter?: boolean;
  readonly addPath?: 'receive' | 'send' | 'both';
  /** IPv4 routes with an IPv6 next hop (RFC 8950). */
  readonly hasExtendedNextHop?: boolean;
  /** Without the four-octet AS capability (RFC 6793); FRR then sends no capability at all. */
  readonly isTwoOctet?: boolean;
};

/** A route the router originates. Only BIRD and ExaBGP take more than the prefix: they play the sender in tests. */
export type Announcement = {
  readonly prefix: string;
  readonly med?: number;
  readonly localPref?: number;
  readonly prepend?: readonly number[];
  readonly communities?: readonly string[];
  readonly largeCommunities?: readonly string[];
  /** `rt:a:b` or 16 hex digits after `0x`. */
  readonly extendedCommunities?: readonly string[];
};

export type RouterConfig = {
  readonly localAsn: number;
  readonly routerId: string;
  readonly neighbours: readonly Neighbour[];
  /** Addresses to listen on; all of them unless said. */
  readonly listen?: readonly string[];
  /** The port to listen on, 179 unless said. */
  readonly port?: number;
  readonly announce?: readonly Announcement[];
};

export type SessionState =
  | 'idle'
  | 'connect'
  | 'active'
  | 'open-sent'
  | 'open-confirm'
  | 'established';

export type Session = {
  readonly peer: string;
  readonly state: SessionState;
  readonly uptimeSeconds?: number;
  /** When it came to this state, in the router's own words, where it says so. */
  readonly since?: string;
  /**
   * How many families' End-of-RIB the router has taken in, where it says so. A neighbour that dies before that may
   * lose its routes in spite of graceful restart: wait for this first.
   */
  readonly endOfRibs?: number;
  /** The router's own words about the last failure, with the shutdown text it received. */
  readonly lastError?: string;
};

export type Route = {
  readonly prefix: string;
  /** Global first, then link-local where the router shows it. */
  readonly nextHops: readonly string[];
  /** Sets are flattened in the order shown. */
  readonly asPath: readonly number[];
  readonly origin: 'igp' | 'egp' | 'incomplete';
  readonly med?: number;
  readonly localPref?: number;
  readonly communities: readonly string[];
  readonly largeCommunities: readonly string[];
  readonly extendedCommunities: readonly string[];
  readonly isStale?: boolean;
  readonly pathId?: number;
  readonly peer: string;
};

/** A NOTIFICATION as the router shows it; `shown` is its own wording. */
export type ReceivedNotification = {
  readonly shown: string;
  readonly code?: number;
  readonly subcode?: number;
  /** The shutdown communication (RFC 9003). */
  readonly text?: string;
};

/** What a router cannot do or cannot show. */
export type Feature =
  | 'refresh'
  | 'shutdown-text'
  | 'extended-next-hop'
  | 'graceful-restart-helper'
  | 'shows-link-local'
  | 'shows-path-id';

export interface Router {
  readonly kind: RouterKind;
  /** Features this router lacks, each with the reason; the one place where tests may learn of it. */
  readonly limits: Readonly<Partial<Record<Feature, string>>>;
  /** For instance `BIRD 2.0.12`. */
  version(): Promise<string>;
  /** Renders the configuration, starts the daemons and waits until the CLI answers. */
  start(host: Host, config: RouterConfig): Promise<void>;
  /** As an operator would: the router says goodbye to its neighbours. */
  stop(): Promise<void>;
  /** SIGKILL: nothing is said. */
  kill(): Promise<void>;
  /** SIGSTOP: the kernel still acknowledges, the router is silent. */
  freeze(): void;
  thaw(): void;
  /** Stop and start with the same configuration. */
  restart(): Promise<void>;
  sessions(): Promise<readonly Session[]>;
  /** Routes learnt from neighbours, not the router's own. */
  routes(family: Family): Promise<readonly Route[]>;
  count(family: Family): Promise<number>;
  /** Sends ROUTE-REFRESH to the neighbour. */
  refresh(peer: string): Promise<void>;
  /** Sends Cease / Administrative Shutdown and stays down; the result is the text that goes out. */
  shutdown(peer: string, text: string): Promise<string>;
  enable(peer: string): Promise<void>;
  /** The last NOTIFICATION received from this neighbour. */
  lastNotification(peer: string): Promise<ReceivedNotification | undefined>;
  /** What the daemons logged, for failure messages. */
  log(): string;
}

export const bgpPort = 179;

const states: Readonly<Record<string, SessionState>> = {
  idle: 'idle',
  connect: 'connect',
  active: 'active',
  opensent: 'open-sent',
  openconfirm: 'open-confirm',
  established: 'established',
};

/** Routers write states with and without capitals and spaces; what BIRD calls Close and Down is idle. */
export function sessionState(text: string): SessionState {
  return states[text.toLowerCase().replaceAll(/[^a-z]/g, '')] ?? 'idle';
}

export function originOf(text: string): Route['origin'] {
  const word = text.toLowerCase();
  if (word === 'igp' || word === 'i') return 'igp';
  return word === 'egp' || word === 'e' ? 'egp' : 'incomplete';
}

/** The `AS_PATH` as numbers, whatever brackets the router puts around sets. */
export function asPathOf(text: string): number[] {
  return (text.match(/\d+/g) ?? []).map(Number);
}

export const familyOf = (prefix: string): Family => (prefix.includes(':') ? 'ipv6' : 'ipv4');

/** For drivers of routers that only originate plain prefixes in these tests. */
export function plainPrefixes(config: RouterConfig, router: RouterKind): string[] {
  return (config.announce ?? []).map((announcement) => {
    if (Object.keys(announcement).length > 1) {
      throw new Error(`the ${router} driver announces plain prefixes only: ${announcement.prefix}`);
    }
    return announcement.prefix;
  });
}

export function neighbourOf(config: RouterConfig, peer: string): Neighbour {
  const found = config.neighbours.find((neighbour) => neighbour.address === peer);
  if (found === undefined) throw new Error(`no neighbour ${peer} is configured`);
  return found;
}
