/**
 * Communities in one form, whatever words a router uses: `65535:65281`, never NO_EXPORT, no-export or noExport
 * (RFC 1997 and the IANA registry of well-known communities); extended ones as `rt:a:b`, `soo:a:b`,
 * `link-bandwidth:asn:bytes-per-second` or 16 hex digits (RFC 4360).
 */

const wellKnown: Readonly<Record<string, number>> = {
  gracefulshutdown: 0,
  acceptown: 1,
  routefiltertranslatedv4: 2,
  routefilterv4: 3,
  routefiltertranslatedv6: 4,
  routefilterv6: 5,
  llgrstale: 6,
  nollgr: 7,
  acceptownnexthop: 8,
  blackhole: 666,
  noexport: 65281,
  noadvertise: 65282,
  noexportsubconfed: 65283,
  localas: 65283,
  nopeer: 65284,
};

export function communityOf(word: string): string {
  if (/^\d+:\d+$/.test(word)) return word;
  const low = wellKnown[word.toLowerCase().replaceAll(/[^a-z0-9]/g, '')];
  if (low === undefined) throw new Error(`a community in words nobody taught us: ${word}`);
  return `65535:${low}`;
}

export function communityOfNumber(value: number): string {
  return `${Math.floor(value / 65536)}:${value % 65536}`;
}

export function linkBandwidth(asn: number, bytesPerSecond: number): string {
  return `link-bandwidth:${asn}:${bytesPerSecond.toExponential().replace('e+', 'e')}`;
}

/** An extended community from its eight bytes, 16 hex digits without `0x`. */
export function extendedCommunityOfHex(hex: string): string {
  const view = new DataView(Uint8Array.from(Buffer.from(hex, 'hex')).buffer);
  // Bit 0x40 says non-transitive; the meaning of the rest is the same (RFC 4360 §2).
  const type = view.getUint8(0) & 0xbf;
  const subtype = view.getUint8(1);
  if (type === 0 && subtype === 4) return linkBandwidth(view.getUint16(2), view.getFloat32(4));
  if (type > 2 || (subtype !== 2 && subtype !== 3)) return `0x${hex}`;
  const kind = subtype === 2 ? 'rt' : 'soo';
  if (type === 0) return `${kind}:${view.getUint16(2)}:${view.getUint32(4)}`;
  const local = view.getUint16(6);
  if (type === 2) return `${kind}:${view.getUint32(2)}:${local}`;
  return `${kind}:${[2, 3, 4, 5].map((at) => view.getUint8(at)).join('.')}:${local}`;
}
