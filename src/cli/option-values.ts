/** From the text of a flag to its value, for flags that several sub-commands have. What is wrong is said in one sentence (UsageError). */

import { type Address, isUsableAsn, parseRouterId } from 'bgp-ts';
import { UsageError } from './command.ts';

const DEFAULT_HOLD_SECONDS = 9;

export function required(flag: string, value: string | undefined): string {
  if (value === undefined) throw new UsageError(`${flag} is missing`);
  return value;
}

/** neither unspecified nor multicast nor reserved: a router would take back each route behind such a next hop (RFC 4271 §6.3) */
export function isHostAddress(address: Address): boolean {
  if (address.family === 'ipv4') {
    const first = address.bits >>> 24;
    return first > 0 && first < 224;
  }
  const { w0, w1, w2, w3 } = address;
  return w0 >>> 24 !== 0xff && (w0 | w1 | w2 | w3) !== 0;
}

export function readAsn(flag: string, text: string): number {
  const asn = wholeNumber(text);
  if (asn === undefined || !isUsableAsn(asn)) {
    throw new UsageError(`${flag} '${text}' is not an AS number (1 to 4294967295)`);
  }
  return asn;
}

export function readRouterId(text: string): number {
  const id = parseRouterId(text);
  if (id === undefined || id === 0) {
    throw new UsageError(
      `--router-id '${text}' is not a BGP identifier (like 192.0.2.1, not 0.0.0.0)`,
    );
  }
  return id;
}

export function readHold(text: string | undefined): number {
  if (text === undefined) return DEFAULT_HOLD_SECONDS;
  const hold = wholeNumber(text);
  // RFC 4271 §4.2
  if (hold === undefined || hold > 65535 || hold === 1 || hold === 2) {
    throw new UsageError(`--hold '${text}' is not a hold time: 0 (none) or 3 to 65535 seconds`);
  }
  return hold;
}

export function wholeNumber(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}
