/**
 * The demo: puts the stage, the story, the requests and the views together. Facts come in from the router and from the requests; the
 * story looks at them and gives orders; views ask for a scene when something has changed. After the story the user gives the orders.
 */

import { HOLD_SECONDS, MEMBERS, PREFIX } from './cast.ts';
import type { Program } from './child.ts';
import { type Facts, NO_FACTS } from './facts.ts';
import { INTERVAL_MS, Prober } from './prober.ts';
import { RequestLog } from './request-log.ts';
import { type Scene, sceneNode, sceneSteps } from './scene.ts';
import { STORY } from './script.ts';
import { Stage } from './stage.ts';
import {
  advance,
  beginStory,
  hasFailed,
  isOver,
  type Order,
  type StoryEvent,
  skipRest,
} from './story.ts';
import { choose, mend, type Verb } from './verbs.ts';

export interface DemoOptions {
  readonly program: Program;
  readonly temporary: string;
  readonly speed: number;
  readonly isHoldBroken: boolean;
}

export interface TimedEvent {
  readonly atMs: number;
  readonly event: StoryEvent;
}

const TICK_MS = 50;

export class Demo {
  readonly #options: DemoOptions;
  readonly #stage: Stage;
  readonly #requests = new RequestLog();
  readonly #views = new Set<() => void>();
  readonly #listeners = new Set<(event: TimedEvent) => void>();
  readonly #startedMs = performance.now();
  #prober: Prober | undefined;
  #tick: NodeJS.Timeout | undefined;
  #state = beginStory(STORY);
  #trouble: string | undefined;
  #notice = '';
  #isAdvancing = false;

  constructor(options: DemoOptions) {
    this.#options = options;
    this.#stage = new Stage({
      ...options,
      onChange: () => this.#look(),
      onTrouble: (sentence) => {
        this.#trouble ??= sentence;
        this.#notice = sentence;
        this.#look();
      },
    });
  }

  /** Rejects with a StageError where it cannot run here. */
  async start(): Promise<void> {
    await this.#stage.start();
    this.#prober = new Prober({
      port: this.#stage.apiPort,
      log: this.#requests,
      nextHops: () => this.#stage.feed?.used() ?? [],
      onChange: () => this.#changed(),
    });
    this.#prober.start();
    this.#tick = setInterval(() => this.#look(), TICK_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.#tick);
    this.#prober?.stop();
    await this.#stage.stop();
  }

  get isOver(): boolean {
    return isOver(this.#state);
  }

  get hasFailed(): boolean {
    return hasFailed(this.#state) || this.#trouble !== undefined;
  }

  get elapsedMs(): number {
    return performance.now() - this.#startedMs;
  }

  /** called when a scene may look different; the result ends it */
  subscribe(onChange: () => void): () => void {
    this.#views.add(onChange);
    return () => this.#views.delete(onChange);
  }

  onStory(listener: (event: TimedEvent) => void): void {
    this.#listeners.add(listener);
  }

  scene(): Scene {
    const facts = this.#facts();
    return {
      elapsedMs: Math.round(this.elapsedMs),
      mode: this.isOver ? 'play' : 'story',
      prefix: PREFIX,
      holdSeconds: HOLD_SECONDS,
      isHoldBroken: this.#options.isHoldBroken,
      steps: sceneSteps(STORY, this.#state),
      step: this.#state.step,
      nodes: MEMBERS.map((member) => {
        const machine = this.#stage.machines.find((each) => each.member.id === member.id);
        const unborn = { member, power: 'running', isApiUp: false, status: undefined } as const;
        return sceneNode(machine ?? unborn, facts, this.#requests.lostOf(member.id));
      }),
      requests: { ...facts.requests, everyMs: INTERVAL_MS },
      strip: this.#requests.strip(),
      notice: this.#notice,
    };
  }

  /** A user's order; the sentence says what came of it. */
  async act(verb: Verb, id: number): Promise<string> {
    const node = this.scene().nodes.find((each) => each.id === id);
    if (node === undefined) return this.#say(`there is no machine ${id}`);
    if (!this.isOver) return this.#say('the story is still running; s skips the rest of it');
    const choice = choose(verb, node);
    if (choice.kind === 'refused') return this.#say(choice.sentence);
    try {
      await this.#stage.perform(choice.order);
    } catch (error) {
      return this.#say(sentenceOf(error));
    }
    return this.#say(choice.sentence);
  }

  /** The story ends here, and all machines are put into service for the user to play. */
  async skip(): Promise<string> {
    if (this.isOver) return this.#notice;
    this.#state = skipRest(this.#state);
    this.#tell({ kind: 'over', isSeen: false });
    for (const order of this.scene().nodes.flatMap(mend)) await this.#perform(order);
    return this.#say('the rest of the story was skipped; all machines are in service');
  }

  #facts(): Facts {
    const { feed } = this.#stage;
    if (feed === undefined) return NO_FACTS;
    return {
      sessions: feed.sessions().map(({ id }) => id),
      used: feed.used().map(({ id }) => id),
      known: feed.known().map(({ id }) => id),
      requests: this.#requests.counts(),
      ...(this.#trouble === undefined ? {} : { trouble: this.#trouble }),
    };
  }

  /** The story looks at how things are now. */
  #look(): void {
    // an order may be done at once and change things while its beat is being told
    if (this.#isAdvancing) return;
    this.#isAdvancing = true;
    const { speed } = this.#options;
    const moment = { facts: this.#facts(), nowMs: performance.now(), speed };
    const told = advance(STORY, this.#state, moment);
    this.#state = told.state;
    for (const event of told.events) this.#tell(event);
    this.#isAdvancing = false;
    this.#changed();
  }

  #tell(event: StoryEvent): void {
    if (event.kind === 'order') void this.#perform(event.order);
    for (const listener of this.#listeners) listener({ atMs: this.elapsedMs, event });
  }

  async #perform(order: Order): Promise<void> {
    try {
      await this.#stage.perform(order);
    } catch (error) {
      this.#trouble ??= `${order.kind} of node-${order.id} did not work: ${sentenceOf(error)}`;
    }
  }

  #say(sentence: string): string {
    this.#notice = sentence;
    this.#changed();
    return sentence;
  }

  #changed(): void {
    for (const view of this.#views) view();
  }
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
