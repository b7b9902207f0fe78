/**
 * One machine of the demo: a real `herald agent` and the stand-in for its API server, two processes that freeze, thaw and die
 * together. It does what it is told and reports what its agent says; whether that had an effect is for the router's table to tell.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { AgentStatus } from '../agent/status.ts';
import { ControlClient } from '../control/client.ts';
import { HOLD_SECONDS, MEMBER_ASN, type Member } from './cast.ts';
import { Child, type Program } from './child.ts';
import { agentDocuments } from './documents.ts';
import type { Guard } from './guard.ts';
import type { Order } from './story.ts';

export interface MachineOptions {
  readonly member: Member;
  readonly program: Program;
  readonly guard: Guard;
  /** exists; everything of the machine lies below it */
  readonly directory: string;
  readonly routerPort: number;
  readonly apiPort: number;
  readonly onChange: () => void;
  /** one of its processes has ended by itself */
  readonly onTrouble: (sentence: string) => void;
}

export type Power = 'running' | 'frozen' | 'dead';

const LOOK_AGAIN_MS = 150;

export class Machine {
  readonly #options: MachineOptions;
  readonly #control: ControlClient;
  readonly #socket: string;
  readonly #stopped = new AbortController();
  #agent: Child | undefined;
  #api: Child | undefined;
  #power: Power = 'running';
  #status: AgentStatus | undefined;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#socket = join(options.directory, 'agent.sock');
    this.#control = new ControlClient(this.#socket);
  }

  get member(): Member {
    return this.#options.member;
  }

  get power(): Power {
    return this.#power;
  }

  get isApiUp(): boolean {
    return this.#api?.isRunning === true;
  }

  /** what its agent said last; undefined = there is none */
  get status(): AgentStatus | undefined {
    return this.#status;
  }

  /** what the agent wrote last, for failures */
  tail(): string {
    return this.#agent?.tail() ?? '';
  }

  /** It boots: the agent runs, the API server does not yet. */
  start(): void {
    const { directory, member, routerPort } = this.#options;
    const documents = join(directory, 'documents');
    mkdirSync(documents, { recursive: true });
    for (const [file, text] of agentDocuments(member, routerPort, HOLD_SECONDS)) {
      writeFileSync(join(documents, file), text);
    }
    this.#startAgent();
    void this.#follow();
  }

  stop(): void {
    this.#stopped.abort();
  }

  /** Resolves when it is done, not when it has shown; rejects with a sentence where it cannot be. */
  async perform(kind: Order['kind']): Promise<void> {
    await this.#orders[kind]();
    this.#options.onChange();
  }

  readonly #orders: Readonly<Record<Order['kind'], () => Promise<void> | void>> = {
    'api-up': () => this.#startApi(),
    'api-down': () => this.#api?.end('SIGTERM'),
    drain: async () => this.#take(await this.#control.drain({ reason: 'the demo drains it' })),
    undrain: async () => this.#take(await this.#control.undrain()),
    freeze: () => this.#freeze(),
    thaw: () => this.#thaw(),
    kill: () => this.#kill(),
    revive: () => this.#revive(),
  };

  #startAgent(): void {
    const { directory, member, program, guard } = this.#options;
    const args = [
      ['--source', `files:${join(directory, 'documents')}`],
      ['--node-name', member.name],
      ['--asn', String(MEMBER_ASN)],
      ['--router-id', member.address],
      ['--state-dir', join(directory, 'state')],
      ['--socket', this.#socket],
      ['--join-check', `http://${member.address}:${this.#options.apiPort}/readyz`],
      ['--join-interval', '0.2'],
      ['--join-successes', '2'],
      ['--join-failures', '2'],
    ];
    const log = join(directory, 'agent.log');
    this.#agent = new Child(program, ['agent', ...args.flat()], log, guard);
    this.#watch(this.#agent, 'agent');
  }

  #startApi(): void {
    if (this.isApiUp || this.#power !== 'running') return;
    const { directory, member, program, guard, apiPort } = this.#options;
    const args = ['demo', 'api-server', `${member.address}:${apiPort}`, member.name];
    this.#api = new Child(program, args, join(directory, 'api.log'), guard);
    this.#watch(this.#api, 'API server');
  }

  #watch(child: Child, what: string): void {
    const { member, onChange, onTrouble } = this.#options;
    child.onExit((isAsked) => {
      const isOurs = isAsked || this.#stopped.signal.aborted;
      if (!isOurs) onTrouble(`the ${what} of ${member.name} has ended: ${child.tail()}`);
      onChange();
    });
  }

  #freeze(): void {
    if (this.#power !== 'running') return;
    this.#power = 'frozen';
    this.#agent?.signal('SIGSTOP');
    this.#api?.signal('SIGSTOP');
  }

  #thaw(): void {
    if (this.#power !== 'frozen') return;
    this.#power = 'running';
    this.#api?.signal('SIGCONT');
    this.#agent?.signal('SIGCONT');
  }

  async #kill(): Promise<void> {
    if (this.#power === 'dead') return;
    this.#power = 'dead';
    await Promise.all([this.#agent?.end('SIGKILL'), this.#api?.end('SIGKILL')]);
    this.#status = undefined;
  }

  #revive(): void {
    if (this.#power !== 'dead') return;
    this.#power = 'running';
    this.#startAgent();
    this.#startApi();
  }

  #take(answer: Awaited<ReturnType<ControlClient['drain']>>): void {
    if (!answer.ok) throw new Error(answer.sentence);
    if (!answer.value.ok) throw new Error(answer.value.sentence);
  }

  /** Its agent's words, as long as there is one, and again when there is one again. */
  async #follow(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#control.watch((status) => {
        this.#status = status;
        this.#options.onChange();
      }, signal);
      this.#status = undefined;
      await delay(LOOK_AGAIN_MS);
    }
  }
}
