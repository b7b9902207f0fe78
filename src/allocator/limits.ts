/** How many addresses one Service, and the Services of one namespace, may hold, whatever they ask for and however often they change. Pure. */

import { type Address, addressKey } from 'bgp-ts';
import type { IpPool } from '../model/ip-pool.ts';
import { AddressSet } from './address-set.ts';
import { refused } from './decide-address.ts';
import { type Answer, type Case, grantedAddress, isGrant, type Problem } from './decision.ts';
import { MOST_ADDRESSES } from './service-request.ts';

/** those that it names, and as many that it holds until it has them; addresses of its spec.externalIPs are among them */
const MOST_HELD = 2 * MOST_ADDRESSES;

/**
 * Entries of spec.externalIPs, of addresses in pools, that all Services of a namespace have reserved and announced: 64 addresses with the 64 Services
 * that one claim has room for. Some megabytes of memory, and milliseconds where pools change.
 */
export const MOST_LISTED = 4096;

/** What else the same pass gives to the Service: this process knows nothing of it yet. */
interface Beside {
  /** what it gets by its external IPs */
  readonly external?: readonly Address[];
  /** places that are kept for what it asks for as a load balancer */
  readonly kept?: number;
}

/**
 * The answers, of which those that go beyond a bound have become problems. What stands is kept, and so is what the Service has in its status
 * already.
 */
export function limited(
  each: Case,
  answers: readonly Answer[],
  { external = [], kept = 0 }: Beside = {},
): readonly Answer[] {
  const own = each.world.claims.ofService(each.key).map(({ address }) => address);
  const known = new AddressSet(own);
  const given = new AddressSet(external);
  let held = own.length + external.filter((address) => !known.has(address)).length + kept;
  const share = new NamespaceShare(each);
  for (const address of external) share.take(address);
  return answers.map((answer) => {
    if (!isGrant(answer)) return answer;
    const address = grantedAddress(answer);
    const isNew = answer.kind !== 'keep' && !(answer.kind === 'create' && answer.isAdopted);
    if (!isNew) share.take(address);
    if (!isNew || given.has(address)) return answer;
    held += 1;
    if (held > MOST_HELD) return tooMany(held - 1);
    const full = share.fullPool(address);
    if (full !== undefined) return { ...atLimit(each, full), address };
    share.take(address);
    return answer;
  });
}

/** What the Services of a namespace have of pools that limit it, and what is given to one of them in this pass. */
class NamespaceShare {
  readonly #each: Case;
  #own: Set<string> | undefined;
  readonly #used = new Map<string, number>();

  constructor(each: Case) {
    this.#each = each;
  }

  /** the pool of an address that would be one too many */
  fullPool(address: Address): IpPool | undefined {
    const pool = this.#each.world.book.poolOf(address);
    const most = pool?.namespaces?.maxAddresses;
    if (pool === undefined || most === undefined || this.#ownKeys().has(addressKey(address))) {
      return undefined;
    }
    return (this.#used.get(pool.name) ?? 0) >= most ? pool : undefined;
  }

  isFull({ name, namespaces }: IpPool): boolean {
    const most = namespaces?.maxAddresses;
    if (most === undefined) return false;
    this.#ownKeys();
    return (this.#used.get(name) ?? 0) >= most;
  }

  take(address: Address): void {
    const own = this.#ownKeys();
    const key = addressKey(address);
    if (own.has(key)) return;
    own.add(key);
    const pool = this.#each.world.book.poolOf(address)?.name;
    if (pool !== undefined) this.#used.set(pool, (this.#used.get(pool) ?? 0) + 1);
  }

  #ownKeys(): Set<string> {
    if (this.#own !== undefined) return this.#own;
    const { service, world } = this.#each;
    this.#own = new Set();
    // pools without a limit cost nothing
    if (world.pools.inOrder.every(({ namespaces }) => namespaces?.maxAddresses === undefined)) {
      return this.#own;
    }
    for (const address of world.addressesOf(service.namespace)) this.take(address);
    return this.#own;
  }
}

/**
 * One for each decision: a sharing key may stand on thousands of claims, and the namespace may have
 * as many addresses.
 */
const shares = new WeakMap<Case, NamespaceShare>();

function shareOf(each: Case): NamespaceShare {
  const share = shares.get(each) ?? new NamespaceShare(each);
  shares.set(each, share);
  return share;
}

/** for a Service that names no address: pools that give its namespace nothing more are not tried */
export function isAtLimit(each: Case, pool: IpPool): boolean {
  return shareOf(each).isFull(pool);
}

/** a shared address that the namespace has no part in yet counts like any other */
export function isBeyondLimit(each: Case, address: Address): boolean {
  return shareOf(each).fullPool(address) !== undefined;
}

export function atLimit({ service: { namespace } }: Case, { name, namespaces }: IpPool): Problem {
  const most = namespaces?.maxAddresses ?? 0;
  const why = `namespace ${namespace} has all ${most} addresses that pool ${name} gives to one namespace (namespaces.maxAddresses)`;
  return {
    kind: 'waiting',
    reason: 'NamespaceLimit',
    message: `${why}; it is served when one of them is given back and free, or the limit is raised`,
    limitOf: namespace,
  };
}

function tooMany(held: number): Answer {
  const why = `it holds ${held} addresses, which it keeps until it has all that it names`;
  return refused('BadRequest', `${why}; name addresses that it can have`);
}
