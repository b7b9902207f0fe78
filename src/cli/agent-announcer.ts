/**
 * Simple mode with one replica: connects the election of the controller in this process with the agent (announcer.ts has the rules), and keeps
 * in the state folder whether this machine announced, so that a restart during an API outage takes nothing down.
 */

import {
  type Announcer,
  type AnnouncerFacts,
  type AnnouncerSource,
  announcerOf,
  isSameAnnouncer,
  type LeaseReading,
  turnAfter,
} from '../agent/announcer.ts';
import type { MachineMemory } from '../agent/kube-report/machine-memory.ts';
import { type LeaseRecord, leaseIdentity } from '../controller/election-rules.ts';
import { optional } from '../model/optional.ts';

export interface AgentAnnouncerOptions {
  readonly memory: Pick<MachineMemory, 'announcedTurn' | 'rememberAnnounced'>;
  readonly nodeName: string;
  /** of this machine, the same after a restart */
  readonly instance: string;
}

export class AgentAnnouncer implements AnnouncerSource {
  readonly #options: AgentAnnouncerOptions;
  #facts: AnnouncerFacts;
  #current: Announcer;
  #onChange: () => void = () => undefined;

  constructor(options: AgentAnnouncerOptions) {
    this.#options = options;
    this.#facts = { isLeading: false, ...optional('turn', options.memory.announcedTurn()) };
    this.#current = announcerOf(this.#facts);
  }

  get instance(): string {
    return this.#options.instance;
  }

  get current(): Announcer {
    return this.#current;
  }

  subscribe(onChange: () => void): void {
    this.#onChange = onChange;
  }

  onRecord(record: LeaseRecord | undefined): void {
    this.#learn({ reading: this.#reading(record) });
  }

  onLeading(isLeading: boolean): void {
    this.#learn({ isLeading });
  }

  /** Another workload of Herald announces in this cluster; undefined: none does. */
  setRefusal(refusal: AnnouncerFacts['refusal']): void {
    const { refusal: _, ...others } = this.#facts;
    this.#facts = others;
    this.#learn(refusal === undefined ? {} : { refusal });
  }

  #learn(news: Partial<AnnouncerFacts>): void {
    const { turn: before, ...others } = { ...this.#facts, ...news };
    const turn = turnAfter({ ...others, ...optional('turn', before) });
    this.#facts = { ...others, ...optional('turn', turn) };
    if (turn !== before) this.#options.memory.rememberAnnounced(turn);
    const announcer = announcerOf(this.#facts);
    if (isSameAnnouncer(this.#current, announcer)) return;
    this.#current = announcer;
    this.#onChange();
  }

  #reading(record: LeaseRecord | undefined): LeaseReading {
    const holder = record?.holder ?? '';
    return {
      holder,
      isOwn: holder === leaseIdentity(this.#options.nodeName, this.#options.instance),
      isLeaving: record?.isLeaving === true,
      transitions: record?.transitions ?? 0,
    };
  }
}
