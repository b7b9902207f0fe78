/** AS numbers: four octets on both ends, a neighbour that knows two, and neighbours whose number is learnt from the OPEN. */

import { expect } from 'chai';
import { type Cell, ourAsn, theirAsn } from '../cell.ts';
import { evidence } from '../evidence.ts';
import type { RouterKind } from '../routers/router.ts';
import type { Row } from './row.ts';

const large = { ours: 4_200_000_001, theirs: 4_200_000_002 } as const;
const asTrans = 23_456;
const prefix = '192.0.2.0/24';
const routes = [{ prefix }];

async function fourOctets(cell: Cell): Promise<readonly string[]> {
  const peer = { localAsn: large.ours, peerAsn: large.theirs, routes };
  const subject = await cell.connect(peer, { asn: large.ours }, { localAsn: large.theirs });
  const route = await cell.route('ipv4', prefix);
  expect(route.asPath).to.deep.equal([large.ours]);
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up).to.include({ as4: true, peerAsn: large.theirs });
  return [evidence.table(cell.kind, 'ipv4'), evidence.ours('established')];
}

/**
 * How each router plays the speaker that knows two octets. BIRD then refuses neighbours with a large number, so to BIRD we are
 * a small one with a large one behind; ExaBGP knows us as AS_TRANS. All but
 * FRR, which then has no capabilities at all, put AS4_PATH back into the path they show.
 */
type TwoOctet = { readonly ours: number; readonly asn: number };
const twoOctetTraits: Readonly<Record<RouterKind, TwoOctet>> = {
  bird: { ours: ourAsn, asn: ourAsn },
  frr: { ours: large.ours, asn: large.ours },
  gobgp: { ours: large.ours, asn: large.ours },
  openbgpd: { ours: large.ours, asn: large.ours },
  exabgp: { ours: large.ours, asn: asTrans },
};
const farAsn = 4_200_000_010;

/** RFC 6793 §4.2.2: AS_TRANS in the path, the truth in AS4_PATH. */
async function twoOctets(cell: Cell): Promise<readonly string[]> {
  const { ours, asn } = twoOctetTraits[cell.kind];
  const peer = { localAsn: ours, routes: [{ prefix, asPath: [farAsn] }] };
  const subject = await cell.connect(peer, { asn, isTwoOctet: true });
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up).to.include({ as4: false, peerAsn: theirAsn });
  const route = await cell.route('ipv4', prefix);
  const isMerged = cell.kind !== 'frr';
  expect(route.asPath).to.deep.equal(isMerged ? [ours, farAsn] : [asTrans, asTrans]);
  const filter = `bgp.update.path_attribute.type_code == 17 && ${cell.fromUs}`;
  const [frame] = await cell.capture.frames(filter, [
    'bgp.update.path_attribute.as_path_segment.as2',
    'bgp.update.path_attribute.as_path_segment.as4',
  ]);
  const short = ours === ourAsn ? ourAsn : asTrans;
  expect(frame?.['bgp.update.path_attribute.as_path_segment.as2']).to.equal(`${short},${asTrans}`);
  expect(frame?.['bgp.update.path_attribute.as_path_segment.as4']).to.equal(`${ours},${farAsn}`);
  return [evidence.table(cell.kind, 'ipv4'), evidence.wire(filter)];
}

async function learntExternal(cell: Cell): Promise<readonly string[]> {
  const subject = await cell.connect({ peerAsn: 'external', routes });
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up).to.include({ peerAsn: theirAsn, internal: false });
  expect((await cell.route('ipv4', prefix)).asPath).to.deep.equal([ourAsn]);
  // The same neighbour under the other rule: 2/2, Bad Peer AS.
  await subject.apply(cell.peer({ peerAsn: 'internal', routes }));
  const sent = await subject.event('a refusal', (event) => event.code === 2);
  expect(sent).to.include({ kind: 'notification-sent', code: 2, subcode: 2 });
  await cell.table('ipv4', []);
  return [
    evidence.table(cell.kind, 'ipv4'),
    evidence.ours('established'),
    evidence.ours('notification-sent 2/2 when told that it is internal'),
  ];
}

async function learntInternal(cell: Cell): Promise<readonly string[]> {
  const peer = { localAsn: theirAsn, peerAsn: 'internal', routes } as const;
  const subject = await cell.connect(peer, { asn: theirAsn });
  const up = await subject.event('established', (event) => event.kind === 'established');
  expect(up).to.include({ peerAsn: theirAsn, internal: true });
  expect((await cell.route('ipv4', prefix)).asPath).to.deep.equal([]);
  return [evidence.table(cell.kind, 'ipv4'), evidence.ours('established')];
}

export const asnRows: readonly Row[] = [
  { name: 'four-octet AS numbers on both ends', run: fourOctets },
  { name: 'two-octet neighbour: AS_TRANS and AS4_PATH', run: twoOctets },
  { name: 'asn: external', run: learntExternal },
  { name: 'asn: internal', run: learntInternal },
];
