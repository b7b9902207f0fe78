/**
 * What the placement loop knows of nodes: facts from the caches, and per group of claims who may have one. Remembers what it worked out
 * until a node's standing changes, since nodes report often and change rarely. No I/O.
 */

import type { Clock, Family } from 'bgp-ts';
import type { IpNode, IpNodeSession } from '../model/ip-node.ts';
import { selects } from '../model/labels.ts';
import { nodeLabel } from '../model/names.ts';
import type { AssignClaim, NodeGroup } from '../scheduler/assign.ts';
import {
  type ClaimDemand,
  groupOf,
  hasSession,
  type NodeFacts,
  reachOf,
  type Standing,
  standing,
  whyNobody,
} from '../scheduler/eligible.ts';
import { ANY_NODE } from '../scheduler/former-nodes.ts';
import { versionNumber } from '../sources/kube/object-key.ts';
import type { ControllerCaches } from './caches.ts';
import type { LivenessView } from './liveness-watch.ts';
import { isAwaited } from './quarantine.ts';

/** a node whose sessions have come back is given nothing of others for so long: those may be back in a moment */
const RETURN_MS = 10_000;

type NodeCaches = Pick<ControllerCaches, 'nodes' | 'ipNodes'>;

/** a node that may not have heard what became of a claim */
export interface Unaware {
  readonly name: string;
  /** by the nodeSelector of the claim's placement */
  readonly isSelected: boolean;
}

export class PlacementNodes {
  readonly #caches: NodeCaches;
  readonly #liveness: Pick<LivenessView, 'lifeOf' | 'hasRenewedTwice' | 'isRestarting'>;
  readonly #clock: Clock;
  readonly #demands = new Map<string, ClaimDemand>();
  readonly #groups = new Map<string, NodeGroup>();
  /** of each group: those that have had a session all the time */
  readonly #steady = new Map<NodeGroup, NodeGroup>();
  /** of each group, by holder: those that take no path from a router that has the holder's */
  readonly #reaching = new Map<NodeGroup, Map<string, NodeGroup>>();
  /** of each node: which of its sessions are up, and for what */
  readonly #sessions = new Map<string, string>();
  /** of each group: why nobody is eligible */
  readonly #whys = new Map<string, string>();
  readonly #sentences = new Map<string, string>();
  readonly #signatures = new Map<string, string>();
  readonly #names = new Map<string, string>();
  /** since when it has had no session; since when it has one again */
  readonly #cutSince = new Map<string, number>();
  readonly #backSince = new Map<string, number>();

  constructor(
    caches: NodeCaches,
    liveness: Pick<LivenessView, 'lifeOf' | 'hasRenewedTwice' | 'isRestarting'>,
    clock: Clock,
  ) {
    this.#caches = caches;
    this.#liveness = liveness;
    this.#clock = clock;
  }

  /** Everybody's standing anew; the names of those for whom it has changed, and of those that count as steady from now on. */
  lookAtAll(): readonly string[] {
    const steady = this.#grownSteady();
    const names = new Set([...this.known(), ...this.#signatures.keys()]);
    return [...names].filter((name) => this.look(name) || steady.has(name));
  }

  /** What only time changes is looked at here, once for all claims that wait for it. */
  #grownSteady(): ReadonlySet<string> {
    const since = this.#clock.now() - RETURN_MS;
    const grown = [...this.#backSince].filter(([, backMs]) => backMs <= since);
    for (const [name] of grown) this.#backSince.delete(name);
    if (grown.length > 0) this.#steady.clear();
    return new Set(grown.map(([name]) => name));
  }

  /** True when its standing with any group has changed. */
  look(name: string): boolean {
    const ipNode = this.#caches.ipNodes.get(name);
    const isGone = !this.isThere(name);
    if (isGone) this.#forget(name);
    else this.#names.set(nodeLabel(name), name);
    this.#noteSessions(name, ipNode);
    const facts = this.factsOf(name);
    const standings = [...this.#demands.values()].map((each) => standing(facts, each));
    this.#noteSentences(name, isGone ? undefined : standings);
    const signature = isGone ? undefined : standings.map(({ kind }) => kind).join();
    if (this.#signatures.get(name) === signature) return false;
    this.#groups.clear();
    this.#steady.clear();
    this.#reaching.clear();
    if (signature === undefined) this.#signatures.delete(name);
    else this.#signatures.set(name, signature);
    return true;
  }

  factsOf(name: string): NodeFacts {
    const node = this.#caches.nodes.get(name);
    const ipNode = this.#caches.ipNodes.get(name);
    const cutSince = this.#cutSince.get(name);
    return {
      name,
      life: this.#liveness.lifeOf(name),
      ...(node !== undefined && { node }),
      ...(ipNode !== undefined && { ipNode }),
      cutMs: cutSince === undefined ? 0 : this.#clock.now() - cutSince,
    };
  }

  /** whose label it is; undefined: of no node that we know */
  nameOf(label: string): string | undefined {
    return this.#names.get(label);
  }

  /** It has said that it knows the claims as of this version, or it is gone. ANY_NODE: all have. */
  hasLetGo(former: string, version: bigint): boolean {
    if (former === ANY_NODE) return [...this.known()].every((name) => this.#knows(name, version));
    return this.#knows(this.#names.get(nodeLabel(former)) ?? former, version);
  }

  /**
   * Nodes that may announce an anycast claim and may not hear what becomes of it, whichever of them
   * the nodeSelector of now selects: it may have been edited together with the mode, or since. They
   * have not been seen to renew their Lease twice since, and have not taken up this version or do not
   * live. One that had taken it up announces it still, by its anycast label, and would not hear that
   * this goes; of nodes that the selector leaves out nobody knows whether they live, so they count
   * once they have taken it up. They are waited for as for a released address (quarantine.ts): until they are back,
   * their Node is gone or out of service. Not one that renews and gets no news of its claims (0037).
   */
  unaware({ placement }: ClaimDemand, version: bigint, sinceMs: number): readonly Unaware[] {
    const found: Unaware[] = [];
    for (const name of [...this.known()].sort()) {
      const { node, ipNode, life } = this.factsOf(name);
      if (ipNode?.status.joined?.open !== true || !isAwaited(node)) continue;
      if (life === 'alive' && this.#liveness.hasRenewedTwice(name, sinceMs)) continue;
      const isSelected = node !== undefined && selects(placement.nodeSelector, node.labels);
      // one that has stopped by itself announces nothing; one that is not selected has no Lease
      const hears =
        (life === 'alive' && !this.#liveness.isRestarting(name)) ||
        life === 'released' ||
        !isSelected;
      if (!(hears && this.#knows(name, version))) found.push({ name, isSelected });
    }
    return found;
  }

  #knows(name: string, version: bigint): boolean {
    const ipNode = this.#caches.ipNodes.get(name);
    if (ipNode === undefined || !isAwaited(this.#caches.nodes.get(name))) return true;
    return versionNumber(ipNode.status.observedClaims ?? '') >= version;
  }

  standingOf(name: string, demand: ClaimDemand): Standing {
    return standing(this.factsOf(name), demand);
  }

  group(key: string, demand: ClaimDemand): NodeGroup {
    if (!this.#demands.has(key)) {
      this.#demands.set(key, demand);
      this.lookAtAll();
    }
    const known = this.#groups.get(key);
    if (known !== undefined) return known;
    const group = groupOf(this.#all(), demand);
    this.#groups.set(key, group);
    return group;
  }

  /** those of a group that have had a session all the time */
  steady(group: NodeGroup): NodeGroup {
    const known = this.#steady.get(group);
    if (known !== undefined) return known;
    const eligible = group.eligible.filter((name) => !this.#backSince.has(name));
    const steady = { eligible, keeps: group.keeps };
    this.#steady.set(group, steady);
    return steady;
  }

  /** Of a group those that a claim should be given to that cannot stay with its holder: whoever has a part in it, and all where none is better. */
  candidates(
    group: NodeGroup,
    { node: holder, near = [], avoid }: AssignClaim,
    { family }: ClaimDemand,
  ): NodeGroup {
    if (holder === undefined) return group;
    if (this.#isCut(holder)) return this.steady(group);
    const isOpen = (name: string) => avoid?.has(name) !== true;
    const isSettled = [holder, ...near].some(
      (name) => isOpen(name) && group.eligible.includes(name),
    );
    if (isSettled) return group;
    const reaching = this.#reachingFrom(holder, group, family);
    return reaching.eligible.some(isOpen) ? reaching : group;
  }

  /** a router that has the path of `holder` would lose it on this node */
  lacksRouterOf(holder: string, name: string, { family }: ClaimDemand): boolean {
    const { ipNodes } = this.#caches;
    return reachOf(ipNodes.get(name), ipNodes.get(holder), family) === 'lacks';
  }

  /** it lives, but nobody reaches anything through it */
  #isCut(name: string): boolean {
    const { life, cutMs } = this.factsOf(name);
    return life === 'alive' && cutMs > 0;
  }

  /** those of a group over which all routers of the holder keep a path */
  #reachingFrom(holder: string, group: NodeGroup, family: Family): NodeGroup {
    const byHolder = this.#reaching.get(group) ?? new Map<string, NodeGroup>();
    this.#reaching.set(group, byHolder);
    const known = byHolder.get(holder);
    if (known !== undefined) return known;
    const { ipNodes } = this.#caches;
    const had = ipNodes.get(holder);
    const reach = group.eligible.map((name) => reachOf(ipNodes.get(name), had, family));
    const eligible = group.eligible.filter((_, index) => reach[index] !== 'lacks');
    // where none reaches all of them, one that reaches some is as good as one elsewhere
    const isBetter = reach.includes('all') && reach.includes('lacks');
    const reaching = isBetter ? { eligible, keeps: group.keeps } : group;
    byHolder.set(holder, reaching);
    return reaching;
  }

  whyNobody(key: string, demand: ClaimDemand): string {
    const known = this.#whys.get(key);
    if (known !== undefined) return known;
    const why = whyNobody(this.#all(), demand);
    this.#whys.set(key, why);
    return why;
  }

  /** A pool or claim has changed: who asks now asks for something else. */
  forgetDemands(): void {
    this.#demands.clear();
    this.#groups.clear();
    this.#steady.clear();
    this.#reaching.clear();
    this.#whys.clear();
    this.#sentences.clear();
    this.#signatures.clear();
  }

  /** nodes of which anything is kept */
  get remembered(): ReadonlySet<string> {
    const since = [this.#cutSince, this.#backSince];
    const byName = [this.#signatures, this.#sentences, this.#sessions, ...since];
    return new Set([...this.#names.values(), ...byName.flatMap((map) => [...map.keys()])]);
  }

  /** neither Node nor IPNode is left of it */
  #forget(name: string): void {
    this.#names.delete(nodeLabel(name));
    this.#cutSince.delete(name);
    this.#backSince.delete(name);
    this.#sessions.delete(name);
  }

  isThere(name: string): boolean {
    const { nodes, ipNodes } = this.#caches;
    return nodes.get(name) !== undefined || ipNodes.get(name) !== undefined;
  }

  /** nodes that are there: a Node, or an agent that has been heard of */
  known(): ReadonlySet<string> {
    const { nodes, ipNodes } = this.#caches;
    return new Set([...nodes.items.keys(), ...ipNodes.items.keys()]);
  }

  *#all(): Iterable<NodeFacts> {
    for (const name of this.known()) yield this.factsOf(name);
  }

  #noteSessions(name: string, ipNode: IpNode | undefined): void {
    if (ipNode?.status.sessions === undefined) return;
    const sessions = sessionWords(ipNode.status.sessions);
    if (this.#sessions.get(name) !== sessions) this.#reaching.clear();
    this.#sessions.set(name, sessions);
    if (!hasSession(ipNode)) {
      if (!this.#cutSince.has(name)) this.#cutSince.set(name, this.#clock.now());
    } else if (this.#cutSince.delete(name)) {
      this.#backSince.set(name, this.#clock.now());
      this.#steady.clear();
    }
  }

  /** why a node is none may change while that it is none does not */
  #noteSentences(name: string, standings: readonly Standing[] | undefined): void {
    const said = standings?.map((each) => ('sentence' in each ? each.sentence : '')).join();
    if (this.#sentences.get(name) === said) return;
    if (said === undefined) this.#sentences.delete(name);
    else this.#sentences.set(name, said);
    this.#whys.clear();
  }
}

/** what decides which routers it reaches, and nothing that changes all the time */
function sessionWords(sessions: readonly IpNodeSession[]): string {
  const words = sessions.map(({ peer, address, state, cannotCarry = [] }) => {
    const families = cannotCarry.map(({ family }) => family).join('+');
    return `${peer} ${address} ${state === 'Established'} ${families}`;
  });
  return words.join();
}
