/**
 * TABLE_DUMP_V2 records (RFC 6396 §4.3, RFC 8050 §4) and the older TABLE_DUMP (RFC 6396 §4.2): snapshots of a routing table.
 *
 *   PEER_INDEX_TABLE   collector (4)  name length (2)  name  count (2)  { type (1)  identifier (4)  address  AS (2/4) }
 *   RIB_*              sequence (4)  prefix  count (2)  { peer (2)  originated (4)  [path identifier (4)]  length (2)  attributes }
 *
 * Reading past the end throws `OutOfBytes`, which the reader turns into a malformed record.
 */

import { Afi, Safi } from '../bgp/codes.ts';
import { isPrefixFamily } from '../bgp/family.ts';
import type { Nlri } from '../bgp/message.ts';
import { readIpv4Nlri, readIpv6Nlri } from '../bgp/nlri.ts';
import { u8At } from '../bytes/peek.ts';
import type { ByteReader } from '../bytes/reader.ts';
import { readAddress } from './bgp4mp.ts';
import type { MrtHeader, MrtPeer, MrtPeerIndex, MrtRecord, MrtRib, MrtRibEntry } from './record.ts';

const PEER_INDEX_TABLE = 1;
const RIB_GENERIC = 6;
/** RFC 8050: the same subtypes with path identifiers, from 8 on */
const ADD_PATH_OFFSET = 6;
const FIRST_ADD_PATH = 8;

/** indexed by subtype, without add-path */
const FAMILIES: readonly (readonly [number, number] | undefined)[] = [
  undefined,
  undefined,
  [Afi.ipv4, Safi.unicast],
  [Afi.ipv4, Safi.multicast],
  [Afi.ipv6, Safi.unicast],
  [Afi.ipv6, Safi.multicast],
];

/** Reads one record of TABLE_DUMP_V2; `peers` is the last index that came. */
export function readTableDumpV2(
  header: MrtHeader,
  reader: ByteReader,
  peers: readonly MrtPeer[],
): MrtRecord {
  const { subtype } = header;
  if (subtype === PEER_INDEX_TABLE) return readPeerIndex(header, reader);
  const addPath = subtype >= FIRST_ADD_PATH;
  const plain = addPath ? subtype - ADD_PATH_OFFSET : subtype;
  if (plain === RIB_GENERIC) return readGeneric(header, reader, peers, addPath);
  const family = FAMILIES[plain];
  if (family === undefined) return { kind: 'unknown', ...header, length: reader.remaining };
  reader.u32();
  const [afi, safi] = family;
  return readRib({ ...header, afi, safi, addPath }, reader, peers);
}

function readPeerIndex(header: MrtHeader, reader: ByteReader): MrtPeerIndex {
  const collectorId = reader.u32();
  const viewName = new TextDecoder().decode(reader.take(reader.u16()));
  const count = reader.u16();
  const peers: MrtPeer[] = [];
  for (let i = 0; i < count; i++) {
    const type = reader.u8();
    reader.u32();
    const address = takeAddress(reader, (type & 1) === 0 ? Afi.ipv4 : Afi.ipv6);
    peers.push({ address, asn: (type & 2) === 0 ? reader.u16() : reader.u32() });
  }
  return { kind: 'peer-index', ...header, collectorId, viewName, peers };
}

function takeAddress(reader: ByteReader, afi: number): MrtPeer['address'] {
  const part = reader.sub(afi === Afi.ipv4 ? 4 : 16);
  return readAddress(part.bytes, part.offset, afi);
}

interface RibHead extends MrtHeader {
  readonly afi: number;
  readonly safi: number;
  readonly addPath: boolean;
}

/** The family stands in the record; where its NLRI are opaque to us nobody can say where the entries start. */
function readGeneric(
  header: MrtHeader,
  reader: ByteReader,
  peers: readonly MrtPeer[],
  addPath: boolean,
): MrtRecord {
  const length = reader.remaining;
  reader.u32();
  const afi = reader.u16();
  const safi = reader.u8();
  if (!isPrefixFamily(afi, safi)) return { kind: 'unknown', ...header, length };
  return readRib({ ...header, afi, safi, addPath }, reader, peers);
}

function readRib(head: RibHead, reader: ByteReader, peers: readonly MrtPeer[]): MrtRecord {
  const { addPath, afi, safi, seconds, micros, type, subtype } = head;
  const header = { seconds, micros, type, subtype };
  const prefix = takePrefix(reader, afi);
  if (prefix === undefined) return { kind: 'malformed', ...header, detail: 'a prefix is too long' };
  const count = reader.u16();
  const entries: MrtRibEntry[] = [];
  for (let i = 0; i < count; i++) entries.push(readEntry(reader, peers, addPath));
  const rib: MrtRib = {
    kind: 'rib',
    ...header,
    afi,
    safi,
    prefix,
    as4: true,
    entries,
    bytes: reader.bytes,
  };
  return rib;
}

function takePrefix(reader: ByteReader, afi: number): Nlri | undefined {
  const start = reader.offset;
  const octets = (reader.u8() + 7) >> 3;
  reader.sub(octets);
  const read = afi === Afi.ipv4 ? readIpv4Nlri : readIpv6Nlri;
  return read(reader.bytes, start, reader.offset, false)?.[0];
}

function readEntry(reader: ByteReader, peers: readonly MrtPeer[], addPath: boolean): MrtRibEntry {
  const peer = peers[reader.u16()];
  const originatedSeconds = reader.u32();
  const pathId = addPath ? reader.u32() : undefined;
  const { offset: start, end } = reader.sub(reader.u16());
  const entry = { peer, originatedSeconds, start, end };
  return pathId === undefined ? entry : { ...entry, pathId };
}

/** One record of the old TABLE_DUMP: a single entry, two-octet AS numbers, the AFI as subtype. */
export function readTableDump(header: MrtHeader, reader: ByteReader): MrtRecord {
  const afi = header.subtype;
  if (afi !== Afi.ipv4 && afi !== Afi.ipv6)
    return { kind: 'unknown', ...header, length: reader.remaining };
  reader.u32();
  const network = reader.sub(afi === Afi.ipv4 ? 4 : 16);
  const length = reader.u8();
  if (length > (afi === Afi.ipv4 ? 32 : 128)) {
    return { kind: 'malformed', ...header, detail: `a prefix of ${length} bits` };
  }
  reader.u8();
  const originatedSeconds = reader.u32();
  const address = takeAddress(reader, afi);
  const peer = { address, asn: reader.u16() };
  const { offset: start, end } = reader.sub(reader.u16());
  const prefix = prefixOf(network, length, afi);
  return {
    kind: 'rib',
    ...header,
    afi,
    safi: Safi.unicast,
    prefix,
    as4: false,
    entries: [{ peer, originatedSeconds, start, end }],
    bytes: reader.bytes,
  };
}

/** A whole address and a length, in the form of NLRI, so that there is one place that masks. */
function prefixOf(network: ByteReader, length: number, afi: number): Nlri {
  const octets = (length + 7) >> 3;
  const nlri = new Uint8Array(1 + octets);
  nlri[0] = length;
  for (let i = 0; i < octets; i++) nlri[1 + i] = u8At(network.bytes, network.offset + i);
  const read = afi === Afi.ipv4 ? readIpv4Nlri : readIpv6Nlri;
  const prefix = read(nlri, 0, nlri.length, false)?.[0];
  if (prefix === undefined) throw new Error('a prefix of a checked length was refused');
  return prefix;
}
