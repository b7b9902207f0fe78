/**
 * The health-check ports that kube-proxy opens for Local Services: 200 while the node has a ready endpoint of the Service, 503 while it
 * has none, or while kube-proxy is unwell as a whole: then its body still says how many there are, and they are served by the rules that it wrote
 * last. Asked in turn, at a pace that the number of them sets. Nobody there is no answer, and the last one stands.
 *
 * Where kube-proxy listens is its own setting (nodePortAddresses): the first address that answers is asked first from then on.
 */

import type { Clock, Timer } from 'bgp-ts';
import type { AskHttp, HttpAnswer } from '../checks/ask-http.ts';
import { isOnlyUnwell } from './proxy-health.ts';

export type PortAnswer = 'serving' | 'empty';

export interface NodePortsOptions {
  readonly clock: Clock;
  readonly ask: AskHttp;
  readonly onChange: () => void;
}

const INTERVAL_MS = 250;
/** beyond so many a second, each is asked less often */
const PER_SECOND = 500;
const TICK_MS = 5;
const TIMEOUT_MS = 1000;

interface Port {
  readonly number: number;
  /** index of the address that is asked */
  host: number;
  asking: { cancel(): void } | undefined;
}

export class NodePorts {
  readonly #options: NodePortsOptions;
  readonly #ports = new Map<number, Port>();
  #answers: ReadonlyMap<number, PortAnswer> = new Map();
  #hosts: readonly string[] = ['127.0.0.1'];
  #preferred = 0;
  /** those that are asked next are in front */
  #turn: Port[] = [];
  #due = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: NodePortsOptions) {
    this.#options = options;
  }

  /** the same map while nothing has changed */
  get answers(): ReadonlyMap<number, PortAnswer> {
    return this.#answers;
  }

  set hosts(hosts: readonly string[]) {
    this.#hosts = hosts;
    if (this.#preferred >= hosts.length) this.#preferred = 0;
  }

  apply(wanted: ReadonlySet<number>): void {
    for (const [number, port] of this.#ports) {
      if (wanted.has(number)) continue;
      port.asking?.cancel();
      this.#ports.delete(number);
      this.#forget(number);
    }
    const fresh = [...wanted].filter((number) => !this.#ports.has(number));
    for (const number of fresh) {
      const port: Port = { number, host: this.#preferred, asking: undefined };
      this.#ports.set(number, port);
      // whoever is new has a route waiting
      this.#turn.unshift(port);
    }
    this.#turn = this.#turn.filter(({ number }) => this.#ports.has(number));
    if (fresh.length > 0) {
      this.#due = 1;
      this.#tick();
    } else if (this.#ports.size === 0) this.#rest();
  }

  stop(): void {
    this.#isStopped = true;
    this.#rest();
    for (const { asking } of this.#ports.values()) asking?.cancel();
  }

  #rest(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #tick(): void {
    this.#rest();
    const count = this.#ports.size;
    if (this.#isStopped || count === 0) return;
    const roundMs = Math.max(INTERVAL_MS, (count / PER_SECOND) * 1000);
    const stepMs = Math.max(TICK_MS, roundMs / count);
    // what a step cannot ask in whole ports is the next one's
    this.#due += (count * stepMs) / roundMs;
    for (; this.#due >= 1; this.#due -= 1) {
      const port = this.#turn.shift();
      if (port === undefined) break;
      this.#turn.push(port);
      if (port.asking === undefined) this.#ask(port, this.#hosts.length);
    }
    this.#timer = this.#options.clock.startTimer(stepMs, () => this.#tick());
  }

  /** `tries`: how many addresses may still be asked in this turn */
  #ask(port: Port, tries: number): void {
    const host = this.#hosts[port.host % this.#hosts.length] ?? '127.0.0.1';
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port.number}/`;
    port.asking = this.#options.ask(url, TIMEOUT_MS, (answer) => {
      port.asking = undefined;
      if (this.#isStopped || this.#ports.get(port.number) !== port) return;
      const said = answerOf(answer);
      if (said !== undefined) {
        this.#preferred = port.host % this.#hosts.length;
        this.#set(port.number, said);
        return;
      }
      port.host = (port.host + 1) % this.#hosts.length;
      if (tries > 1) this.#ask(port, tries - 1);
    });
  }

  #set(number: number, answer: PortAnswer): void {
    if (this.#answers.get(number) === answer) return;
    this.#answers = new Map([...this.#answers, [number, answer]]);
    this.#options.onChange();
  }

  #forget(number: number): void {
    if (!this.#answers.has(number)) return;
    this.#answers = new Map([...this.#answers].filter(([known]) => known !== number));
  }
}

function answerOf(answer: HttpAnswer): PortAnswer | undefined {
  if (answer.kind === 'silent') return undefined;
  if (answer.status === 200) return 'serving';
  if (answer.status !== 503) return undefined;
  return isOnlyUnwell(answer.body) ? 'serving' : 'empty';
}
