/**
 * IP addresses and prefixes as plain values, and their text (RFC 5952 for IPv6).
 *
 * The bits of an address are held as signed 32-bit integers (`| 0`): V8 keeps those unboxed in an object, so a
 * table of 100,000 prefixes stays small and reading NLRI from the wire allocates one object per prefix and nothing
 * else. `>>> 0` gives the unsigned value. Nothing outside this folder does arithmetic on them.
 *
 * A prefix is always masked: bits behind its length are zero.
 */

export type Family = 'ipv4' | 'ipv6';

export interface Ipv4Address {
  readonly family: 'ipv4';
  /** the address as a signed 32-bit integer */
  readonly bits: number;
}

export interface Ipv6Address {
  readonly family: 'ipv6';
  /** the four 32-bit words, most significant first, each a signed 32-bit integer */
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
}

export type Address = Ipv4Address | Ipv6Address;

export interface Ipv4Prefix {
  readonly family: 'ipv4';
  readonly bits: number;
  readonly length: number;
}

export interface Ipv6Prefix {
  readonly family: 'ipv6';
  readonly w0: number;
  readonly w1: number;
  readonly w2: number;
  readonly w3: number;
  readonly length: number;
}

export type Prefix = Ipv4Prefix | Ipv6Prefix;

declare const prefixKeyBrand: unique symbol;
/** A prefix as a short string, for Map keys; equal prefixes have equal keys. Not for people to read. */
export type PrefixKey = string & { readonly [prefixKeyBrand]: true };
