/**
 * What a listener asks of whom: options per neighbour's address and per range of addresses. Both transports keep their rules
 * here, so that they agree on which one counts: that of the very address, else that of the longest range around it.
 *
 * Keys go by another rule, the kernel's: a TCP-MD5 key is looked up on its own, longest match first. So a neighbour that has
 * rules of its own, but no key in them, is still asked for the key of a range around it.
 */

import {
  type Address,
  addressKey,
  hostPrefix,
  type Prefix,
  prefixContains,
  prefixKey,
} from '../net/address.ts';
import type { SocketOptions } from './transport.ts';

interface RangeRule {
  readonly range: Prefix;
  readonly options: SocketOptions;
}

export class AcceptRules {
  readonly #peers = new Map<string, SocketOptions>();
  readonly #ranges = new Map<string, RangeRule>();

  peer(remote: Address): SocketOptions | undefined {
    return this.#peers.get(addressKey(remote));
  }

  setPeer(remote: Address, options: SocketOptions): void {
    this.#peers.set(addressKey(remote), options);
  }

  deletePeer(remote: Address): void {
    this.#peers.delete(addressKey(remote));
  }

  range(range: Prefix): SocketOptions | undefined {
    return this.#ranges.get(prefixKey(range))?.options;
  }

  setRange(range: Prefix, options: SocketOptions): void {
    this.#ranges.set(prefixKey(range), { range, options });
  }

  deleteRange(range: Prefix): void {
    this.#ranges.delete(prefixKey(range));
  }

  clear(): void {
    this.#peers.clear();
    this.#ranges.clear();
  }

  optionsFor(remote: Address): SocketOptions {
    return this.peer(remote) ?? this.#longest(remote, () => true) ?? {};
  }

  passwordFor(remote: Address): string | undefined {
    const own = this.peer(remote)?.password;
    return own ?? this.#longest(remote, (options) => options.password !== undefined)?.password;
  }

  #longest(
    remote: Address,
    counts: (options: SocketOptions) => boolean,
  ): SocketOptions | undefined {
    const host = hostPrefix(remote);
    let best: RangeRule | undefined;
    for (const rule of this.#ranges.values()) {
      if (!counts(rule.options) || !prefixContains(rule.range, host)) continue;
      if (best === undefined || rule.range.length > best.range.length) best = rule;
    }
    return best?.options;
  }
}
