/**
 * The health-check ports that kube-proxy opens for Local Services: 200 while the node has a ready endpoint of the Service, 503 while it
 * has none, or while kube-proxy is unwell as a whole: then its body still says how many there are, and they are served by the rules that it wrote
 * last. Asked in turn, at a pace that the number of them sets. Nobody there is no answer, and the last one stands.
 *
 * Namespaces take turns: beside the thousands of ports that one tenant may have, the one of another is asked as often as if it were alone.
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
/** a timer may be a little early */
const LEAST_MS = INTERVAL_MS - 2 * TICK_MS;
const TIMEOUT_MS = 1000;

interface Port {
  readonly number: number;
  /** of its Service */
  readonly namespace: string;
  askedMs: number;
  /** index of the address that is asked */
  host: number;
  asking: { cancel(): void } | undefined;
}

export class NodePorts {
  readonly #options: NodePortsOptions;
  readonly #ports = new Map<number, Port>();
  readonly #said = new Map<number, PortAnswer>();
  /** a copy of that, made when somebody looks: thousands may leave between two looks */
  #answers: ReadonlyMap<number, PortAnswer> | undefined;
  #hosts: readonly string[] = ['127.0.0.1'];
  #preferred = 0;
  /** by namespace; those that are asked next are in front, of both */
  #turns = new Map<string, Port[]>();
  #due = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: NodePortsOptions) {
    this.#options = options;
  }

  /** the same map while nothing has changed */
  get answers(): ReadonlyMap<number, PortAnswer> {
    this.#answers ??= new Map(this.#said);
    return this.#answers;
  }

  set hosts(hosts: readonly string[]) {
    this.#hosts = hosts;
    if (this.#preferred >= hosts.length) this.#preferred = 0;
  }

  /** `wanted`: each port, and the namespace of its Service */
  apply(wanted: ReadonlyMap<number, string>): void {
    for (const [number, port] of this.#ports) {
      if (wanted.get(number) === port.namespace) continue;
      port.asking?.cancel();
      this.#ports.delete(number);
      if (this.#said.delete(number)) this.#answers = undefined;
    }
    const fresh: Port[] = [];
    for (const [number, namespace] of wanted) {
      if (this.#ports.has(number)) continue;
      const askedMs = Number.NEGATIVE_INFINITY;
      const port: Port = { number, namespace, askedMs, host: this.#preferred, asking: undefined };
      this.#ports.set(number, port);
      fresh.push(port);
    }
    this.#lineUp(fresh);
    if (fresh.length > 0) {
      this.#due = 1;
      this.#tick();
    } else if (this.#ports.size === 0) this.#rest();
  }

  /** Those that are gone leave; whoever is new has a route waiting, so it comes first. */
  #lineUp(fresh: readonly Port[]): void {
    const turns = new Map<string, Port[]>();
    const known = [...this.#turns.values()].flat();
    for (const port of [...fresh.toReversed(), ...known]) {
      if (this.#ports.get(port.number) !== port) continue;
      const line = turns.get(port.namespace);
      if (line === undefined) turns.set(port.namespace, [port]);
      else line.push(port);
    }
    this.#turns = turns;
  }

  /** the first one, of the first namespace, that was not asked a moment ago */
  #next(nowMs: number): Port | undefined {
    for (const [namespace, line] of this.#turns) {
      const [port] = line;
      if (port === undefined || nowMs - port.askedMs < LEAST_MS) continue;
      line.shift();
      line.push(port);
      this.#turns.delete(namespace);
      this.#turns.set(namespace, line);
      return port;
    }
    return undefined;
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
    const nowMs = this.#options.clock.now();
    for (; this.#due >= 1; this.#due -= 1) {
      const port = this.#next(nowMs);
      if (port === undefined) {
        this.#due = 0;
        break;
      }
      port.askedMs = nowMs;
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
    if (this.#said.get(number) === answer) return;
    this.#said.set(number, answer);
    this.#answers = undefined;
    this.#options.onChange();
  }
}

function answerOf(answer: HttpAnswer): PortAnswer | undefined {
  if (answer.kind === 'silent') return undefined;
  if (answer.status === 200) return 'serving';
  if (answer.status !== 503) return undefined;
  return isOnlyUnwell(answer.body) ? 'serving' : 'empty';
}
