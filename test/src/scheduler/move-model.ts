/**
 * A small world for move.ts: one claim, four nodes whose agents learn of labels and answer when they get round to it, a controller that
 * sees both late, writes guarded by the version, forgets everything when it crashes, and a router that keeps one path per node.
 *
 * A node may fall silent for good (the router drops its path, later the controller calls it dead) or be cut off from the API (it steps
 * down by itself, later the controller calls it dead, later it comes back): one at a time. Or nodes refuse the claim and accept it again, as
 * many at once as like.
 */

import { nodeLabel, type PreferenceLevel } from '../../../src/model/names.ts';
import { assign } from '../../../src/scheduler/assign.ts';
import { cutOffLevel, type MoveWrite, moveStep, type Part } from '../../../src/scheduler/move.ts';

export const NODES = ['a', 'b', 'c', 'd'] as const;
export type NodeName = (typeof NODES)[number];

interface ClaimObject {
  readonly version: number;
  readonly node?: string;
  readonly levels: ReadonlyMap<string, PreferenceLevel>;
}

interface Agent {
  state: 'up' | 'dead' | 'cut';
  isFenced: boolean;
  isDraining: boolean;
  /** the controller calls it dead */
  isDeclared: boolean;
  /** has taken up the claim since it came back */
  isCurrent: boolean;
  knows: number;
  path: PreferenceLevel | undefined;
  isRefusing: boolean;
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
] as const;
export type EventKind = (typeof EVENTS)[number];
export interface ModelEvent {
  readonly kind: EventKind;
  readonly node: NodeName;
}

/** what may go wrong at the same time: a second fault on top of a first is no promise of ours */
export type Faults = 'silence' | 'slowness' | 'refusal';

export class MoveModel {
  readonly #faults: Faults;
  readonly #leaving: readonly PreferenceLevel[] | undefined;
  #object: ClaimObject = { version: 1, levels: new Map() };
  #seen: ClaimObject = this.#object;
  readonly #agents = new Map<string, Agent>();
  readonly #avoid = new Set<string>();
  /** labels that were taken away, the version that did it, and the level that it had */
  readonly #left = new Map<string, { readonly version: number; readonly level: PreferenceLevel }>();
  #isOverdue = false;
  #hasPath = false;
  writes = 0;

  /** `leaving`: where holders go instead, to see that the model notices */
  constructor(faults: Faults, leaving?: readonly PreferenceLevel[]) {
    this.#faults = faults;
    this.#leaving = leaving;
    for (const node of NODES) this.#agents.set(node, newAgent());
  }

  /** what is wrong at the router, if anything */
  get fault(): string | undefined {
    const paths = [...this.#agents].flatMap(([name, { path }]) =>
      path === undefined ? [] : [`${name}@${path}`],
    );
    const levels = paths.map((path) => path.slice(path.indexOf('@')));
    if (new Set(levels).size < levels.length) return `equal paths: ${paths.join(' ')}`;
    return paths.length === 0 && this.#hasPath ? 'no path' : undefined;
  }

  get holder(): string | undefined {
    return this.#object.node;
  }

  get labels(): string {
    return [...this.#object.levels].map(([label, level]) => `${label}=${level}`).join(' ');
  }

  get paths(): string {
    return [...this.#agents].map(([name, { path }]) => `${name}:${path ?? '-'}`).join(' ');
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
    if (kind === 'apply') this.#apply(node);
    if (kind === 'report') this.#report(node);
    if (kind === 'sync') this.#seen = this.#object;
    if (kind === 'step') this.#step();
    if (kind === 'drain' || kind === 'undrain') this.agent(node).isDraining = kind === 'drain';
    if (kind === 'crash') this.#crash();
    if (kind === 'overdue') this.#isOverdue = this.#faults === 'slowness';
    if (this.#faults === 'silence') this.#fail(kind, node);
    if (this.#faults === 'refusal') this.#refuse(kind, node);
  }

  /** everybody who lives does its work, until nothing changes */
  settle(): void {
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
    for (const kind of ['drop', 'fence', 'declare'] as const) this.#fail(kind, node);
  }

  #apply(node: NodeName): void {
    const agent = this.agent(node);
    if (agent.state !== 'up') return;
    agent.knows = this.#object.version;
    agent.isFenced = false;
    agent.isCurrent = true;
    const before = agent.path;
    agent.path = agent.isRefusing ? undefined : this.#object.levels.get(nodeLabel(node));
    if (before === undefined && agent.path !== undefined && !agent.isUntold) this.#hasPath = true;
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
    agent.path = undefined;
    this.#hasPath = false;
    this.#report(node);
  }

  /**
   * A new controller waits for the old one's Lease, and trusts no node before it has seen two renewals: by then whoever lives has taken
   * up what was written before, and routers have dropped who does not.
   */
  #crash(): void {
    if ([...this.#agents.values()].some(({ state }) => state === 'cut')) return;
    this.#avoid.clear();
    this.#left.clear();
    for (const node of NODES) {
      this.#apply(node);
      this.#fail('drop', node);
    }
  }

  #report(node: NodeName): void {
    const agent = this.agent(node);
    if (agent.state !== 'up') return;
    const { knows: version, path, isRefusing } = agent;
    agent.report = { version, answer: path ?? 'nothing', isRefusing };
    if (isRefusing) return;
    agent.isUntold = false;
    if (path !== undefined && this.#object.levels.has(nodeLabel(node))) this.#hasPath = true;
  }

  #fail(kind: EventKind, node: NodeName): void {
    const agent = this.agent(node);
    const { state, isFenced, path } = agent;
    if (kind === 'die' && this.#isWell()) agent.state = 'dead';
    if (kind === 'cut') this.#cut(agent);
    if (kind === 'drop' && state === 'dead') this.#dropPath(agent);
    if (kind === 'fence' && state === 'cut') fence(agent);
    const isLost = (state === 'dead' && path === undefined) || (state === 'cut' && isFenced);
    if (kind === 'declare' && isLost) agent.isDeclared = true;
    if (kind === 'heal') this.#heal(agent, node);
    if (kind === 'undeclare' && agent.state === 'up' && agent.isCurrent) agent.isDeclared = false;
  }

  /** one fault at a time */
  #isWell(): boolean {
    return [...this.#agents.values()].every((each) => each.state === 'up' && !each.isDeclared);
  }

  /** between a step and the word about it lie milliseconds: not there */
  #cut(agent: Agent): void {
    if (this.#isWell() && agent.report.version === agent.knows) agent.state = 'cut';
  }

  /**
   * One that comes back in the very moment in which its claim goes to another may leave a few milliseconds before the other is there: a
   * second write for each claim of each dead node would be the price of closing that, so the model leaves it out.
   */
  #heal(agent: Agent, node: NodeName): void {
    const others = [...this.#agents.values()].filter((other) => other !== agent);
    const isReplaced =
      others.some(({ path }) => path !== undefined) && !this.#object.levels.has(nodeLabel(node));
    if (agent.state !== 'cut' || (agent.isDeclared && !isReplaced)) return;
    agent.state = 'up';
    agent.isCurrent = false;
  }

  #dropPath(agent: Agent): void {
    // while whoever held it is dead and no other has it yet there may be none: that is the router's hold time and our own patience
    if (agent.path !== undefined) this.#hasPath = false;
    agent.path = undefined;
  }

  #step(): void {
    const { version, node, levels } = this.#seen;
    const target = this.#target();
    const own = target === undefined ? undefined : levels.get(nodeLabel(target));
    const step = moveStep({
      ...(node !== undefined && { node }),
      levels,
      ...(target !== undefined && { target }),
      partOf: (label) => this.#part(label, version),
      lingering: this.#remaining('lingering'),
      haunted: this.#remaining('haunted'),
      isAnnounced: true,
      isOverdue: (this.#isOverdue || this.#faults === 'refusal') && own === 0,
    });
    this.#isOverdue = false;
    if (step.kind === 'unanswered' && target !== undefined) this.#goRound(target);
    if (step.kind === 'write' && version === this.#object.version) this.#write(step.write);
  }

  /** who refuses it is asked again when all have, or when it has said otherwise */
  #goRound(target: string): void {
    this.#avoid.add(target);
    if (this.#faults !== 'refusal') return;
    if (this.eligible().every((node) => this.#avoid.has(node))) this.#avoid.clear();
    this.#avoid.add(target);
  }

  #write({ labels, node: wanted }: MoveWrite): void {
    const { version, node, levels } = this.#object;
    this.writes += 1;
    const next = new Map(levels);
    for (const [label, value] of Object.entries(labels)) {
      if (value !== null) next.set(label, this.#level(value));
      else if (next.delete(label)) {
        this.#left.set(label, { version: version + 1, level: levels.get(label) ?? 0 });
      }
    }
    const holder = wanted ?? node;
    this.#object = {
      version: version + 1,
      ...(holder !== undefined && { node: holder }),
      levels: next,
    };
  }

  /** levels of those that have lost their labels and have not said that they know: as they were told, or where the cut off may be */
  #remaining(kind: 'lingering' | 'haunted'): ReadonlySet<PreferenceLevel> {
    const levels = [...this.#left].flatMap(([label, { version, level }]) => {
      const { isDeclared, report } = this.agent(nodeOf(label));
      if (report.version >= version || isDeclared !== (kind === 'haunted')) return [];
      return [isDeclared ? cutOffLevel(this.#part(label, version)) : level];
    });
    return new Set(levels);
  }

  #level(value: string): PreferenceLevel {
    const level = value === '0' ? 0 : value === '1' ? 1 : 2;
    return level === 2 ? (this.#leaving?.[0] ?? 2) : level;
  }

  #target(): string | undefined {
    const { node, levels } = this.#seen;
    const near = [...levels].sort((x, y) => x[1] - y[1]).map(([label]) => nodeOf(label));
    if (this.#faults === 'refusal') {
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
    return {
      isGone: isDeclared,
      refuses: report.version >= version && answer === 'nothing' && isRefusing,
      ...(report.version >= version && { answer }),
      ...(answer !== 'nothing' && { said: answer }),
    };
  }
}

function nodeOf(label: string): string {
  return label.slice(label.indexOf('/') + 1);
}

/** a holder steps down; who stands lower stays there */
function fence(agent: Agent): void {
  if (!agent.isFenced && agent.path === 0) agent.path = 1;
  agent.isFenced = true;
}

function newAgent(): Agent {
  return {
    state: 'up',
    isFenced: false,
    isDraining: false,
    isDeclared: false,
    isCurrent: true,
    knows: 0,
    path: undefined,
    isRefusing: false,
    isUntold: false,
    report: { version: 0, answer: 'nothing', isRefusing: false },
  };
}
