/**
 * A neighbour that believes every message: it decodes what it is sent with the codec and keeps the table that results. It shares
 * nothing with the sending side but the codec, which has vectors of its own.
 */

import { decode } from '../../protocol/bgp/decode.ts';
import { hasFamily } from '../../protocol/bgp/family.ts';
import type { Message, Nlri, PathAttributes, UpdateMessage } from '../../protocol/bgp/message.ts';
import type { Negotiated } from '../../protocol/bgp/negotiate.ts';
import type { SessionView } from '../../protocol/bgp/pack.ts';
import { endOfRibFamily } from '../../protocol/bgp/update.ts';
import type { Family } from '../../protocol/net/address.ts';
import { formatPrefix, parseAddress } from '../../protocol/net/address-text.ts';

export const IPV4 = { afi: 1, safi: 1 } as const;
export const IPV6 = { afi: 2, safi: 1 } as const;

export function negotiated(change: Partial<Negotiated> = {}): Negotiated {
  return {
    as4: true,
    extendedMessage: false,
    internal: false,
    addPathReceive: [],
    addPathSend: [],
    extendedNextHop: [],
    peerAsn: 64500,
    peerRouterId: 2,
    localAsn: 64501,
    localRouterId: 1,
    holdTimeSeconds: 90,
    keepaliveSeconds: 30,
    families: [IPV4, IPV6],
    routeRefresh: true,
    enhancedRouteRefresh: true,
    ...change,
  };
}

export function address4(text: string) {
  const address = parseAddress(text);
  if (address?.family !== 'ipv4') throw new Error(`not IPv4: ${text}`);
  return address;
}

export function address6(text: string) {
  const address = parseAddress(text);
  if (address?.family !== 'ipv6') throw new Error(`not IPv6: ${text}`);
  return address;
}

export function sessionView(change: Partial<Negotiated> = {}): SessionView {
  return {
    negotiated: negotiated(change),
    nextHops: { ipv4: address4('192.0.2.1'), ipv6: address6('2001:db8::1') },
  };
}

/** Cuts bytes into messages by their length fields. */
export function splitMessages(bytes: Uint8Array): Uint8Array[] {
  const list: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = ((bytes[at + 16] ?? 0) << 8) | (bytes[at + 17] ?? 0);
    if (length < 19 || at + length > bytes.length) throw new Error(`no message at ${at}`);
    list.push(bytes.subarray(at, at + length));
    at += length;
  }
  return list;
}

export interface HeldRoute {
  readonly prefix: Nlri;
  readonly attributes: PathAttributes;
  isStale: boolean;
}

export class ModelNeighbour {
  readonly table = new Map<string, HeldRoute>();
  /** in the order in which they came: `eor ipv4`, `begin ipv6`, `end ipv6`, `announce 10.0.0.0/8`, `withdraw …` */
  readonly log: string[] = [];
  longestMessage = 0;
  messages = 0;
  readonly #context: Negotiated;

  /** What one side sends with path identifiers the other receives with them. */
  constructor(sender: Negotiated) {
    this.#context = { ...sender, addPathReceive: sender.addPathSend };
  }

  receive(bytes: Uint8Array): void {
    for (const frame of splitMessages(bytes)) {
      const result = decode(frame, this.#context);
      if (!result.ok) throw result.fault;
      if (result.issues.length > 0) throw new Error(JSON.stringify(result.issues));
      this.longestMessage = Math.max(this.longestMessage, frame.length);
      this.messages++;
      this.#take(result.message);
    }
  }

  #take(message: Message): void {
    if (message.kind === 'update') this.#update(message);
    else if (message.kind === 'route-refresh') {
      const family: Family = message.afi === 1 ? 'ipv4' : 'ipv6';
      if (message.subtype === 1) this.#begin(family);
      else if (message.subtype === 2) this.#end(family);
      else throw new Error('a refresh request was not expected');
    } else throw new Error(`${message.kind} was not expected`);
  }

  #update(message: UpdateMessage): void {
    const end = endOfRibFamily(message);
    if (end !== undefined) this.log.push(`eor ${end.afi === 1 ? 'ipv4' : 'ipv6'}`);
    const { mpReach, mpUnreach } = message.attributes;
    const gone = mpUnreach?.kind === 'prefixes' ? mpUnreach.withdrawn : [];
    for (const nlri of [...message.withdrawn, ...gone]) {
      this.log.push(`withdraw ${this.key(nlri)}`);
      if (!this.table.delete(this.key(nlri))) {
        throw new Error(`withdrawn though never announced: ${this.key(nlri)}`);
      }
    }
    const reached = mpReach?.kind === 'prefixes' ? mpReach.nlri : [];
    for (const prefix of [...message.nlri, ...reached]) {
      this.log.push(`announce ${this.key(prefix)}`);
      this.table.set(this.key(prefix), { prefix, attributes: message.attributes, isStale: false });
    }
  }

  /** RFC 7313 §4: what is not said again between the marks goes away. */
  #begin(family: Family): void {
    this.log.push(`begin ${family}`);
    for (const route of this.table.values()) {
      if (route.prefix.family === family) route.isStale = true;
    }
  }

  #end(family: Family): void {
    this.log.push(`end ${family}`);
    for (const [key, route] of this.table) {
      if (route.prefix.family === family && route.isStale) this.table.delete(key);
    }
  }

  key(nlri: Nlri): string {
    const { afi, safi } = nlri.family === 'ipv4' ? IPV4 : IPV6;
    const withId = hasFamily(this.#context.addPathReceive, afi, safi);
    return withId ? `${formatPrefix(nlri)} id ${nlri.pathId}` : formatPrefix(nlri);
  }
}
