/** Addresses of pools as others write them, as ours are written: aligned, without blanks. Pure. */

import { formatAddress, formatPrefix, parsePrefixMasked } from 'bgp-ts';
import { parseAddressRange, rangesOverlap } from '../model/address-range.ts';
import type { AddressRange } from '../model/ip-pool.ts';
import { texts } from '../sources/kube/loose-fields.ts';
import type { HeraldDocument } from './imported.ts';

export type ReadAddresses = {
  readonly addresses: readonly string[];
  /** sentences */
  readonly gaps: readonly string[];
};

/** `about` is put in front of each sentence. */
export function readAddresses(written: readonly string[], about: string): ReadAddresses {
  const read = written.map((text) => readOne(text.replaceAll(/\s+/g, ''), about));
  return {
    addresses: read.flatMap(({ addresses }) => addresses),
    gaps: read.flatMap(({ gaps }) => gaps),
  };
}

function readOne(text: string, about: string): ReadAddresses {
  const range = parseAddressRange(text);
  if (typeof range === 'string') return { addresses: [], gaps: [`${about}: ${range}`] };
  const prefix = range.masked === true ? parsePrefixMasked(text) : undefined;
  if (prefix === undefined) return { addresses: [text], gaps: [] };
  const aligned = formatPrefix(prefix);
  const span = `${formatAddress(range.first)} to ${formatAddress(range.last)}`;
  const note = `${about}: '${text}' is not aligned; it is written as ${aligned}, ${span}`;
  return { addresses: [aligned], gaps: [note] };
}

/** No two pools of ours may hold the same address: the second of two that do would be refused. */
export function overlaps(documents: readonly HeraldDocument[]): readonly string[] {
  const pools = documents
    .filter(({ kind }) => kind === 'IPPool')
    .map(({ metadata, spec }) => ({ name: metadata.name, ranges: rangesOf(spec) }));
  return pools.flatMap((pool, index) =>
    pools.slice(0, index).flatMap((other) => {
      const shared = pool.ranges.find((one) => other.ranges.some((two) => rangesOverlap(one, two)));
      if (shared === undefined) return [];
      const what = `IPPool ${pool.name}: ${shared.text} is also in IPPool ${other.name}`;
      return `${what}, and no two pools may hold the same address; take it out of one of them`;
    }),
  );
}

function rangesOf(spec: HeraldDocument['spec']): readonly AddressRange[] {
  return texts(spec, 'addresses').flatMap((text) => {
    const range = parseAddressRange(text);
    return typeof range === 'string' ? [] : range;
  });
}
