/**
 * RFC 7606 on the wire, attribute by attribute. The neighbour announces four routes, then sends an UPDATE with something wrong in
 * it. Judged is what a user of the library knows afterwards (which routes are gone, which stand, with what attributes), that
 * the session still works where it must, and the NOTIFICATION where it must not.
 */

import { expect } from 'chai';
import { formatPrefix } from '../../protocol/net/address-text.ts';
import { type SessionPair, withSession } from '../support/speaker-under-test.ts';
import {
  attribute,
  Capability,
  dotted,
  GOOD,
  Good,
  hex,
  join,
  KEEPALIVE,
  mpReach6,
  mpUnreach6,
  OUR_ASN,
  prefix4,
  routeRefresh,
  Type,
  toHex,
  type UpdateFields,
  USUAL_CAPABILITIES,
  u32,
  update,
} from '../support/wire-bytes.ts';
import { HeardTable } from '../support/wire-table.ts';

const A = '10.0.1.0/24';
const B = '10.0.2.0/24';
const C = '10.0.3.0/24';
const D = '2001:db8:d::/48';
const D_BYTES = hex('30 20010db8000d');

type SessionKind = 'ebgp' | 'ibgp' | 'two-octet';

const ORIGINAL_MED = attribute(0x80, 4, u32(1));
const CHANGED_MED = attribute(0x80, 4, u32(2));

/** the AS path of this kind of session */
function asPath(kind: SessionKind): Uint8Array {
  if (kind === 'ibgp') return attribute(0x40, 2, hex(''));
  return kind === 'two-octet' ? attribute(0x40, 2, hex('02 01 fde9')) : Good.asPath;
}

/** well-formed mandatory attributes, without those of the given codes */
function mandatory(kind: SessionKind, ...without: readonly number[]): Uint8Array[] {
  const all = [Good.origin, asPath(kind), Good.nextHop];
  if (kind === 'ibgp') all.push(Good.localPref);
  return all.filter((bytes) => !without.includes(bytes[1] ?? 0));
}

const OPENS = {
  ebgp: {},
  ibgp: { asn: OUR_ASN },
  'two-octet': { capabilities: USUAL_CAPABILITIES },
} as const;

async function withRoutes(
  kind: SessionKind,
  test: (pair: SessionPair, table: HeardTable) => Promise<void>,
): Promise<void> {
  const peer = kind === 'ibgp' ? { peerAsn: OUR_ASN } : {};
  const options = { peer, open: OPENS[kind], routes: ['203.0.113.7/32'] };
  await withSession(options, async (pair) => {
    const table = new HeardTable(pair.subject);
    pair.neighbour.send(
      update({
        attributes: [...mandatory(kind), ORIGINAL_MED],
        nlri: [prefix4(A), prefix4(B), prefix4(C)],
      }),
      update({ attributes: [mpReach6(D_BYTES), ...mandatory(kind), ORIGINAL_MED] }),
    );
    await pair.subject.until('update-received', ({ update: { attributes } }) => {
      return attributes.mpReach !== undefined;
    });
    expect(table.prefixes).to.deep.equal([A, B, C, D]);
    await test(pair, table);
  });
}

/** Keepalives flow, a refresh is answered, and the stream is still in step: the next UPDATE is read. */
async function expectWorkingSession(pair: SessionPair): Promise<void> {
  const { neighbour, subject } = pair;
  const before = subject.of('update-received').length;
  neighbour.send(KEEPALIVE, routeRefresh(1, 1));
  neighbour.send(update({ withdrawn: [prefix4('10.99.0.0/16')] }));
  const begin = await neighbour.expectMessage(Type.routeRefresh);
  expect(toHex(begin.body)).to.equal('00010101');
  const { body } = await neighbour.expectMessage(Type.update);
  expect(toHex(body)).to.contain('20cb007107');
  expect(toHex((await neighbour.expectMessage(Type.routeRefresh)).body)).to.equal('00010201');
  await subject.until('update-received', (event) => event.update.withdrawn.length === 1);
  expect(subject.of('update-received').length).to.equal(before + 1);
  expect(subject.status().state).to.equal('established');
  expect(subject.of('down')).to.deep.equal([]);
  expect(subject.of('notification-sent')).to.deep.equal([]);
}

interface Withdrawn {
  readonly name: string;
  readonly kind?: SessionKind;
  /** the UPDATE, which announces A unless it says something else */
  readonly update: UpdateFields;
  readonly subcode: number;
  /** hex of the fault's data where an RFC says what it is */
  readonly data?: string;
  readonly gone?: readonly string[];
}

/** announces A with these attributes beside the mandatory ones that are not named in `without` */
function announceA(
  bad: Uint8Array | readonly Uint8Array[],
  kind: SessionKind = 'ebgp',
  ...without: readonly number[]
): UpdateFields {
  const list = bad instanceof Uint8Array ? [bad] : bad;
  return { attributes: [...mandatory(kind, ...without), ...list], nlri: [prefix4(A)] };
}

/** replaces the mandatory attribute of this code by a bad one */
function replace(bad: Uint8Array, kind: SessionKind = 'ebgp'): UpdateFields {
  return announceA(bad, kind, bad[1] ?? 0);
}

function missing(kind: SessionKind, code: number): UpdateFields {
  return announceA([], kind, code);
}

const withdrawnBy = (name: string, bad: Uint8Array, subcode: number): Withdrawn => ({
  name,
  update: announceA(bad),
  subcode,
});
const replacedBy = (name: string, bad: Uint8Array, subcode: number): Withdrawn => ({
  name,
  update: replace(bad),
  subcode,
});

const WITHDRAWN: readonly Withdrawn[] = [
  replacedBy('ORIGIN of length 0 (§7.1)', attribute(0x40, 1, hex('')), 5),
  replacedBy('ORIGIN of length 2 (§7.1)', attribute(0x40, 1, hex('0000')), 5),
  { ...replacedBy('ORIGIN 3 (§7.1)', attribute(0x40, 1, hex('03')), 6), data: '40010103' },
  { name: 'no ORIGIN (§3 d)', update: missing('ebgp', 1), subcode: 3, data: '01' },
  replacedBy('AS_PATH with segment type 9 (§7.2)', attribute(0x40, 2, hex('0901 0000fde9')), 11),
  replacedBy('AS_PATH with segment type 0 (§7.2)', attribute(0x40, 2, hex('0001 0000fde9')), 11),
  replacedBy('AS_PATH whose segment overruns (§7.2)', attribute(0x40, 2, hex('02020000fde9')), 11),
  replacedBy('AS_PATH with one octet over (§7.2)', attribute(0x40, 2, hex('02010000fde902')), 11),
  replacedBy('AS_PATH with an empty segment (§7.2)', attribute(0x40, 2, hex('0200')), 11),
  replacedBy('AS_PATH with AS 0 (RFC 7607 §2)', attribute(0x40, 2, hex('020100000000')), 11),
  replacedBy('AS_CONFED_SEQUENCE (RFC 5065 §5)', attribute(0x40, 2, hex('03010000fde9')), 11),
  { name: 'no AS_PATH (§3 d)', update: missing('ebgp', 2), subcode: 3, data: '02' },
  replacedBy('NEXT_HOP of length 3 (§7.3)', attribute(0x40, 3, hex('c00002')), 5),
  replacedBy('NEXT_HOP of length 16 (§7.3)', attribute(0x40, 3, hex('20'.repeat(16))), 5),
  replacedBy('NEXT_HOP 0.0.0.0 (RFC 4271 §6.3)', attribute(0x40, 3, dotted('0.0.0.0')), 8),
  replacedBy('NEXT_HOP 224.0.0.1 (RFC 4271 §6.3)', attribute(0x40, 3, dotted('224.0.0.1')), 8),
  { name: 'no NEXT_HOP (§3 d)', update: missing('ebgp', 3), subcode: 3, data: '03' },
  withdrawnBy('MULTI_EXIT_DISC of length 3 (§7.4)', attribute(0x80, 4, hex('000001')), 5),
  {
    name: 'LOCAL_PREF of length 3 from an internal neighbour (§7.5)',
    kind: 'ibgp',
    update: replace(attribute(0x40, 5, hex('000064')), 'ibgp'),
    subcode: 5,
  },
  {
    name: 'no LOCAL_PREF from an internal neighbour (§3 d)',
    kind: 'ibgp',
    update: missing('ibgp', 5),
    subcode: 3,
    data: '05',
  },
  withdrawnBy('COMMUNITIES of length 3 (§7.8)', attribute(0xc0, 8, hex('fde800')), 5),
  withdrawnBy('COMMUNITIES of length 0 (§7.8)', attribute(0xc0, 8, hex('')), 5),
  {
    name: 'ORIGINATOR_ID of length 5 from an internal neighbour (§7.9)',
    kind: 'ibgp',
    update: announceA(attribute(0x80, 9, hex('0102030405')), 'ibgp'),
    subcode: 5,
  },
  {
    name: 'CLUSTER_LIST of length 6 from an internal neighbour (§7.10)',
    kind: 'ibgp',
    update: announceA(attribute(0x80, 10, hex('010203040506')), 'ibgp'),
    subcode: 5,
  },
  withdrawnBy(
    'EXTENDED COMMUNITIES of length 7 (§7.14)',
    attribute(0xc0, 16, hex('00'.repeat(7))),
    5,
  ),
  withdrawnBy('EXTENDED COMMUNITIES of length 0 (§7.14)', attribute(0xc0, 16, hex('')), 5),
  withdrawnBy(
    'IPv6 extended communities of 19 (§7.15)',
    attribute(0xc0, 25, hex('00'.repeat(19))),
    5,
  ),
  withdrawnBy('LARGE_COMMUNITY of 11 (RFC 8092 §6)', attribute(0xc0, 32, hex('00'.repeat(11))), 5),
  withdrawnBy('LARGE_COMMUNITY of 0 (RFC 8092 §6)', attribute(0xc0, 32, hex('')), 5),
  withdrawnBy('ONLY_TO_CUSTOMER of length 3 (RFC 9234 §5)', attribute(0xc0, 35, hex('000001')), 5),
  {
    ...replacedBy('ORIGIN flagged optional (§3 c)', attribute(0xc0, 1, hex('00')), 4),
    data: 'c0010100',
  },
  replacedBy('NEXT_HOP flagged non-transitive (§3 c)', attribute(0x00, 3, dotted('192.0.2.2')), 4),
  withdrawnBy('COMMUNITIES flagged well-known (§3 c)', attribute(0x40, 8, u32(1)), 4),
  withdrawnBy('ATOMIC_AGGREGATE flagged optional (§3 c)', attribute(0xc0, 6, hex('')), 4),
  {
    name: 'an attribute that runs past the end of the list (§4)',
    update: announceA(hex('c0 08 10 fde80001')),
    subcode: 1,
  },
  {
    name: 'one octet behind the last attribute (§4)',
    update: announceA(hex('c0')),
    subcode: 1,
  },
  {
    name: 'a discarded attribute beside a malformed one: the stronger outcome (§3 h)',
    update: announceA([attribute(0x40, 6, hex('00')), attribute(0x80, 4, hex('00'))]),
    subcode: 5,
  },
  {
    name: 'a bad ORIGIN beside an explicit withdrawal: both go',
    update: { ...replace(attribute(0x40, 1, hex('07'))), withdrawn: [prefix4(C)] },
    subcode: 6,
    gone: [A, C],
  },
  {
    name: 'a bad MED in an UPDATE of two families: both families go',
    update: {
      attributes: [mpReach6(D_BYTES), ...GOOD, attribute(0x80, 4, hex('00'))],
      nlri: [prefix4(B)],
    },
    subcode: 5,
    gone: [B, D],
  },
  {
    name: 'a bad ORIGIN over MP_REACH_NLRI alone: only IPv6 goes',
    update: { attributes: [mpReach6(D_BYTES), attribute(0x40, 1, hex('')), Good.asPath] },
    subcode: 5,
    gone: [D],
  },
  {
    name: 'a bad COMMUNITIES beside MP_UNREACH_NLRI and a reachable route: both go',
    update: announceA([mpUnreach6(D_BYTES), attribute(0xc0, 8, hex('00'))]),
    subcode: 5,
    gone: [A, D],
  },
];

describe('UPDATE errors that withdraw the routes of that UPDATE and no others (RFC 7606 §2)', () => {
  for (const wrong of WITHDRAWN) {
    it(wrong.name, () =>
      withRoutes(wrong.kind ?? 'ebgp', async (pair, table) => {
        const gone = wrong.gone ?? [A];
        pair.neighbour.send(update(wrong.update));
        const { fault } = await pair.subject.until('update-fault');
        expect(fault).to.include({ code: 3, subcode: wrong.subcode, outcome: 'treat-as-withdraw' });
        if (wrong.data !== undefined) expect(toHex(fault.data)).to.equal(wrong.data);
        const told = fault.withdrawn.flatMap(({ nlri }) => {
          return nlri instanceof Uint8Array ? [toHex(nlri)] : nlri.map(formatPrefix);
        });
        expect(told.toSorted()).to.deep.equal(gone);
        expect(table.prefixes).to.deep.equal([A, B, C, D].filter((route) => !gone.includes(route)));
        expect(pair.subject.status().counters.faults).to.equal(1);
        await expectWorkingSession(pair);
      }),
    );
  }
});

interface Discarded {
  readonly name: string;
  readonly kind?: SessionKind;
  readonly bad: readonly Uint8Array[];
  readonly attribute: number;
  /** name of the attribute in the message, which must not be there */
  readonly absent: string;
}

const DISCARDED: readonly Discarded[] = [
  {
    name: 'ATOMIC_AGGREGATE of length 1 (§7.6)',
    bad: [attribute(0x40, 6, hex('00'))],
    attribute: 6,
    absent: 'atomicAggregate',
  },
  {
    name: 'AGGREGATOR of length 6 between speakers of four octets (§7.7)',
    bad: [attribute(0xc0, 7, hex('fde9 c0000202'))],
    attribute: 7,
    absent: 'aggregator',
  },
  {
    name: 'AGGREGATOR of length 8 from a speaker of two octets (§7.7)',
    kind: 'two-octet',
    bad: [attribute(0xc0, 7, hex('0000fde9 c0000202'))],
    attribute: 7,
    absent: 'aggregator',
  },
  {
    name: 'AGGREGATOR with AS 0 (RFC 7607 §2)',
    bad: [attribute(0xc0, 7, hex('00000000 c0000202'))],
    attribute: 7,
    absent: 'aggregator',
  },
  {
    name: 'LOCAL_PREF from an external neighbour, well formed (§7.5)',
    bad: [Good.localPref],
    attribute: 5,
    absent: 'localPref',
  },
  {
    name: 'LOCAL_PREF from an external neighbour, malformed (§7.5)',
    bad: [attribute(0x40, 5, hex('01'))],
    attribute: 5,
    absent: 'localPref',
  },
  {
    name: 'LOCAL_PREF from an external neighbour, with wrong flags (§7.5)',
    bad: [attribute(0xc0, 5, u32(100))],
    attribute: 5,
    absent: 'localPref',
  },
  {
    name: 'ORIGINATOR_ID from an external neighbour (§7.9)',
    bad: [attribute(0x80, 9, u32(1))],
    attribute: 9,
    absent: 'originatorId',
  },
  {
    name: 'CLUSTER_LIST from an external neighbour, malformed (§7.10)',
    bad: [attribute(0x80, 10, hex('0102'))],
    attribute: 10,
    absent: 'clusterList',
  },
  {
    name: 'AS4_PATH between speakers of four octets (RFC 6793 §4.1)',
    bad: [attribute(0xc0, 17, hex('02010000fde9'))],
    attribute: 17,
    absent: 'as4Path',
  },
  {
    name: 'AS4_AGGREGATOR of length 7 from a speaker of two octets (RFC 6793 §6)',
    kind: 'two-octet',
    bad: [attribute(0xc0, 18, hex('0000fde9 c00002'))],
    attribute: 18,
    absent: 'as4Aggregator',
  },
  {
    name: 'AS4_PATH that overruns from a speaker of two octets (RFC 6793 §6)',
    kind: 'two-octet',
    bad: [attribute(0xc0, 17, hex('02090000fde9'))],
    attribute: 17,
    absent: 'as4Path',
  },
];

describe('UPDATE errors that drop one attribute (RFC 7606 §2 attribute discard)', () => {
  for (const { name, kind = 'ebgp', bad, attribute: code, absent } of DISCARDED) {
    it(`${name}: the route stands without it`, () =>
      withRoutes(kind, async (pair, table) => {
        pair.neighbour.send(update(announceA([CHANGED_MED, ...bad], kind)));
        const { issue } = await pair.subject.until('update-issue');
        expect(issue).to.include({ attribute: code, outcome: 'discard-attribute' });
        expect(table.prefixes).to.deep.equal([A, B, C, D]);
        expect(table.attributes(A))
          .to.include({ med: 2, origin: 'igp' })
          .and.not.have.property(absent);
        expect(table.attributes(B)).to.include({ med: 1 });
        expect(pair.subject.of('update-fault')).to.deep.equal([]);
        await expectWorkingSession(pair);
      }));
  }

  it('an attribute that comes twice: the first one counts (§3 g)', () =>
    withRoutes('ebgp', async (pair, table) => {
      pair.neighbour.send(update(announceA([CHANGED_MED, attribute(0x80, 4, u32(9))])));
      const { issue } = await pair.subject.until('update-issue');
      expect(issue).to.include({ attribute: 4, outcome: 'discard-attribute' });
      expect(table.attributes(A)).to.include({ med: 2 });
      await expectWorkingSession(pair);
    }));

  it('a bad attribute without any route is dropped too where dropping is its outcome (§5.2)', () =>
    withRoutes('ebgp', async (pair, table) => {
      pair.neighbour.send(update({ attributes: [attribute(0x40, 6, hex('00'))] }));
      await pair.subject.until('update-issue');
      expect(table.prefixes).to.deep.equal([A, B, C, D]);
      await expectWorkingSession(pair);
    }));

  it('an unknown optional attribute is no error: it stands as it came', () =>
    withRoutes('ebgp', async (pair, table) => {
      pair.neighbour.send(update(announceA([CHANGED_MED, attribute(0xc0, 200, hex('cafe'))])));
      await pair.subject.until('update-received', ({ update: { attributes } }) => {
        return attributes.med === 2;
      });
      expect(table.attributes(A)?.unknown).to.deep.equal([
        { code: 200, flags: 0xc0, value: hex('cafe') },
      ]);
      expect(pair.subject.of('update-issue')).to.deep.equal([]);
      await expectWorkingSession(pair);
    }));
});

interface Reset {
  readonly name: string;
  readonly update: UpdateFields;
  readonly notification: string;
}

const mpReachWithHop = (hop: string) =>
  attribute(0x80, 14, join(hex('0002 01'), hex(hop), hex('00'), D_BYTES));

const RESETS: readonly Reset[] = [
  {
    name: 'withdrawn routes longer than the message (RFC 4271 §6.3)',
    update: { withdrawnLength: 200 },
    notification: '3/1',
  },
  {
    name: 'path attributes longer than the message (RFC 4271 §6.3)',
    update: { ...announceA([]), attributesLength: 200 },
    notification: '3/1',
  },
  {
    name: 'a prefix of 33 bits in the NLRI (§5.3)',
    update: { attributes: GOOD, nlri: [hex('21 0a00010000')] },
    notification: '3/10',
  },
  {
    name: 'a prefix that does not fit into the NLRI (§5.3)',
    update: { attributes: GOOD, nlri: [prefix4(A), hex('18 0a00')] },
    notification: '3/10',
  },
  {
    name: 'a prefix of 33 bits in the withdrawn routes (§5.3)',
    update: { withdrawn: [hex('21 0a00010000')] },
    notification: '3/10',
  },
  {
    name: 'MP_REACH_NLRI twice (§3 g)',
    update: { attributes: [mpReach6(D_BYTES), mpReach6(D_BYTES), ...GOOD] },
    notification: '3/1',
  },
  {
    name: 'MP_UNREACH_NLRI twice (§3 g)',
    update: { attributes: [mpUnreach6(D_BYTES), mpUnreach6(D_BYTES)] },
    notification: '3/1',
  },
  {
    name: 'MP_REACH_NLRI with a next hop of 5 octets (§7.11)',
    update: { attributes: [mpReachWithHop('05 0102030405'), ...GOOD] },
    notification: '3/9 800e11000201050102030405003020010db8000d',
  },
  {
    name: 'MP_REACH_NLRI with a prefix of 129 bits (§5.3)',
    update: { attributes: [mpReach6(hex('81'), hex('20'.repeat(17))), ...GOOD] },
    notification: '3/9',
  },
  {
    name: 'MP_UNREACH_NLRI of 2 octets (§7.12)',
    update: { attributes: [attribute(0x80, 15, hex('0002'))] },
    notification: '3/9 800f020002',
  },
  {
    name: 'MP_REACH_NLRI that runs past the end of the list (§5.3)',
    update: { attributes: [...GOOD, hex('80 0e ff 0002 01')] },
    notification: '3/1',
  },
  {
    name: 'an unknown well-known attribute (RFC 4271 §6.3)',
    update: announceA(attribute(0x40, 99, hex('01'))),
    notification: '3/2 40630101',
  },
  {
    name: 'a malformed attribute and no route that could be withdrawn (§5.2)',
    update: { attributes: [attribute(0x40, 1, hex('09'))] },
    notification: '3/6 40010109',
  },
  {
    name: 'a bad ORIGIN and a broken NLRI: the strongest outcome (§3 h)',
    update: { ...replace(attribute(0x40, 1, hex('09'))), nlri: [hex('30 0a')] },
    notification: '3/10',
  },
];

describe('UPDATE errors that end the session (RFC 7606 §5, RFC 4271 §6.3)', () => {
  for (const { name, update: fields, notification } of RESETS) {
    it(`${name}: sends ${notification.split(' ')[0]}`, () =>
      withRoutes('ebgp', async ({ neighbour, subject, port }, table) => {
        neighbour.send(update(fields));
        const sent = await neighbour.expectNotification();
        const [code] = notification.split(' ');
        expect(notification.includes(' ') ? sent : sent.split(' ')[0]).to.equal(notification);
        expect(await neighbour.expectEnd()).to.equal('fin');
        const { reason, wasEstablished } = await subject.until('down');
        expect(wasEstablished).to.equal(true);
        expect(reason).to.include({ kind: 'notification-sent', code: 3 });
        expect(`3/${'subcode' in reason ? reason.subcode : ''}`).to.equal(code);
        expect(table.prefixes, 'all routes of the session are gone').to.deep.equal([]);
        // and the session comes back by itself
        const again = await port.accept();
        await again.establish();
      }));
  }

  it('an OPEN offering only IPv4 makes IPv6 routes unknown, not an error (RFC 4760 §8)', () =>
    withSession(
      { open: { capabilities: [Capability.ipv4, Capability.asn4(65001)] }, endOfRibs: 1 },
      async ({ neighbour, subject }) => {
        neighbour.send(update({ attributes: [mpReach6(D_BYTES), ...GOOD] }), KEEPALIVE);
        await subject.until('update-received');
        expect(subject.status().state).to.equal('established');
      },
    ));
});
