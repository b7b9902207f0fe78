/**
 * The documents of a simulation in the simplest form that has everything in it, and their translation into what an agent is given.
 * The oracle reads a Book and never a Documents, so the two cannot share a mistake of the translation.
 */

import type { BgpPeer } from '../../src/model/bgp-peer.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import type { Documents, Sourced } from '../../src/model/documents.ts';
import type { IpClaim } from '../../src/model/ip-claim.ts';
import type { IpPool } from '../../src/model/ip-pool.ts';
import { address, check, claim, peer, pool } from '../src/agent/scenery.ts';

export interface ClaimPage {
  readonly name: string;
  readonly address: string;
  readonly createdMs: number;
  readonly mode: 'anycast' | 'exclusive';
  readonly node?: string;
  readonly bind?: 'lo' | 'eth1';
  readonly hasCheck: boolean;
  readonly isWithdrawn: boolean;
  /** an edit that means nothing */
  readonly edition: number;
}

export interface PeerPage {
  readonly name: string;
  readonly maxRoutes: number;
  /** a change of it needs a new session */
  readonly holdSeconds: number;
}

/** Immutable: a change is a new Book. */
export interface Book {
  readonly generation: number;
  readonly peers: ReadonlyMap<string, PeerPage>;
  /** addresses 198.51.100.0 to this are in the pool; IPv6 always is */
  readonly poolEnd: number;
  readonly waitMs: number;
  readonly claims: ReadonlyMap<string, ClaimPage>;
  /** claims whose document cannot be read at present */
  readonly bad: ReadonlySet<string>;
}

export const ROUTER_ADDRESSES: Readonly<Record<string, string>> = {
  r1: '192.0.2.1',
  r2: '192.0.2.2',
};
export const AGENT_ASN = 64512;
export const ROUTER_ASNS: Readonly<Record<string, number>> = { r1: 64500, r2: AGENT_ASN };
export const PASSWORD_PATH = '/etc/herald/r2.key';
export const PREPEND_STEP = 3;
export const POOL_SIZE = 12;
export const NODES: readonly string[] = ['n1', 'n2', 'n3'];

export function isPooled({ address: text }: ClaimPage, { poolEnd }: Book): boolean {
  return text.includes(':') || Number(text.slice(text.lastIndexOf('.') + 1)) <= poolEnd;
}

/** What a source shows of a Book: of a bad document its last good form, where this process has seen one. */
export function documentsOf(book: Book, lastGood: ReadonlyMap<string, ClaimPage>): Documents {
  const shown = shownClaims(book, lastGood);
  return {
    peers: [...book.peers.values()].map((page) => kept(peerCache, page, peerDocument)),
    pools: [poolDocument(book)],
    claims: [...shown.values()].map((page) => kept(claimCache, page, claimDocument)),
    faults: [...book.bad].map((name) => ({
      file: '/etc/herald/claims.yaml',
      subject: `IPClaim/${name}`,
      sentence: 'spec.checks: must be a list',
      keepsLastGood: shown.has(name),
    })),
  };
}

/** what has not changed is the same object again, as a source sees to it; much is decided faster by that */
function kept<Page extends object, T>(
  cache: WeakMap<Page, T>,
  page: Page,
  make: (page: Page) => T,
): T {
  const made = cache.get(page) ?? make(page);
  cache.set(page, made);
  return made;
}

const peerCache = new WeakMap<PeerPage, Sourced<BgpPeer>>();
const claimCache = new WeakMap<ClaimPage, Sourced<IpClaim>>();
const poolCache = new Map<string, Sourced<IpPool>>();

function peerDocument(page: PeerPage): Sourced<BgpPeer> {
  const object = peer({
    name: page.name,
    target: { kind: 'address', address: address(ROUTER_ADDRESSES[page.name] ?? '') },
    asn: ROUTER_ASNS[page.name] ?? 0,
    timers: { holdSeconds: page.holdSeconds, keepaliveSeconds: 1, connectRetrySeconds: 1 },
    maxRoutes: page.maxRoutes,
    nextHop: nextHopOf(),
    ...(page.name === 'r2' ? { password: { kind: 'file', path: PASSWORD_PATH } } : {}),
  });
  return { object, origin: `peers.yaml:${page.name}`, createdMs: 0 };
}

function poolDocument({ poolEnd, waitMs }: Book): Sourced<IpPool> {
  const end = `198.51.100.0-198.51.100.${poolEnd}`;
  const key = `${end} ${waitMs}`;
  const object = pool({
    addresses: [end, '2001:db8:7::/64'],
    placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: PREPEND_STEP },
    drain: { on: ['stop'], waitSeconds: waitMs / 1000 },
  });
  const made = poolCache.get(key) ?? { object, origin: 'pools.yaml:1', createdMs: 0 };
  poolCache.set(key, made);
  return made;
}

export function shownClaims(
  book: Book,
  lastGood: ReadonlyMap<string, ClaimPage>,
): ReadonlyMap<string, ClaimPage> {
  const shown = new Map<string, ClaimPage>();
  for (const [name, page] of book.claims) {
    const good = book.bad.has(name) ? lastGood.get(name) : page;
    if (good !== undefined) shown.set(name, good);
  }
  return shown;
}

export function checkPath(name: string): string {
  return `/run/serving/${name}`;
}

function nextHopOf() {
  const ipv6 = address('2001:db8::1');
  return ipv6.family === 'ipv6' ? { ipv6 } : {};
}

function claimDocument(page: ClaimPage): Sourced<IpClaim> {
  const { name, bind, node, hasCheck, isWithdrawn, createdMs, mode } = page;
  return {
    object: claim({
      at: page.address,
      labels: { edition: `${page.edition}` },
      placement: { mode },
      ...(node === undefined ? {} : { node }),
      ...(bind === undefined ? {} : { bind: { interface: bind } }),
      ...(hasCheck ? { checks: [check(checkPath(name))] } : {}),
      ...(isWithdrawn ? { withdrawn: { reason: 'no endpoints' } } : {}),
    }),
    origin: `claims.yaml:${name}`,
    createdMs,
  };
}

export const CLAIM_ADDRESSES: readonly string[] = [
  ...Array.from({ length: POOL_SIZE }, (_, at) => `198.51.100.${at}`),
  ...Array.from({ length: 3 }, (_, at) => `2001:db8:7::${at + 1}`),
];

/** what a claim is for never changes here: every third is exclusive */
export function isExclusiveName(name: string): boolean {
  const at = CLAIM_ADDRESSES.findIndex((text) => formatClaimName(address(text)) === name);
  return at % 3 === 0;
}

export function claimPage(at: number, over: Partial<ClaimPage> = {}): ClaimPage {
  const text = CLAIM_ADDRESSES[at] ?? '';
  return {
    name: formatClaimName(address(text)),
    address: text,
    createdMs: at,
    mode: at % 3 === 0 ? 'exclusive' : 'anycast',
    ...(at % 3 === 0 ? { node: NODES[at % NODES.length] ?? 'n1' } : {}),
    ...(at % 4 === 1 ? { bind: 'lo' } : {}),
    ...(at % 4 === 3 ? { bind: 'eth1' } : {}),
    hasCheck: at % 2 === 0,
    isWithdrawn: false,
    edition: 0,
    ...over,
  };
}

export function firstBook(): Book {
  const pages = [0, 1, 2, 3, 4, 6, 9, 12, 13].map((at) => claimPage(at));
  return {
    generation: 1,
    peers: new Map([
      ['r1', { name: 'r1', maxRoutes: 500, holdSeconds: 3 }],
      ['r2', { name: 'r2', maxRoutes: 6, holdSeconds: 3 }],
    ]),
    poolEnd: POOL_SIZE - 1,
    waitMs: 3000,
    claims: new Map(pages.map((page) => [page.name, page])),
    bad: new Set(),
  };
}
