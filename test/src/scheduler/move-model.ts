/**
 * A small world for move.ts: one claim, four nodes whose agents learn of labels and answer when they get round to it, a controller that
 * sees both late, writes guarded by the version, forgets everything when it crashes, and a router that keeps one path per node.
 *
 * A node may fall silent for good (the router drops its path, later the controller calls it dead) or be cut off from the API (it steps
 * down by itself, further when its Lease has run out, later the controller calls it dead, later it comes back): one at a time. Or nodes refuse
 * the claim and accept it again, as many at once as like. Or nodes list no level that they leave at, since thousands leave them. Or one renews its Lease and is deaf to its claims. Or, while one is cut off, others
 * start anew, or the whole API is away. Or the claim is withdrawn and announced again, beside nodes that are deaf to it. Drains, whose wait may be over, and crashes of the controller come at any time.
 *
 * Three routers look at the same paths: one that ignores GRACEFUL_SHUTDOWN, one that honours it, and one of the same AS. A fault is two paths
 * that a router takes for equal, no path, and a former holder that is preferred to the present one.
 */

import { drainGate } from '../../../src/agent/drain-gate.ts';
import { type Standing, standingOf } from '../../../src/agent/placement.ts';
import { RouteAttributeTable } from '../../../src/agent/route-attributes.ts';
import type { View } from '../../../src/agent/view.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import { unknownPool } from '../../../src/model/former-pools.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { nodeLabel, type PreferenceLevel } from '../../../src/model/names.ts';
import { assign } from '../../../src/scheduler/assign.ts';
import {
  answerVersion,
  cutOffLevel,
  formerLevel,
  lingeringLevel,
  type MoveWrite,
  moveStep,
  type Part,
} from '../../../src/scheduler/move.ts';

export const NODES = ['a', 'b', 'c', 'd'] as const;
export type NodeName = (typeof NODES)[number];

interface ClaimObject {
  readonly version: number;
  readonly node?: string;
  readonly levels: ReadonlyMap<string, PreferenceLevel>;
  readonly isWithdrawn: boolean;
  /** how often others have written what it says, as `metadata.generation` counts it */
  readonly generation: number;
  /** how often a node was told to hold it */
  readonly epoch: number;
  /** labels that were taken away, of nodes that had not said that they know */
  readonly former: ReadonlySet<string>;
}

interface Left {
  readonly version: number;
  readonly level: PreferenceLevel;
}

interface Agent {
  state: 'up' | 'dead' | 'cut';
  isFenced: boolean;
  hasLapsed: boolean;
  /** renews its Lease, and hears nothing of its claims */
  isDeaf: boolean;
  isDraining: boolean;
  /** the controller calls it dead */
  isDeclared: boolean;
  /** has taken up the claim since it came back */
  isCurrent: boolean;
  knows: number;
  /** of the claim as it knows it */
  label: PreferenceLevel | undefined;
  epoch: number;
  /** how it announces the claim; undefined: not at all */
  standing: Standing | undefined;
  isRefusing: boolean;
  /** it holds the claim alone, for so long that it tells no level of it any more */
  isAtRest: boolean;
  /** it announces what it has said that it refuses: nobody can know yet, and so nobody promises to keep it */
  isUntold: boolean;
  report: {
    readonly version: number;
    readonly answer: PreferenceLevel | 'nothing';
    readonly isRefusing: boolean;
  };
}

export const EVENTS = [
  'apply',
  'report',
  'sync',
  'step',
  'drain',
  'undrain',
  'die',
  'drop',
  'cut',
  'fence',
  'declare',
  'heal',
  'undeclare',
  'crash',
  'overdue',
  'refuse',
  'accept',
  'deafen',
  'hear',
  'lapse',
  'restart',
  'outage',
  'restore',
  'expire',
  'withdraw',
  'announce',
  'age',
] as const;
export type EventKind = (typeof EVENTS)[number];
export interface ModelEvent {
  readonly kind: EventKind;
  readonly node: NodeName;
}

/** what may go wrong at the same time; `deaf-refusal`: both at once; `second`: on top of a node that is cut off; `chain`: the same, and nodes are cut off one after the other */
export type Faults =
  | 'silence'
  | 'slowness'
  | 'refusal'
  | 'deafness'
  | 'deaf-refusal'
  | 'withdrawal'
  | 'second'
  | 'chain';

const REFUSAL: readonly Faults[] = ['refusal', 'deaf-refusal'];
const DEAFNESS: readonly Faults[] = ['deafness', 'withdrawal', 'deaf-refusal'];

const POOL = poolOf();
const attributes = new RouteAttributeTable();

/** by router: what it compares two paths by, the lesser is preferred; all nodes are in one AS, so that MED counts (RFC 4271 §9.1.2.2 c) */
const ROUTERS: Readonly<Record<string, (path: Announced) => readonly number[]>> = {
  'that ignores GRACEFUL_SHUTDOWN': (path) => {
    const { prepend = 0, med = 0 } = attributesOf(path);
    return [prepend, med];
  },
  'that honours it': (path) => {
    const { prepend = 0, med = 0 } = attributesOf(path);
    return [path.isDraining ? 1 : 0, prepend, med];
  },
  'of the same AS': (path) => {
    const { localPref = 100, med = 0 } = attributesOf(path);
    return [-localPref, med];
  },
};

interface Announced {
  readonly node: string;
  readonly standing: Standing;
  readonly isDraining: boolean;
  /** as the node knows it */
  readonly label: PreferenceLevel | undefined;
  readonly epoch: number;
}

function attributesOf({ standing, isDraining }: Announced) {
  const { level = 0, ...rest } = standing;
  return attributes.attributes(undefined, { ...rest, level, isDraining, isPlaced: true });
}

/** the present holder drains: a router may prefer whoever does not */
function isFormer(one: Announced, other: Announced): boolean {
  const areHolders = one.label === 0 && other.label === 0 && !one.isDraining && !other.isDraining;
  return areHolders && one.epoch < other.epoch;
}

function compare(one: readonly number[], other: readonly number[]): number {
  const at = one.findIndex((each, index) => each !== other[index]);
  return at < 0 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
}

export class MoveModel {
  readonly #faults: Faults;
  readonly #leaving: readonly PreferenceLevel[] | undefined;
  readonly #isCrowded: boolean;
  #object: ClaimObject = {
    version: 1,
    levels: new Map(),
    isWithdrawn: false,
    generation: 0,
    epoch: 0,
    former: new Set(),
  };
  #isOut = false;
  #seen: ClaimObject = this.#object;
  readonly #agents = new Map<string, Agent>();
  readonly #avoid = new Set<string>();
  /** labels that were taken away, the version that did it, and the level that it had */
  readonly #left = new Map<string, Left>();
  /** versions of the writes in which labels got their values, while the controller remembers them */
  readonly #labelled = new Map<string, number>();
  #generation = 0;
  #isOverdue = false;
  #hasPath = false;
  writes = 0;

  /** `leaving`: where holders go instead, to see that the model notices; `isCrowded`: no node lists what leaves it */
  constructor(
    faults: Faults,
    more: { readonly leaving?: readonly PreferenceLevel[]; readonly isCrowded?: true } = {},
  ) {
    this.#faults = faults;
    this.#leaving = more.leaving;
    this.#isCrowded = more.isCrowded === true;
    for (const node of NODES) this.#agents.set(node, newAgent());
  }

  /** what is wrong at the router, if anything */
  get fault(): string | undefined {
    const paths = [...this.#agents].flatMap(([node, { standing, ...more }]) =>
      standing === undefined ? [] : [{ node, standing, ...more }],
    );
    for (const [router, keyOf] of Object.entries(ROUTERS)) {
      const fault = wrongAt(paths, keyOf);
      if (fault !== undefined) return `${fault} at a router ${router}: ${this.paths}`;
    }
    return paths.length === 0 && this.#hasPath ? 'no path' : undefined;
  }

  get holder(): string | undefined {
    return this.#object.node;
  }

  get labels(): string {
    return [...this.#object.levels].map(([label, level]) => `${label}=${level}`).join(' ');
  }

  get paths(): string {
    return [...this.#agents]
      .map(([name, { standing }]) => `${name}:${standing?.level ?? '-'}`)
      .join(' ');
  }

  eligible(): readonly string[] {
    return NODES.filter((node) => {
      const agent = this.agent(node);
      return !agent.isDeclared && !agent.isDraining;
    });
  }

  agent(node: string): Agent {
    const agent = this.#agents.get(node);
    if (agent === undefined) throw new Error(`no node ${node}`);
    return agent;
  }

  run({ kind, node }: ModelEvent): void {
    this.#work(kind, node);
    if (kind === 'drain' || kind === 'undrain') this.agent(node).isDraining = kind === 'drain';
    if (kind === 'expire') this.#expire(node);
    if (kind === 'crash') this.#crash();
    if (kind === 'overdue') this.#isOverdue = ['slowness', 'deafness'].includes(this.#faults);
    if (['silence', 'second', 'chain'].includes(this.#faults)) this.#fail(kind, node);
    if (REFUSAL.includes(this.#faults)) this.#refuse(kind, node);
    if (DEAFNESS.includes(this.#faults)) this.#deafen(kind, node);
    if (this.#faults === 'withdrawal') this.#withdraw(kind);
    if (kind === 'age') this.#age(node);
    if (['second', 'chain'].includes(this.#faults)) this.#secondFault(kind, node);
  }

  #work(kind: EventKind, node: NodeName): void {
    if (kind === 'apply') this.#apply(node);
    if (kind === 'report') this.#report(node);
    if (this.#isOut) return;
    if (kind === 'sync') this.#seen = this.#object;
    if (kind === 'step') this.#step();
  }

  /** everybody who lives does its work, until nothing changes */
  settle(): void {
    this.#restore();
    if (this.#object.isWithdrawn) this.#withdraw('announce');
    for (const node of NODES) this.#mend(node);
    for (let round = 0; round < 30; round += 1) {
      for (const node of NODES) {
        this.#apply(node);
        this.#report(node);
      }
      this.run({ kind: 'sync', node: 'a' });
      this.#step();
      const fault = this.fault;
      if (fault !== undefined) throw new Error(fault);
    }
  }

  #mend(node: NodeName): void {
    this.agent(node).isDeaf = false;
    for (const kind of ['drop', 'fence', 'lapse', 'declare'] as const) this.#fail(kind, node);
  }

  #apply(node: NodeName): void {
    const agent = this.agent(node);
    if (agent.state !== 'up' || agent.isDeaf) return;
    agent.knows = this.#object.version;
    agent.label = this.#object.levels.get(nodeLabel(node));
    agent.epoch = this.#object.epoch;
    agent.isFenced = false;
    agent.hasLapsed = false;
    agent.isCurrent = true;
    agent.isAtRest = false;
    const before = agent.standing;
    const isSilent = agent.isRefusing || this.#object.isWithdrawn;
    agent.standing = isSilent ? undefined : standing(node, agent);
    if (before === undefined && agent.standing !== undefined && !agent.isUntold)
      this.#hasPath = true;
  }

  /**
   * The word comes with the fact, or milliseconds later: not there. While the only one that announces it fails, another may just have been
   * told to leave: from then on a path counts again when a node that has a part in the claim has told of it.
   */
  #refuse(kind: EventKind, node: NodeName): void {
    const agent = this.agent(node);
    if (kind === 'accept') agent.isRefusing = false;
    if (kind !== 'refuse') return;
    agent.isRefusing = true;
    agent.isUntold = true;
    agent.standing = undefined;
    this.#hasPath = false;
    this.#report(node);
  }

  /**
   * A new controller waits for the old one's Lease, and trusts no node before it has seen two renewals: by then whoever lives has taken
   * up what was written before, and routers have dropped who does not.
   */
  #crash(): void {
    if (this.#isOut) return;
    this.#avoid.clear();
    this.#left.clear();
    this.#labelled.clear();
    for (const node of NODES) {
      this.#apply(node);
      this.#fail('drop', node);
    }
  }

  #report(node: NodeName): void {
    const agent = this.agent(node);
    if (agent.state !== 'up') return;
    const { knows: version, standing, isRefusing, isAtRest } = agent;
    const isUnlisted = isAtRest || (this.#isCrowded && (agent.label ?? 0) > 0);
    agent.report = { version, answer: isUnlisted ? 'nothing' : told(standing), isRefusing };
    if (isRefusing) return;
    agent.isUntold = false;
    // that its holder has just died nobody can know yet
    const hasDied = [...this.#agents.values()].some(
      (each) => each.state === 'dead' && !each.isDeclared,
    );
    if (hasDied || this.#object.isWithdrawn) return;
    if (standing !== undefined && this.#object.levels.has(nodeLabel(node))) this.#hasPath = true;
  }

  #deafen(kind: EventKind, node: NodeName): void {
    const agent = this.agent(node);
    const others = [...this.#agents.values()];
    if (kind === 'deafen' && !others.some(({ isDeaf }) => isDeaf)) agent.isDeaf = true;
    if (kind === 'hear') agent.isDeaf = false;
    if (kind === 'fence' && agent.isDeaf) stepDown(agent, node);
  }

  #age(node: NodeName): void {
    const { levels, isWithdrawn } = this.#object;
    const agent = this.agent(node);
    const isAlone = levels.size === 1 && levels.get(nodeLabel(node)) === 0 && !isWithdrawn;
    if (isAlone && agent.knows === this.#object.version) agent.isAtRest = true;
  }

  /** Its endpoints go and come back, whatever the nodes know of it: from then on there need be no path until a node has said that it has one. */
  #withdraw(kind: EventKind): void {
    const isWithdrawn = kind === 'withdraw';
    if (!isWithdrawn && kind !== 'announce') return;
    if (isWithdrawn === this.#object.isWithdrawn) return;
    const { version, generation } = this.#object;
    const counts = { version: version + 1, generation: generation + 1 };
    this.#object = { ...this.#object, ...counts, isWithdrawn };
    this.#hasPath = false;
  }

  #secondFault(kind: EventKind, node: NodeName): void {
    const agent = this.agent(node);
    const isCut = [...this.#agents.values()].some(({ state }) => state === 'cut');
    if (kind === 'restart' && agent.state === 'up' && !this.#isOut) {
      agent.isFenced = true;
      agent.hasLapsed = true;
      agent.isCurrent = false;
      stepDown(agent, node);
    }
    if (kind === 'outage' && isCut && !this.#isOut) {
      this.#isOut = true;
      for (const each of this.#agents.values()) if (each.state === 'up') each.state = 'cut';
    }
    if (kind === 'restore') this.#restore();
  }

  /** All are back but whoever was given up before. */
  #restore(): void {
    if (!this.#isOut) return;
    this.#isOut = false;
    for (const each of this.#agents.values()) {
      if (each.state !== 'cut' || each.isDeclared) continue;
      each.state = 'up';
      each.isCurrent = false;
    }
  }

  /** the wait of the pool is long over */
  #expire(node: NodeName): void {
    const agent = this.agent(node);
    if (!agent.isDraining || agent.label === undefined) return;
    const subject = { claim: claimOf(node, agent), pool: POOL, level: agent.label };
    const drains = new Map([['cordon', { sinceMs: 0, reason: 'cordoned' }]]);
    const view = { nowMs: 1e9, claimDrains: new Map(), cluster: { drains } } as unknown as View;
    if (drainGate(subject, view).gate.state === 'closed') agent.standing = undefined;
  }

  #fail(kind: EventKind, node: NodeName): void {
    const agent = this.agent(node);
    const { state, standing } = agent;
    if (kind === 'die' && this.#isWell()) agent.state = 'dead';
    if (kind === 'cut') this.#cut(agent);
    if (kind === 'drop' && state === 'dead') this.#dropPath(agent);
    if (state === 'cut') lapse(agent, kind, node);
    const isLost =
      (state === 'dead' && standing === undefined) || (state === 'cut' && agent.hasLapsed);
    if (kind === 'declare' && isLost && !this.#isOut) agent.isDeclared = true;
    if (kind === 'heal') this.#heal(agent, node);
    if (kind === 'undeclare' && agent.state === 'up' && agent.isCurrent) agent.isDeclared = false;
  }

  /** one fault at a time */
  #isWell(): boolean {
    return [...this.#agents.values()].every((each) => each.state === 'up' && !each.isDeclared);
  }

  /** between a step and the word about it lie milliseconds: not there */
  #cut(agent: Agent): void {
    const isNext = this.#faults === 'chain' && agent.state === 'up' && !agent.isDeclared;
    const others = [...this.#agents.values()].filter(({ state, isDeclared }) => {
      return state !== 'up' || isDeclared;
    });
    const mayBe = isNext ? others.length < NODES.length - 2 : this.#isWell();
    if (mayBe && agent.report.version === agent.knows) agent.state = 'cut';
  }

  /**
   * One that comes back in the very moment in which its claim goes to another may leave a few milliseconds before the other is there: a
   * second write for each claim of each dead node would be the price of closing that, so the model leaves it out.
   */
  #heal(agent: Agent, node: NodeName): void {
    const others = [...this.#agents.values()].filter((other) => other !== agent);
    const isReplaced =
      others.some(({ standing }) => standing !== undefined) &&
      !this.#object.levels.has(nodeLabel(node));
    if (agent.state !== 'cut' || this.#isOut || (agent.isDeclared && !isReplaced)) return;
    agent.state = 'up';
    agent.isCurrent = false;
  }

  #dropPath(agent: Agent): void {
    // while whoever held it is dead and no other has it yet there may be none: that is the router's hold time and our own patience
    if (agent.standing !== undefined) this.#hasPath = false;
    agent.standing = undefined;
  }

  #step(): void {
    const { version, node, levels, generation } = this.#seen;
    if (generation !== this.#generation) this.#labelled.clear();
    this.#generation = generation;
    const target = this.#target();
    const step = moveStep({
      ...(node !== undefined && { node }),
      levels,
      ...(target !== undefined && { target }),
      partOf: (label) => this.#part(label, this.#asked(label)),
      lingering: this.#remaining('lingering'),
      haunted: this.#remaining('haunted'),
      isAnnounced: !this.#seen.isWithdrawn,
      isOverdue: REFUSAL.includes(this.#faults) || (this.#isOverdue && this.#mayBeOverdue(target)),
    });
    this.#isOverdue = false;
    if (step.kind === 'unanswered' && target !== undefined) this.#goRound(target);
    if (step.kind === 'write' && version === this.#object.version) this.#write(step.write);
  }

  #asked(label: string): number {
    const { version, isWithdrawn } = this.#seen;
    return answerVersion({ version, isWithdrawn }, this.#labelled.get(label));
  }

  /** a node that does not answer beside another that is deaf would be a second fault */
  #mayBeOverdue(target: string | undefined): boolean {
    const own = target === undefined ? undefined : this.#seen.levels.get(nodeLabel(target));
    return this.#faults !== 'deafness' || own !== 0;
  }

  /** who refuses it is asked again when all have, or when it has said otherwise */
  #goRound(target: string): void {
    this.#avoid.add(target);
    if (!REFUSAL.includes(this.#faults)) return;
    if (this.eligible().every((node) => this.#avoid.has(node))) this.#avoid.clear();
    this.#avoid.add(target);
  }

  #write({ labels, node: wanted }: MoveWrite): void {
    const { version, node, levels, epoch, former: before } = this.#object;
    this.writes += 1;
    const next = new Map(levels);
    const former = new Set([...before].filter((label) => this.#knows(label) < version));
    let count = epoch;
    for (const [label, value] of Object.entries(labels)) {
      if (value === '0' && levels.get(label) !== 0) count += 1;
      this.#labelled.set(label, version + 1);
      if (value !== null) next.set(label, this.#level(value));
      else if (next.delete(label)) {
        former.add(label);
        this.#left.set(label, { version: version + 1, level: levels.get(label) ?? 0 });
      }
      if (value !== null) former.delete(label);
    }
    const holder = wanted ?? node;
    this.#object = {
      ...this.#object,
      version: version + 1,
      ...(holder !== undefined && { node: holder }),
      levels: next,
      epoch: count,
      former,
    };
  }

  #knows(label: string): number {
    return this.agent(nodeOf(label)).report.version;
  }

  /** levels of those that have lost their labels and have not said that they know: as they were told, or where the cut off may be */
  #remaining(kind: 'lingering' | 'haunted'): ReadonlySet<PreferenceLevel> {
    const levels = [...this.#left].flatMap(([label, { version, level }]) => {
      const { isDeclared, report } = this.agent(nodeOf(label));
      if (report.version >= version || isDeclared !== (kind === 'haunted')) return [];
      return [isDeclared ? cutOffLevel(this.#part(label, version)) : level];
    });
    const { former, version } = this.#seen;
    const remembered = [...former]
      .filter((label) => !(this.#left.has(label) || this.#seen.levels.has(label)))
      .filter((label) => this.#knows(label) < version)
      .map((label) => this.#part(label, version));
    const waitedFor = remembered.map(lingeringLevel);
    if (kind === 'lingering') {
      return new Set([...levels, ...waitedFor.filter((level) => level !== undefined)]);
    }
    const others = remembered.filter((_, index) => waitedFor[index] === undefined);
    return new Set([...levels, ...others.map(formerLevel)]);
  }

  #level(value: string): PreferenceLevel {
    const level = value === '0' ? 0 : value === '1' ? 1 : 2;
    return level === 2 ? (this.#leaving?.[0] ?? 2) : level;
  }

  #target(): string | undefined {
    const { node, levels } = this.#seen;
    const near = [...levels].sort((x, y) => x[1] - y[1]).map(([label]) => nodeOf(label));
    if (REFUSAL.includes(this.#faults)) {
      for (const each of near) if (!this.agent(each).report.isRefusing) this.#avoid.delete(each);
    }
    const claim = {
      name: 'x',
      group: 'all',
      nodeFilter: 'fair' as const,
      near,
      avoid: this.#avoid,
    };
    const [decision] = assign({
      claims: [{ ...claim, ...(node !== undefined && { node }) }],
      groups: new Map([['all', { eligible: this.eligible(), keeps: new Set() }]]),
    });
    return decision === undefined || decision.kind === 'none' ? undefined : decision.node;
  }

  #part(label: string, version: number): Part {
    const { isDeclared, report } = this.agent(nodeOf(label));
    const { answer, isRefusing } = report;
    // one that leaves, and lists no level, may announce it to another router
    const isUnclear = this.#isCrowded && (this.#seen.levels.get(label) ?? 0) > 0;
    return {
      isGone: isDeclared,
      refuses: report.version >= version && answer === 'nothing' && isRefusing && !isUnclear,
      ...(report.version >= version && { answer }),
      ...(answer !== 'nothing' && { said: answer }),
      ...(isRefusing && { refusal: {} }),
      isCrowded: this.#isCrowded,
    };
  }
}

function wrongAt(
  paths: readonly Announced[],
  keyOf: (path: Announced) => readonly number[],
): string | undefined {
  const keys = paths.map((path) => ({ path, key: keyOf(path) }));
  for (const [index, one] of keys.entries()) {
    for (const other of keys.slice(index + 1)) {
      const order = compare(one.key, other.key);
      if (order === 0) return 'equal paths';
      const [better, worse] = order < 0 ? [one, other] : [other, one];
      if (isFormer(better.path, worse.path)) return 'a former holder is preferred';
    }
  }
  return undefined;
}

function poolOf() {
  const address = { family: 'ipv4', bits: 1 } as const;
  const labels = { [nodeLabel('a')]: '0' };
  const pool = unknownPool({ name: 'x', address, labels, pool: 'p', services: [], checks: [] });
  if (pool === undefined) throw new Error('no pool');
  return { ...pool, drain: { on: ['cordon'], waitSeconds: 10 } };
}

function nodeOf(label: string): string {
  return label.slice(label.indexOf('/') + 1);
}

/** by its own clock its Lease has run out before anybody else may think so */
function lapse(agent: Agent, kind: EventKind, node: string): void {
  if (kind === 'lapse' && agent.isFenced) agent.hasLapsed = true;
  if (kind === 'fence') agent.isFenced = true;
  if (kind === 'lapse' || kind === 'fence') stepDown(agent, node);
}

/** as the agent itself decides it */
function stepDown(agent: Agent, node: string): void {
  if (agent.standing === undefined || !(agent.isFenced || agent.isDeaf)) return;
  const view = { node: { name: node, labels: {}, routerId: 1 }, fencedSinceMs: 1 };
  const { hasLapsed } = agent;
  agent.standing = standingOf(claimOf(node, agent), POOL, { ...view, hasLapsed });
}

function claimOf(node: string, { label, epoch }: Agent): Sourced<IpClaim> {
  const labels = label === undefined ? {} : { [nodeLabel(node)]: String(label) };
  const address = { family: 'ipv4', bits: 1 } as const;
  const object = { name: 'x', address, labels, services: [], checks: [], epoch };
  return { object, source: 'api', origin: '', createdMs: 0 };
}

/** what an agent says of its level */
function told(standing: Standing | undefined): PreferenceLevel | 'nothing' {
  if (standing === undefined) return 'nothing';
  return standing.level === 0 || standing.level === 2 ? standing.level : 1;
}

/** where its label is, while nothing is wrong with it */
function standing(node: string, agent: Agent): Standing | undefined {
  if (agent.label === undefined) return undefined;
  return standingOf(claimOf(node, agent), POOL, { node: { name: node, labels: {}, routerId: 1 } });
}

function newAgent(): Agent {
  return {
    state: 'up',
    isFenced: false,
    hasLapsed: false,
    isDeaf: false,
    isDraining: false,
    isDeclared: false,
    isCurrent: true,
    knows: 0,
    label: undefined,
    epoch: 0,
    standing: undefined,
    isRefusing: false,
    isAtRest: false,
    isUntold: false,
    report: { version: 0, answer: 'nothing', isRefusing: false },
  };
}
