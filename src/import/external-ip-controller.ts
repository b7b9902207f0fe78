/**
 * External IP Controller → ours: IpClaimPool, IpClaim, IpNode (ipcontroller.ext/v1), and the annotation of Services. Pure.
 *
 * Its pools give out exactly what they gave out there. Without ranges it begins behind the address of `cidr` as it is written and ends before the last
 * one of the network; ranges are taken from first to last, but never the last address of the network.
 */

import {
  type Address,
  compareAddress,
  formatAddress,
  formatPrefix,
  parseAddress,
  parsePrefixMasked,
  prefixAddress,
} from 'bgp-ts';
import { lastAddress } from '../model/address-range.ts';
import { formatClaimName } from '../model/claim-name.ts';
import {
  filledText,
  items,
  type Loose,
  labels,
  part,
  parts,
  texts,
} from '../sources/kube/loose-fields.ts';
import { overlaps } from './addresses.ts';
import { kindOf, nameOf } from './foreign-objects.ts';
import { documentOf, gap, type Imported, NOTHING, together } from './imported.ts';
import { next, previous } from './neighbour-address.ts';
import { OURS, serviceAnnotations } from './service-annotations.ts';

const POOL_LABEL = 'ip-pool-name';
const ANNOTATIONS = { 'external-ip': OURS.externalIp };

export function importExternalIpController(objects: readonly Loose[]): Imported {
  const of = (kind: string) => objects.filter((object) => kindOf(object) === kind);
  const claims = of('IpClaim');
  const nodes = of('IpNode');
  // claims are there only where a scheduler gives each address to one node
  const placement =
    claims.length + nodes.length === 0
      ? {}
      : { placement: { mode: 'exclusive', nodeFilter: nodeFilterOf(objects) } };
  const all = together([
    ...of('IpClaimPool').map((pool) => convertPool(pool, placement)),
    ...claims.map(convertClaim),
    serviceAnnotations(objects, ANNOTATIONS, (key) => key === 'external-ip'),
    nodes.length === 0
      ? NOTHING
      : gap(`IpNode (${nodes.length}): agents write IPNodes by themselves`),
  ]);
  return { ...all, gaps: [...all.gaps, ...overlaps(all.documents)] };
}

/** `--nodefilter` of its scheduler, wherever it is among the objects */
function nodeFilterOf(objects: readonly Loose[]): 'fair' | 'first-alive' {
  const containers = objects.flatMap((object) =>
    parts(part(part(part(object, 'spec'), 'template'), 'spec'), 'containers'),
  );
  const args = containers.flatMap((each) => [...texts(each, 'command'), ...texts(each, 'args')]);
  const words = args.join(' ');
  return /--nodefilter[= ]"?first-alive/.test(words) ? 'first-alive' : 'fair';
}

interface Network {
  /** as it is written */
  readonly host: Address;
  readonly first: Address;
  readonly last: Address;
  readonly text: string;
}

function networkOf(cidr: string): Network | undefined {
  const prefix = parsePrefixMasked(cidr);
  const host = parseAddress(cidr.slice(0, Math.max(cidr.indexOf('/'), 0)));
  if (prefix === undefined || host === undefined) return undefined;
  const first = prefixAddress(prefix);
  return { host, first, last: lastAddress(prefix), text: formatPrefix(prefix) };
}

function convertPool(object: Loose, placement: Loose): Imported {
  const name = nameOf(object);
  const about = `IpClaimPool ${name}`;
  const spec = part(object, 'spec');
  const network = networkOf(filledText(spec, 'cidr') ?? '');
  if (network === undefined) return gap(`${about}: its cidr cannot be read; it is left out`);
  const ranges = items(spec, 'ranges');
  const { addresses, isWhole, gaps } =
    ranges.length === 0 ? wholeNetwork(network, about) : narrowed(ranges, network, about);
  if (addresses.length === 0) {
    return {
      ...NOTHING,
      gaps: [...gaps, `${about}: it holds no address that it could give out; it is left out`],
    };
  }
  const document = documentOf('IPPool', name.toLowerCase(), {
    addresses,
    ...(isWhole ? { avoidFirstLast: true } : {}),
    // addresses are in externalIPs of Services there
    allowExternalIPs: true,
    ...placement,
  });
  return { documents: [document], commands: [], gaps };
}

interface Narrowed {
  readonly addresses: readonly string[];
  /** the network as such, without its ends */
  readonly isWhole: boolean;
  readonly gaps: readonly string[];
}

function wholeNetwork({ host, first, last, text }: Network, about: string): Narrowed {
  const begin = next(host);
  const end = previous(last);
  if (begin === undefined || end === undefined || compareAddress(begin, end) > 0) {
    return { addresses: [], isWhole: false, gaps: [] };
  }
  if (compareAddress(host, first) === 0) return { addresses: [text], isWhole: true, gaps: [] };
  const range = rangeText(begin, end);
  const note = `${about}: its cidr begins at ${formatAddress(host)} and not at ${formatAddress(first)}, so it gave out ${range} only`;
  return { addresses: [range], isWhole: false, gaps: [note] };
}

function narrowed(ranges: readonly unknown[], network: Network, about: string): Narrowed {
  const read = ranges.map((range) => oneRange(range, network));
  return {
    addresses: read.flatMap((each) => ('text' in each ? [each.text] : [])),
    isWhole: false,
    gaps: read.flatMap((each) => ('why' in each ? [`${about}: ${each.why}`] : [])),
  };
}

type OneRange = { readonly text: string } | { readonly why: string };

function oneRange(range: unknown, { first, last }: Network): OneRange {
  const ends = Array.isArray(range) ? range.map(String) : [];
  const shown = `the range [${ends.join(', ')}]`;
  const begin = parseAddress(ends[0] ?? '');
  const end = parseAddress(ends.at(-1) ?? '');
  if (begin === undefined || end === undefined)
    return { why: `${shown} cannot be read; it is left out` };
  if (compareAddress(begin, end) > 0)
    return { why: `${shown} ends before it begins; it is left out` };
  const top = previous(last);
  const isInside = begin.family === first.family && compareAddress(begin, first) >= 0;
  if (!isInside || top === undefined || compareAddress(begin, top) > 0) {
    return { why: `${shown} is outside of its cidr; it is left out` };
  }
  return { text: rangeText(begin, compareAddress(end, top) > 0 ? top : end) };
}

function rangeText(begin: Address, end: Address): string {
  const from = formatAddress(begin);
  const to = formatAddress(end);
  return from === to ? from : `${from}-${to}`;
}

function convertClaim(object: Loose): Imported {
  const name = nameOf(object);
  const about = `IpClaim ${name}`;
  const metadata = part(object, 'metadata');
  const spec = part(object, 'spec');
  const cidr = filledText(spec, 'cidr') ?? '';
  const address = parseAddress(cidr.replace(/\/\d+$/, ''));
  if (address === undefined) return gap(`${about}: its cidr cannot be read; it is left out`);
  if (items(metadata, 'ownerReferences').length > 0) {
    return gap(
      `${about}: it is a Service's: the controller makes the claim for what stands in spec.externalIPs`,
    );
  }
  const pool = labels(metadata, 'labels')[POOL_LABEL];
  const node = filledText(spec, 'nodeName');
  const link = filledText(spec, 'link');
  const document = documentOf('IPClaim', formatClaimName(address), {
    ...(pool === undefined ? {} : { pool: pool.toLowerCase() }),
    ...(node === undefined ? {} : { node, placement: { mode: 'exclusive' } }),
  });
  const gaps =
    link === undefined
      ? []
      : [
          `${about}: it is on the interface ${link} for ARP; Herald announces it by BGP (bind puts it on an interface as well)`,
        ];
  return { documents: [document], commands: [], gaps };
}
