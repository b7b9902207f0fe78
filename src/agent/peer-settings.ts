/**
 * From a BGPPeer document to the session that this node keeps with it, or the sentence that says why it keeps none. Pure.
 * One peer that cannot be used never disturbs another.
 */

import {
  type Address,
  addressKey,
  formatAddress,
  needsNewSession,
  type PeerSettings,
  type Prefix,
  prefixKey,
  sortSettings,
  type TtlRule,
} from 'bgp-ts';
import { type BgpPeer, overrideFor, type PeerOverride } from '../model/bgp-peer.ts';
import type { Sourced } from '../model/documents.ts';
import { selects } from '../model/labels.ts';
import { optional } from '../model/optional.ts';
import { ownPlace } from './service-address.ts';
import type { NodeIdentity, View } from './view.ts';

/** Everything about a session but whom it is with: shared by one neighbour and by a range of them. */
export type SessionTemplate = Omit<PeerSettings, 'name' | 'address' | 'zone'>;

export type PeerPlan = SessionPlan | RefusedPlan;

export type SessionPlan = (
  | { readonly kind: 'neighbour'; readonly settings: PeerSettings }
  | { readonly kind: 'range'; readonly range: Prefix; readonly template: SessionTemplate }
) & {
  readonly peer: BgpPeer;
  /** why nobody can say whether the key that it has is still the right one */
  readonly unreadKey?: string;
};

export interface RefusedPlan {
  readonly kind: 'refused';
  readonly peer: BgpPeer;
  readonly sentence: string;
  /** what it would have but for its key, which nobody can say yet: for a while no other one takes it */
  readonly awaited?: KeyWait;
}

interface KeyWait {
  /** by planKey */
  readonly session: string;
  readonly sinceMs: number;
}

/** a Secret that cannot be read just now is asked for every 10 s, and an API server restarts in less */
const KEY_PATIENCE_MS = 60_000;

/** undefined: this node is not selected, which is no fault */
export function planPeer(peer: BgpPeer, view: View): PeerPlan | undefined {
  if (!selects(peer.nodeSelector, view.node.labels)) return undefined;
  const override = overrideFor(peer, view.node.labels);
  const localAsn = override?.localAsn ?? peer.localAsn ?? view.node.asn;
  if (localAsn === undefined) {
    const sentence = `BGPPeer ${peer.name} names no localASN and the agent has no --asn: write one of them`;
    return { kind: 'refused', peer, sentence };
  }
  const plan = keylessPlan(peer, override, { view, localAsn });
  if (peer.password === undefined || plan.kind === 'refused') return plan;
  return withItsKey(plan, view);
}

function keylessPlan(
  peer: BgpPeer,
  override: PeerOverride | undefined,
  { view, localAsn }: { readonly view: View; readonly localAsn: number },
): PeerPlan {
  const template = sessionTemplate(peer, override, { ...view.node, asn: localAsn });
  if (override?.address === undefined && peer.target.kind === 'range') {
    return { kind: 'range', peer, range: peer.target.range, template };
  }
  const target = targetOf(peer, override);
  const own = ownPlace(target.address, 'files', view);
  if (own !== undefined && template.port === undefined) {
    const sentence = `BGPPeer ${peer.name}: ${formatAddress(target.address)} is this machine's own address (${own}); write the router's`;
    return { kind: 'refused', peer, sentence };
  }
  return { kind: 'neighbour', peer, settings: { ...template, ...target, name: peer.name } };
}

function withItsKey(plan: SessionPlan, view: View): PeerPlan {
  const { passwords, standing = [], documents } = view;
  const { peer } = plan;
  const unread = `the password of ${peer.name} has not been read yet`;
  const fact = passwords.get(peer.name) ?? { kind: 'unknown', problem: unread };
  if (fact.kind === 'ready') return withKey(plan, fact.password);
  if (fact.kind === 'missing') return { kind: 'refused', peer, sentence: fact.sentence };
  const { problem } = fact;
  // under its own name, or that of a document that is gone: the key of another one is for that one
  const names = new Set(documents.peers.map(({ object }) => object.name));
  const former = standing.filter(({ peer: { name } }) => name === peer.name || !names.has(name));
  const known = former.flatMap((each) => keyIfSame(each, plan) ?? [])[0];
  if (known !== undefined) return { ...withKey(plan, known), unreadKey: problem };
  const sentence = `${problem}; its session stays down until that can be read`;
  return { kind: 'refused', peer, sentence, awaited: keyWait(plan, view) };
}

/** the very one of before while it goes on */
function keyWait(plan: SessionPlan, { standing = [], nowMs }: View): KeyWait {
  const session = planKey(plan);
  const before = standing.find(
    (each) =>
      each.kind === 'refused' &&
      each.peer.name === plan.peer.name &&
      each.awaited?.session === session,
  );
  return waitOf(before) ?? { session, sinceMs: nowMs };
}

function waitOf(plan: PeerPlan | undefined): KeyWait | undefined {
  return plan?.kind === 'refused' ? plan.awaited : undefined;
}

function patienceEndMs(plan: PeerPlan): number {
  return (waitOf(plan)?.sinceMs ?? Number.POSITIVE_INFINITY) + KEY_PATIENCE_MS;
}

/** When another one may have what is kept free for one of these; undefined: by time alone, never. */
export function nextPatienceEndMs(plans: readonly PeerPlan[], nowMs: number): number | undefined {
  const next = Math.min(...plans.map(patienceEndMs).filter((endMs) => endMs > nowMs));
  return next === Number.POSITIVE_INFINITY ? undefined : next;
}

/**
 * The key of a session that stands, where this one is the same but for its name, and perhaps for its key. Not knowing the key is no reason to
 * end what the router takes; a session that has to be made anew waits for its own.
 */
function keyIfSame(standing: PeerPlan, plan: SessionPlan): string | undefined {
  if (standing.kind === 'refused' || planKey(standing) !== planKey(plan)) return undefined;
  const before = settingsOf(standing);
  const { password } = before;
  if (password === undefined) return undefined;
  const { name } = before;
  const after = { ...settingsOf(plan), name, password };
  return needsNewSession(before, after) ? undefined : password;
}

function settingsOf(plan: SessionPlan) {
  return plan.kind === 'neighbour' ? plan.settings : { ...plan.template, name: plan.peer.name };
}

function withKey(plan: SessionPlan, password: string): SessionPlan {
  return plan.kind === 'neighbour'
    ? { ...plan, settings: { ...plan.settings, password } }
    : { ...plan, template: { ...plan.template, password } };
}

/** inside one AS (RFC 4271 §1.1) */
export function isInternal(plan: SessionPlan): boolean {
  const { localAsn, peerAsn } = plan.kind === 'neighbour' ? plan.settings : plan.template;
  return peerAsn === 'internal' || localAsn === peerAsn;
}

const known = new WeakMap<View['documents']['peers'], boolean>();

/** True where the documents give nodes different AS numbers; what other agents have by --asn is not known here. */
export function areInSeveralAses({ documents, node }: View): boolean {
  const { peers } = documents;
  const answer = known.get(peers) ?? new Set(peers.flatMap((each) => asnsOf(each, node))).size > 1;
  known.set(peers, answer);
  return answer;
}

function asnsOf({ object }: Sourced<BgpPeer>, { asn }: NodeIdentity): readonly unknown[] {
  const { localAsn = asn, overrides } = object;
  return [localAsn, ...overrides.flatMap((each) => each.localAsn ?? [])];
}

function targetOf(
  peer: BgpPeer,
  override: PeerOverride | undefined,
): { readonly address: Address; readonly zone?: string } {
  if (override?.address !== undefined) {
    return {
      address: override.address,
      ...(override.zone === undefined ? {} : { zone: override.zone }),
    };
  }
  if (peer.target.kind === 'range') throw new Error(`${peer.name} is a range`);
  const { address, zone } = peer.target;
  return { address, ...(zone === undefined ? {} : { zone }) };
}

function sessionTemplate(
  peer: BgpPeer,
  override: PeerOverride | undefined,
  node: NodeIdentity & { readonly asn: number },
): SessionTemplate {
  const ttl = ttlRule(peer);
  const sourceAddress = override?.sourceAddress ?? peer.sourceAddress;
  return {
    ...(peer.port === DEFAULT_PORT ? {} : { port: peer.port }),
    localAsn: node.asn,
    peerAsn: peer.asn,
    routerId: override?.routerId ?? node.routerId,
    families: peer.families,
    timers: peer.timers,
    // what comes by itself and falls silent would be waited for without an end (decision 0074)
    ...(peer.target.kind === 'range' && { requiresHoldTime: true }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(sourceAddress === undefined ? {} : { sourceAddress }),
    ...(peer.sourceInterface === undefined ? {} : { sourceInterface: peer.sourceInterface }),
    nextHop: peer.nextHop,
    ...optional('extendedNextHop', peer.extendedNextHop),
    ...(peer.listen ? { listen: true } : {}),
    ...(peer.gracefulRestart === undefined ? {} : { gracefulRestart: peer.gracefulRestart }),
  };
}

const DEFAULT_PORT = 179;

function ttlRule({ ttlSecurity, multihop }: BgpPeer): TtlRule | undefined {
  if (ttlSecurity) return { kind: 'gtsm', hops: 1 };
  return multihop === undefined ? undefined : { kind: 'hops', hops: multihop };
}

/**
 * What cannot be had beside the others on this node, or at all, is refused, each peer by itself: what the speaker would refuse is known before
 * any route is decided on, so that nothing is said to be announced that no session carries.
 */
export function usablePlans(view: View): readonly PeerPlan[] {
  const planned = view.documents.peers.flatMap((document) => {
    const plan = planPeer(document.object, view);
    return plan === undefined ? [] : [{ document, plan: ifPossible(plan) }];
  });
  return withoutTwins(planned, view);
}

interface Planned {
  readonly document: Sourced<BgpPeer>;
  readonly plan: PeerPlan;
}

/**
 * Two peers that are one session on this node: that of files counts, then the one that stands,
 * then the older one. Only a node can tell, since selectors and overrides are about it. One that
 * waits for its key for long leaves its place to another one that has a session by now, and to
 * nobody who would wait as well: two that wait would both stand, and the one whose key came later
 * would take over what the first one has. Who waited has its place again when its key is known: the
 * other one was refused until then, and may never have come up.
 */
function withoutTwins(
  planned: readonly Planned[],
  { standing = [], nowMs }: View,
): readonly PeerPlan[] {
  const isOverdue = (plan: PeerPlan) => patienceEndMs(plan) <= nowMs;
  const names = namesByPlace([
    ...standing.filter(isOverdue),
    ...standing.filter((plan) => !isOverdue(plan)),
  ]);
  const isFromApi = ({ document }: Planned) => Number(document.source === 'api');
  const isNew = ({ plan }: Planned) => Number(names.get(placeOf(plan) ?? '') !== plan.peer.name);
  const inOrder = planned.toSorted(
    (a, b) =>
      isFromApi(a) - isFromApi(b) ||
      isNew(a) - isNew(b) ||
      a.document.createdMs - b.document.createdMs ||
      (a.plan.peer.name < b.plan.peer.name ? -1 : 1),
  );
  const plans = inOrder.map(({ plan }) => plan);
  const overdue = plans.filter(isOverdue);
  const keptFree = new Set(overdue.map(placeOf));
  const waitsToo = (plan: PeerPlan) => plan.kind === 'refused' && keptFree.has(placeOf(plan));
  const counting = namesByPlace([...plans.filter((plan) => !waitsToo(plan)), ...overdue]);
  return planned.map(({ plan }) => {
    const { peer } = plan;
    const other = counting.get(placeOf(plan) ?? '');
    if (other === undefined || other === peer.name || isOverdue(plan)) return plan;
    return { kind: 'refused', peer, sentence: twinSentence(plan, other) };
  });
}

/** by session, the first that has it */
function namesByPlace(plans: readonly PeerPlan[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const plan of plans) {
    const place = placeOf(plan);
    if (place !== undefined && !names.has(place)) names.set(place, plan.peer.name);
  }
  return names;
}

/** the session (planKey) that it has, or waits for; undefined: none */
export function placeOf(plan: PeerPlan): string | undefined {
  return plan.kind === 'refused' ? plan.awaited?.session : planKey(plan);
}

/** Routers of a range dial us: they are known by their address alone, whatever port or source the documents name beside it. */
export function planKey(plan: SessionPlan): string {
  if (plan.kind === 'range') return `range ${prefixKey(plan.range)}`;
  const { address, zone = '', port = DEFAULT_PORT, sourceAddress, sourceInterface } = plan.settings;
  const source = sourceAddress === undefined ? '' : addressKey(sourceAddress);
  return [addressKey(address), zone, port, source, sourceInterface ?? ''].join(' ');
}

function twinSentence({ kind, peer }: PeerPlan, other: string): string {
  return kind === 'range'
    ? `BGPPeer ${peer.name} has the same addressRange as BGPPeer ${other} on this node, and a range has one BGPPeer for routers on all interfaces; remove one, or give them different addressRange or nodeSelector`
    : `BGPPeer ${peer.name} is the same session as BGPPeer ${other} on this node; remove one, or give them different address, port or sourceAddress`;
}

/** The schema should have said so; a peer that comes from elsewhere (a saved View, an older API server) is refused here. */
function ifPossible(plan: PeerPlan): PeerPlan {
  if (plan.kind === 'refused') return plan;
  const { peer } = plan;
  const { refused } =
    plan.kind === 'neighbour'
      ? sortSettings([plan])
      : sortSettings([], [rangeWish({ ...plan, name: peer.name })]);
  const [first] = refused;
  return first === undefined ? plan : { kind: 'refused', peer, sentence: first.sentence };
}

/** a range as the speaker has it */
export function rangeWish(range: {
  readonly name: string;
  readonly range: Prefix;
  readonly template: SessionTemplate;
}) {
  const { name, template } = range;
  return { range: range.range, settings: { ...template, name } };
}
