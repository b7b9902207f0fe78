/**
 * Routes in the kernel, by rtnetlink. See route-table.ts for what is promised; this is how.
 *
 * A route that we know to be ours is replaced in place. Any other is added with "only if there is none", and when there is one, a list
 * says whose: ours from before is replaced, another's stays. The kernel has no "replace only if the protocol is mine", so a
 * route that somebody puts in the very place of ours while we run is taken for ours.
 *
 * The metric is 2048 unless said: a route that the administrator adds without one (0 for IPv4, 1024 for IPv6) goes first.
 */

import {
  FAMILIES,
  type Family,
  formatPrefix,
  type Prefix,
  type PrefixKey,
  prefixKey,
} from 'bgp-ts';
import type { Outcome, Refused } from './address-table.ts';
import { decodeLinkBody, encodeLinkList, LinkMessageType } from './link-message.ts';
import { NetlinkError } from './netlink-calls.ts';
import { MessageFlag } from './netlink-message.ts';
import { NetlinkSocket } from './netlink-socket.ts';
import { noInterface, refusedBy } from './refusal.ts';
import {
  decodeRouteBody,
  decodeRoutePlace,
  encodeRouteBody,
  encodeRouteList,
  encodeRouteRemoval,
  type RouteBody,
  type RouteHop,
  RouteMessageType,
} from './route-message.ts';
import {
  type KernelNextHop,
  type KernelRoute,
  ROUTE_PROTOCOL,
  type RouteTable,
} from './route-table.ts';

export interface RtnetlinkRouteTableOptions {
  /** the kernel's table; 254 is main */
  readonly table: number;
  readonly metric?: number;
  /** the mark of ours; default: that of `herald router` */
  readonly protocol?: number;
}

const DEFAULT_METRIC = 2048;
const ANY_PROTOCOL = 0;

export class RtnetlinkRouteTable implements RouteTable {
  readonly #table: number;
  readonly #metric: number;
  readonly #protocol: number;
  readonly #netlink = new NetlinkSocket({ strict: true });
  /** what this process has put there, or found as ours */
  #known: Set<PrefixKey> | undefined;
  /** where a list has found others; asked only where the kernel says that a place is taken, and forgotten with the next list of ours */
  #taken: ReadonlySet<PrefixKey> | undefined;

  constructor(options: RtnetlinkRouteTableOptions) {
    this.#table = options.table;
    this.#metric = options.metric ?? DEFAULT_METRIC;
    this.#protocol = options.protocol ?? ROUTE_PROTOCOL;
  }

  list(): readonly KernelRoute[] {
    const bodies = this.#bodies(this.#protocol);
    this.#known = new Set(bodies.map(({ prefix }) => prefixKey(prefix)));
    this.#taken = undefined;
    const names = this.#linkNames();
    return bodies.map(({ prefix, hops }) => ({
      prefix,
      nextHops: hops.map((hop) => nextHopOf(hop, names)),
    }));
  }

  replace(route: KernelRoute): Outcome {
    const doing = `cannot install ${formatPrefix(route.prefix)} in table ${this.#table}`;
    try {
      const hops = this.#hops(route.nextHops);
      if (typeof hops === 'string') return noInterface(doing, hops);
      const known = this.#ours();
      const key = prefixKey(route.prefix);
      const body = encodeRouteBody(this.#body(route.prefix, hops));
      if (!known.has(key) && !this.#addNew(body)) {
        const foreign = this.#foreignAt(route.prefix);
        if (foreign) return this.#foreign(doing);
        known.add(key);
      }
      if (known.has(key)) this.#write(body, MessageFlag.create | MessageFlag.replace);
      known.add(key);
      return { kind: 'done', changed: true };
    } catch (error) {
      return refusedBy(error, { doing, family: route.prefix.family });
    }
  }

  remove(prefix: Prefix): Outcome {
    const doing = `cannot remove ${formatPrefix(prefix)} from table ${this.#table}`;
    try {
      const body = encodeRouteRemoval(this.#body(prefix, []));
      this.#netlink.change({ type: RouteMessageType.remove, flags: 0, body });
      this.#ours().delete(prefixKey(prefix));
      return { kind: 'done', changed: true };
    } catch (error) {
      if (error instanceof NetlinkError && error.code === 'ESRCH') {
        this.#known?.delete(prefixKey(prefix));
        return { kind: 'done', changed: false };
      }
      return refusedBy(error, { doing, family: prefix.family });
    }
  }

  clear(): Outcome {
    let changed = false;
    for (const family of FAMILIES) {
      const removed = this.#clearFamily(family);
      if (removed.kind !== 'done') return removed;
      changed ||= removed.changed;
    }
    return { kind: 'done', changed };
  }

  /** Where others have routes in this table, with any metric and of any kind; undefined: more than `most`, and the rest was not read. */
  foreign(
    family: Family,
    most: number,
  ): readonly { readonly prefix: Prefix; readonly protocol: number }[] | undefined {
    const answers = this.#listOrNone(encodeRouteList(family, this.#table, ANY_PROTOCOL), most);
    if (answers.length > most) return undefined;
    return answers
      .map(({ body }) => decodeRoutePlace(body))
      .filter((place) => place !== undefined)
      .filter(({ table, protocol }) => table === this.#table && protocol !== this.#protocol);
  }

  close(): void {
    this.#netlink.close();
    this.#known = undefined;
  }

  #clearFamily(family: Family): Outcome {
    let bodies: readonly RouteBody[];
    try {
      bodies = this.#bodiesOf(family, this.#protocol);
    } catch (error) {
      return refusedBy(error, { doing: `cannot clear table ${this.#table}`, family });
    }
    const outcomes = bodies.map(({ prefix }) => this.remove(prefix));
    const refused = outcomes.find((outcome) => outcome.kind !== 'done');
    return refused ?? { kind: 'done', changed: outcomes.length > 0 };
  }

  #ours(): Set<PrefixKey> {
    this.#known ??= new Set(this.#bodies(this.#protocol).map(({ prefix }) => prefixKey(prefix)));
    return this.#known;
  }

  #body(prefix: Prefix, hops: readonly RouteHop[]): RouteBody {
    const [table, metric] = [this.#table, this.#metric];
    return { prefix, hops, table, metric, protocol: this.#protocol };
  }

  #write(body: Uint8Array, flags: number): void {
    this.#netlink.change({ type: RouteMessageType.add, flags, body });
  }

  /** false when there is a route at this place */
  #addNew(body: Uint8Array): boolean {
    try {
      this.#write(body, MessageFlag.create | MessageFlag.exclusive);
      return true;
    } catch (error) {
      if (error instanceof NetlinkError && error.code === 'EEXIST') return false;
      throw error;
    }
  }

  /** One list for all that are refused together: it is of the whole table, others' routes too. */
  #foreignAt(prefix: Prefix): boolean {
    const key = prefixKey(prefix);
    if (this.#taken?.has(key)) return true;
    const others = this.#bodies(ANY_PROTOCOL).filter((each) => each.protocol !== this.#protocol);
    this.#taken = new Set(others.map((each) => prefixKey(each.prefix)));
    return this.#taken.has(key);
  }

  #foreign(doing: string): Refused {
    return {
      kind: 'foreign',
      sentence:
        `${doing}: there is a route with metric ${this.#metric} that Herald did not add; ` +
        'remove it, or use another table',
    };
  }

  #bodies(protocol: number): readonly RouteBody[] {
    return FAMILIES.flatMap((family) => this.#bodiesOf(family, protocol));
  }

  /** What is at our table and metric; the kernel filters if it can. */
  #bodiesOf(family: Family, protocol: number): readonly RouteBody[] {
    return this.#listOrNone(encodeRouteList(family, this.#table, protocol))
      .map(({ body }) => decodeRouteBody(body))
      .filter((body) => body !== undefined)
      .filter((body) => body.table === this.#table && body.metric === this.#metric)
      .filter((body) => protocol === ANY_PROTOCOL || body.protocol === protocol);
  }

  #listOrNone(request: Uint8Array, most?: number) {
    try {
      return this.#netlink.list(RouteMessageType.get, request, most);
    } catch (error) {
      // A table that has never had a route does not exist, and without IPv6 nobody answers for it.
      const none = error instanceof NetlinkError && ['ENOENT', 'EOPNOTSUPP'].includes(error.code);
      if (none) return [];
      throw error;
    }
  }

  /** the name of an interface that is missing, or the hops by number */
  #hops(nextHops: readonly KernelNextHop[]): readonly RouteHop[] | string {
    if (nextHops.every((hop) => hop.interface === undefined)) {
      return nextHops.map(({ gateway }) => (gateway === undefined ? {} : { gateway }));
    }
    const indexes = new Map([...this.#linkNames()].map(([index, name]) => [name, index]));
    const hops: RouteHop[] = [];
    for (const { gateway, interface: name } of nextHops) {
      const index = name === undefined ? undefined : indexes.get(name);
      if (name !== undefined && index === undefined) return name;
      hops.push({
        ...(gateway === undefined ? {} : { gateway }),
        ...(index === undefined ? {} : { index }),
      });
    }
    return hops;
  }

  #linkNames(): ReadonlyMap<number, string> {
    const links = this.#netlink
      .list(LinkMessageType.get, encodeLinkList())
      .map(({ body }) => decodeLinkBody(body))
      .filter((link) => link !== undefined);
    return new Map(links.map(({ index, name }) => [index, name]));
  }
}

function nextHopOf({ gateway, index }: RouteHop, names: ReadonlyMap<number, string>) {
  const name = index === undefined ? undefined : names.get(index);
  return {
    ...(gateway === undefined ? {} : { gateway }),
    ...(name === undefined ? {} : { interface: name }),
  };
}
