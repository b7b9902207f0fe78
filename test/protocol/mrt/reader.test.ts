import { expect } from 'chai';
import fc from 'fast-check';
import { decodeAt, PLAIN_CONTEXT } from '../../../protocol/bgp/decode.ts';
import { decodeRibAttributes } from '../../../protocol/bgp/update.ts';
import { MrtReader } from '../../../protocol/mrt/reader.ts';
import { type MrtRecord, mrtTypeName } from '../../../protocol/mrt/record.ts';
import { formatAddress, formatPrefix } from '../../../protocol/net/address-text.ts';
import { bytes, chunked } from '../../support/arbitraries.ts';
import {
  concat,
  KEEPALIVE,
  MRT_TIME,
  mrtRecord,
  octets,
  PEER_INDEX,
  PEERS_FOUR_OCTETS,
  PEERS_IPV6,
  PEERS_TWO_OCTETS,
  RIB_ADD_PATH,
  RIB_IPV4,
  RIB_IPV6,
  UPDATE_ADD_PATH,
  UPDATE_FOUR_OCTETS,
  UPDATE_TWO_OCTETS,
} from '../../support/mrt-file.ts';

function readAll(chunks: readonly Uint8Array[]): MrtRecord[] {
  const reader = new MrtReader();
  const records: MrtRecord[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let next = reader.next(); next !== undefined; next = reader.next()) records.push(next);
  }
  const last = reader.end();
  return last === undefined ? records : [...records, last];
}

function only(record: Uint8Array): MrtRecord {
  const [first, ...more] = readAll([record]);
  expect(more).to.deep.equal([]);
  if (first === undefined) throw new Error('no record');
  return first;
}

function message(record: Uint8Array) {
  const found = only(record);
  if (found.kind !== 'message') throw new Error(`a ${found.kind}`);
  return found;
}

/** for comparing runs: the bytes of a message stand for its place in a chunk */
function summary(record: MrtRecord): unknown {
  if (record.kind === 'message') {
    const { bytes: whole, start, end, ...rest } = record;
    return { ...rest, octets: [...whole.slice(start, end)] };
  }
  if (record.kind !== 'rib') return record;
  const { bytes: whole, entries, ...rest } = record;
  return {
    ...rest,
    entries: entries.map(({ start, end, ...entry }) => ({
      ...entry,
      octets: [...whole.slice(start, end)],
    })),
  };
}

describe('MRT', () => {
  describe('BGP4MP', () => {
    it('says who spoke to whom, when, and what', () => {
      const record = message(mrtRecord(16, 4, `${PEERS_FOUR_OCTETS}${UPDATE_FOUR_OCTETS}`));
      expect(record).to.include({
        seconds: MRT_TIME,
        micros: 0,
        as4: true,
        addPath: false,
        isLocal: false,
      });
      expect(formatAddress(record.peer.address)).to.equal('192.0.2.1');
      expect(record.peer.asn).to.equal(65001);
      expect(formatAddress(record.local.address)).to.equal('192.0.2.2');
      expect(record.local.asn).to.equal(65000);
      const result = decodeAt(record.bytes, record.start, record.end, PLAIN_CONTEXT);
      expect(result.ok).to.equal(true);
    });

    it('reads two-octet sessions and IPv6 sessions', () => {
      const two = message(mrtRecord(16, 1, `${PEERS_TWO_OCTETS}${UPDATE_TWO_OCTETS}`));
      expect(two.peer.asn).to.equal(65001);
      const context = { ...PLAIN_CONTEXT, as4: two.as4 };
      expect(decodeAt(two.bytes, two.start, two.end, context).ok).to.equal(true);
      const six = message(mrtRecord(16, 4, `${PEERS_IPV6}${KEEPALIVE}`));
      expect(formatAddress(six.peer.address)).to.equal('2001:db8::1');
      expect(formatAddress(six.local.address)).to.equal('2001:db8::2');
    });

    const subtypes: readonly [number, string, boolean, boolean, boolean][] = [
      [1, 'MESSAGE', false, false, false],
      [4, 'MESSAGE_AS4', true, false, false],
      [6, 'MESSAGE_LOCAL', false, true, false],
      [7, 'MESSAGE_AS4_LOCAL', true, true, false],
      [8, 'MESSAGE_ADDPATH', false, false, true],
      [9, 'MESSAGE_AS4_ADDPATH', true, false, true],
      [10, 'MESSAGE_LOCAL_ADDPATH', false, true, true],
      [11, 'MESSAGE_AS4_LOCAL_ADDPATH', true, true, true],
    ];
    for (const [subtype, name, as4, isLocal, addPath] of subtypes) {
      it(`subtype ${subtype} is ${name}`, () => {
        const peers = as4 ? PEERS_FOUR_OCTETS : PEERS_TWO_OCTETS;
        const record = message(mrtRecord(16, subtype, `${peers}${KEEPALIVE}`));
        expect(record).to.include({ as4, isLocal, addPath });
        expect(record.end - record.start).to.equal(19);
        expect(mrtTypeName(record)).to.equal(`BGP4MP_${name}`);
      });
    }

    it('with path identifiers decodes as such', () => {
      const record = message(mrtRecord(16, 9, `${PEERS_FOUR_OCTETS}${UPDATE_ADD_PATH}`));
      const context = { ...PLAIN_CONTEXT, addPathReceive: [{ afi: 1, safi: 1 }] };
      const result = decodeAt(record.bytes, record.start, record.end, context);
      if (!result.ok || result.message.kind !== 'update') throw new Error('no UPDATE');
      expect(result.message.nlri[0]?.pathId).to.equal(7);
    });

    it('_ET has microseconds', () => {
      const record = message(mrtRecord(17, 4, `0001e240 ${PEERS_FOUR_OCTETS}${KEEPALIVE}`));
      expect(record).to.include({ seconds: MRT_TIME, micros: 123456 });
      expect(mrtTypeName(record)).to.equal('BGP4MP_ET_MESSAGE_AS4');
      expect(only(mrtRecord(17, 4, '0001')).kind).to.equal('malformed');
    });

    it('tells state changes', () => {
      expect(only(mrtRecord(16, 0, `${PEERS_TWO_OCTETS} 0005 0006`))).to.include({
        kind: 'state-change',
        from: 5,
        to: 6,
      });
      expect(only(mrtRecord(16, 5, `${PEERS_FOUR_OCTETS} 0006 0001`))).to.include({
        from: 6,
        to: 1,
      });
    });

    it('reports what is too short or of an unknown family', () => {
      expect(only(mrtRecord(16, 4, PEERS_FOUR_OCTETS.slice(0, -2))).kind).to.equal('malformed');
      expect(only(mrtRecord(16, 4, '')).kind).to.equal('malformed');
      expect(only(mrtRecord(16, 0, PEERS_TWO_OCTETS)).kind).to.equal('malformed');
      expect(only(mrtRecord(16, 1, PEERS_TWO_OCTETS.replace('0001', '0003'))).kind).to.equal(
        'malformed',
      );
    });

    it('reports unknown subtypes as unknown', () => {
      const record = only(mrtRecord(16, 99, 'aabb'));
      expect(record).to.include({ kind: 'unknown', type: 16, subtype: 99, length: 2 });
      expect(mrtTypeName(record)).to.equal('BGP4MP_99');
    });
  });

  describe('TABLE_DUMP_V2', () => {
    it('names the peers that entries point to', () => {
      const [index, rib] = readAll([concat([PEER_INDEX, RIB_IPV4])]);
      if (index?.kind !== 'peer-index' || rib?.kind !== 'rib') throw new Error('not as written');
      expect(index.viewName).to.equal('view');
      expect(index.peers.map(({ asn }) => asn)).to.deep.equal([65001, 4200000000]);
      expect(formatPrefix(rib.prefix)).to.equal('203.0.113.0/24');
      expect(rib.entries.map(({ peer }) => peer?.asn)).to.deep.equal([65001, 4200000000]);
      const [entry] = rib.entries;
      if (entry === undefined) throw new Error('no entry');
      const { attributes } = decodeRibAttributes(rib.bytes, entry.start, entry.end, rib);
      expect(attributes.asPath).to.deep.equal([{ type: 'sequence', asns: [65001] }]);
    });

    it('reads IPv6 entries with the next hop alone', () => {
      const [, rib] = readAll([concat([PEER_INDEX, RIB_IPV6])]);
      if (rib?.kind !== 'rib') throw new Error('no rib');
      expect(formatPrefix(rib.prefix)).to.equal('2001:db8::/32');
      const [entry] = rib.entries;
      if (entry === undefined) throw new Error('no entry');
      const { mpReach } = decodeRibAttributes(rib.bytes, entry.start, entry.end, rib).attributes;
      if (mpReach?.kind !== 'prefixes') throw new Error('no next hop');
      expect(mpReach.nextHops.map(formatAddress)).to.deep.equal(['2001:db8::1']);
    });

    it('reads path identifiers (RFC 8050)', () => {
      const rib = only(RIB_ADD_PATH);
      if (rib.kind !== 'rib') throw new Error('no rib');
      expect(rib.entries[0]).to.include({ pathId: 9 });
      expect(rib.entries[0]?.peer).to.equal(undefined);
      expect(mrtTypeName(rib)).to.equal('RIB_IPV4_UNICAST_ADDPATH');
    });

    it('reads generic records of families whose prefixes it knows', () => {
      const rib = only(
        mrtRecord(13, 6, '00000000 0002 02 20 20010db8 0001 0000 6553f100 0004 40010100'),
      );
      expect(rib).to.include({ kind: 'rib', afi: 2, safi: 2 });
      expect(only(mrtRecord(13, 6, '00000000 0019 46 aabb')).kind).to.equal('unknown');
      const paths = only(mrtRecord(13, 12, '00000000 0001 01 00 0001 0000 6553f100 00000005 0000'));
      expect(paths.kind === 'rib' && paths.entries[0]?.pathId).to.equal(5);
    });

    it('reports what does not add up', () => {
      expect(only(mrtRecord(13, 2, '00000000 21 cb00710000 0000')).kind).to.equal('malformed');
      expect(only(mrtRecord(13, 2, '00000000 18 cb0071 0001 0000')).kind).to.equal('malformed');
      expect(only(mrtRecord(13, 1, '0a000001 0000 0001')).kind).to.equal('malformed');
      expect(only(mrtRecord(13, 77, '00')).kind).to.equal('unknown');
    });
  });

  it('reads the old TABLE_DUMP', () => {
    const rib = only(
      mrtRecord(
        12,
        1,
        '0000 0001 cb007101 18 01 6553f100 c0000201 fde9 000b 40010100 4002040201fde9',
      ),
    );
    if (rib.kind !== 'rib') throw new Error(`a ${rib.kind}`);
    expect(formatPrefix(rib.prefix)).to.equal('203.0.113.0/24');
    const [entry] = rib.entries;
    if (entry === undefined) throw new Error('no entry');
    const { attributes } = decodeRibAttributes(rib.bytes, entry.start, entry.end, rib);
    expect(attributes.asPath).to.deep.equal([{ type: 'sequence', asns: [65001] }]);
    expect(
      only(mrtRecord(12, 1, '0000 0001 cb007100 21 01 6553f100 c0000201 fde9 0000')).kind,
    ).to.equal('malformed');
    expect(only(mrtRecord(12, 3, '00')).kind).to.equal('unknown');
  });

  it('steps over types that it does not know', () => {
    const records = readAll([concat([mrtRecord(11, 0, 'aabbcc'), PEER_INDEX])]);
    expect(records.map(({ kind }) => kind)).to.deep.equal(['unknown', 'peer-index']);
    expect(records[0] && mrtTypeName(records[0])).to.equal('MRT_11_0');
  });

  const FILE = concat([
    PEER_INDEX,
    RIB_IPV4,
    RIB_IPV6,
    mrtRecord(16, 4, `${PEERS_FOUR_OCTETS}${UPDATE_FOUR_OCTETS}`),
    mrtRecord(17, 4, `0001e240 ${PEERS_IPV6}${KEEPALIVE}`),
    mrtRecord(16, 5, `${PEERS_FOUR_OCTETS} 0006 0001`),
  ]);

  it('finds the same records whatever the chunks are', () => {
    const whole = readAll([FILE]).map(summary);
    expect(whole).to.have.lengthOf(6);
    fc.assert(
      fc.property(chunked(FILE), (chunks) => {
        expect(readAll(chunks).map(summary)).to.deep.equal(whole);
      }),
    );
    const octet = Array.from(FILE, (value) => Uint8Array.of(value));
    expect(readAll(octet).map(summary)).to.deep.equal(whole);
  });

  it('says where a file was cut off, at every octet', () => {
    const boundaries = new Set([0]);
    for (let at = 0; at < FILE.length; ) {
      at += 12 + new DataView(FILE.buffer, FILE.byteOffset).getUint32(at + 8);
      boundaries.add(at);
    }
    for (let length = 0; length < FILE.length; length++) {
      const last = readAll([FILE.slice(0, length)]).at(-1);
      const isCut = last?.kind === 'malformed';
      expect(isCut, `${length} octets`).to.equal(!boundaries.has(length));
    }
  });

  it('does not wait for a record that claims to be gigantic', () => {
    const reader = new MrtReader();
    reader.push(octets('6553f100 0010 0004 ffffffff 00'));
    expect(reader.next()).to.include({ kind: 'malformed' });
    reader.push(FILE);
    expect(reader.next()).to.equal(undefined);
    expect(reader.end()).to.equal(undefined);
  });

  it('answers arbitrary octets with records, never with a throw', () => {
    const framed = fc
      .tuple(fc.constantFrom(11, 12, 13, 16, 17), fc.integer({ min: 0, max: 13 }), bytes(80))
      .map(([type, subtype, body]) => mrtRecord(type, subtype, body));
    fc.assert(
      fc.property(fc.array(fc.oneof(framed, bytes(40)), { maxLength: 6 }), (chunks) => {
        readAll(chunks);
      }),
      { numRuns: 2000 },
    );
  });
});
