/**
 * All claims, found by address, by Service and by sharing word. Fed by the watch and by the answers to our own writes, whichever is
 * newer: a pass that comes before the watch has caught up sees what this process did. An index, never the truth.
 */

import { type Address, addressKey, compareAddress } from 'bgp-ts';
import { serviceKey } from '../model/service.ts';
import { type ClaimRecord, isSameRelease, releasedBy, SHARE_KEY } from './claim-record.ts';

export class ClaimIndex {
  readonly #byAddress = new Map<string, ClaimRecord>();
  readonly #byService = new Map<string, Map<string, ClaimRecord>>();
  readonly #byShare = new Map<string, Map<string, ClaimRecord>>();
  readonly #byNamespace = new Map<string, Map<string, ClaimRecord>>();
  readonly #released = new Map<string, ClaimRecord>();

  /** The record that it replaced; `stale`: a newer one is known, and nothing has changed. */
  put(put: ClaimRecord): { readonly before?: ClaimRecord; readonly isStale: boolean } {
    const key = addressKey(put.address);
    const before = this.#byAddress.get(key);
    if (before !== undefined && !isNewer(put, before)) return { before, isStale: true };
    const claim = withRelease(put, before);
    if (before !== undefined) this.#unlink(key, before);
    this.#byAddress.set(key, claim);
    for (const entry of claim.services) link(this.#byService, serviceKey(entry), key, claim);
    for (const name of namespacesOf(claim)) link(this.#byNamespace, name, key, claim);
    const share = claim.annotations[SHARE_KEY];
    if (share !== undefined) link(this.#byShare, share, key, claim);
    if (releasedBy(claim) !== undefined) this.#released.set(key, claim);
    return { ...(before !== undefined && { before }), isStale: false };
  }

  /** Only that very object: another one of the same name that came after it stays. True when it was there. */
  remove(claim: Pick<ClaimRecord, 'address' | 'uid'>): boolean {
    const key = addressKey(claim.address);
    const known = this.#byAddress.get(key);
    if (known === undefined || known.uid !== claim.uid) return false;
    this.#unlink(key, known);
    this.#byAddress.delete(key);
    return true;
  }

  at(address: Address): ClaimRecord | undefined {
    return this.#byAddress.get(addressKey(address));
  }

  /** that name this Service, under whatever uid; the oldest first, then the lowest address */
  ofService(key: string): readonly ClaimRecord[] {
    return inOrder(this.#byService.get(key));
  }

  /** that Services of this namespace have, or have given back, in no order */
  ofNamespace(name: string): Iterable<ClaimRecord> {
    return this.#byNamespace.get(name)?.values() ?? NONE;
  }

  sharedAs(word: string): readonly ClaimRecord[] {
    return inOrder(this.#byShare.get(word));
  }

  get released(): Iterable<ClaimRecord> {
    return this.#released.values();
  }

  get all(): Iterable<ClaimRecord> {
    return this.#byAddress.values();
  }

  get size(): number {
    return this.#byAddress.size;
  }

  #unlink(key: string, claim: ClaimRecord): void {
    for (const entry of claim.services) unlink(this.#byService, serviceKey(entry), key);
    for (const name of namespacesOf(claim)) unlink(this.#byNamespace, name, key);
    const share = claim.annotations[SHARE_KEY];
    if (share !== undefined) unlink(this.#byShare, share, key);
    this.#released.delete(key);
  }
}

/** whose Services have it, or gave it back last */
export function namespacesOf(claim: ClaimRecord): ReadonlySet<string> {
  const [former] = releasedBy(claim)?.split('/') ?? [];
  const names = claim.services.map(({ namespace }) => namespace);
  return new Set(former === undefined ? names : [...names, former]);
}

/** Nodes answer to the release; whatever was written into the claim after it, they need not have seen. */
function withRelease(claim: ClaimRecord, before: ClaimRecord | undefined): ClaimRecord {
  if (before === undefined || !isSameRelease(before, claim)) return claim;
  return { ...claim, releasedVersion: before.releasedVersion ?? before.resourceVersion };
}

function isNewer(claim: ClaimRecord, known: ClaimRecord): boolean {
  return BigInt(claim.resourceVersion) > BigInt(known.resourceVersion);
}

function inOrder(claims: ReadonlyMap<string, ClaimRecord> | undefined): readonly ClaimRecord[] {
  if (claims === undefined) return NONE;
  if (claims.size === 1) return [...claims.values()];
  return [...claims.values()].toSorted(
    (a, b) => a.createdMs - b.createdMs || compareAddress(a.address, b.address),
  );
}

const NONE: readonly ClaimRecord[] = [];

type Groups = Map<string, Map<string, ClaimRecord>>;

function link(groups: Groups, group: string, key: string, claim: ClaimRecord): void {
  const members = groups.get(group);
  if (members === undefined) groups.set(group, new Map([[key, claim]]));
  else members.set(key, claim);
}

function unlink(groups: Groups, group: string, key: string): void {
  const members = groups.get(group);
  members?.delete(key);
  if (members?.size === 0) groups.delete(group);
}
