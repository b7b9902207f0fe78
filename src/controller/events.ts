/**
 * Events: what happened to an object, where `kubectl describe` shows it. `record` never waits and never throws: events are for people,
 * and no loop of ours may stand still for them. What cannot be told (too many, or the API does not take it) is counted.
 */

import type { Clock } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import { type IpClaim, namespaceInTurn } from '../model/ip-claim.ts';
import { API_VERSION } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import type { Service } from '../model/service.ts';
import { ApiError, ApiUnreachable, type KubeApi } from '../sources/kube/api.ts';
import { NamespaceTurns } from '../sources/kube/namespace-turns.ts';
import { EVENTS, inNamespace } from '../sources/kube/resources.ts';
import type { DocumentMeta } from './cached-document.ts';
import { EventBudget, type EventText, seriesKey } from './event-budget.ts';
import { GiveWay } from './give-way.ts';

export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
}

export interface RecordedEvent {
  readonly object: ObjectRef;
  /** the namespace in whose share of events it counts; absent: the object's */
  readonly budgetOf?: string;
  readonly type: 'Normal' | 'Warning';
  /** one word in CamelCase, for machines */
  readonly reason: string;
  /** a sentence for people */
  readonly message: string;
}

/** What loops take: an EventRecorder, or in tests a list. */
export interface EventSink {
  record(event: RecordedEvent): void;
}

export interface EventRecorderOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  /** who tells: the identity of this process */
  readonly instance: string;
  readonly onDropped?: (why: 'rate' | 'queue' | 'api') => void;
  /** addresses are being given out: where many events wait, they wait for that, for half a minute */
  readonly isBusy?: () => boolean;
  readonly budget?: EventBudget;
}

const CONTROLLER = 'herald.dev/controller';
/** cluster-scoped objects have their events there, as those of Nodes */
const CLUSTER_NAMESPACE = 'default';
/** of one namespace, which is little beside what all may have: none keeps the events of others from waiting */
const MAX_WAITING = 100;
const MAX_WAITING_OVERALL = 5000;
const MAX_MESSAGE = 1024;
const ATTEMPTS = 3;
const RETRY_MS = 2000;
/** where more than these wait, something big is going on, and the API has better things to do */
const A_FEW = 5;
const BETWEEN_MS = 100;
const MOST_PAUSES = 20;
/** names of Events and their namespace are how a series is found again */
const MAX_SERIES = 5000;

interface Waiting {
  /** the namespace in whose turn it is written, and a number */
  readonly key: string;
  readonly event: RecordedEvent;
  readonly text: EventText;
  /** absent: the first of a series */
  readonly count?: number;
  readonly atMs: number;
  attempts: number;
}

export class EventRecorder implements EventSink {
  readonly #options: EventRecorderOptions;
  readonly #budget: EventBudget;
  /** namespaces take turns, however many events one of them has */
  readonly #turns = new NamespaceTurns();
  readonly #waiting = new Map<string, Waiting>();
  /** names of the Events that series have been told by */
  readonly #names = new Map<string, string>();
  #isWriting = false;
  #isStopped = false;
  #sequence = 0;
  #arrived = 0;

  constructor(options: EventRecorderOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new EventBudget();
  }

  record(event: RecordedEvent): void {
    if (this.#isStopped) return;
    const { clock, onDropped } = this.#options;
    const message = event.message.slice(0, MAX_MESSAGE);
    const { uid } = event.object;
    const namespace = event.budgetOf ?? event.object.namespace;
    const { type, reason } = event;
    const text = { object: uid, ...optional('namespace', namespace), type, reason, message };
    const verdict = this.#budget.ask(text, clock.now());
    if (verdict.kind === 'counted') return;
    if (verdict.kind === 'drop') {
      onDropped?.('rate');
      return;
    }
    const isFull = this.#turns.sizeOf(namespace ?? '') >= MAX_WAITING;
    if (isFull || this.#turns.size >= MAX_WAITING_OVERALL) {
      this.#budget.forget(text);
      onDropped?.('queue');
      return;
    }
    const again = verdict.kind === 'repeat' ? { count: verdict.count } : {};
    this.#arrived += 1;
    const key = `${namespace ?? ''}/${this.#arrived}`;
    this.#waiting.set(key, { key, event, text, ...again, atMs: clock.wallTimeMs(), attempts: 0 });
    this.#turns.add(key);
    if (!this.#isWriting) void this.#write();
  }

  /** nothing is told after this; what waits is given up */
  stop(): void {
    this.#isStopped = true;
    this.#waiting.clear();
    this.#turns.clear();
  }

  async #write(): Promise<void> {
    this.#isWriting = true;
    // whether addresses were given out all the time since something waited last, nobody has looked
    const giveWay = new GiveWay(this.#options.clock, this.#options.isBusy);
    while (this.#turns.size > 0) {
      const key = this.#turns.take();
      const next = this.#waiting.get(key);
      this.#waiting.delete(key);
      if (next === undefined) continue;
      if (!(await this.#tell(next))) await this.#pause(RETRY_MS);
      else await this.#pauseFor(giveWay);
    }
    this.#isWriting = false;
  }

  async #pauseFor(giveWay: GiveWay): Promise<void> {
    for (let pauses = 0; this.#turns.size > A_FEW; pauses += 1) {
      await this.#pause(BETWEEN_MS);
      if (!giveWay.mustWait() || pauses >= MOST_PAUSES) return;
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.startTimer(ms, resolve);
    });
  }

  /** false: the API did not answer, and it waits again */
  async #tell(waiting: Waiting): Promise<boolean> {
    try {
      await this.#send(waiting);
      return true;
    } catch (error) {
      if (!(error instanceof ApiError) && !(error instanceof ApiUnreachable)) throw error;
      waiting.attempts += 1;
      const isFinal = error instanceof ApiError && error.status < 500 && error.status !== 429;
      if (!isFinal && waiting.attempts < ATTEMPTS && !this.#isStopped) {
        this.#waiting.set(waiting.key, waiting);
        this.#turns.addFirst(waiting.key);
        return false;
      }
      this.#lose(waiting, error);
      return isFinal;
    }
  }

  #lose({ text, event }: Waiting, error: Error): void {
    this.#budget.forget(text);
    this.#names.delete(seriesKey(text));
    this.#options.onDropped?.('api');
    const { kind, name } = event.object;
    const fields = { object: `${kind}/${name}`, reason: event.reason, problem: error.message };
    this.#options.log.debug('controller.event', fields, 'an event could not be written');
  }

  async #send({ event, text, count, atMs }: Waiting): Promise<void> {
    const { api } = this.#options;
    const resource = inNamespace(EVENTS, event.object.namespace ?? CLUSTER_NAMESPACE);
    const key = seriesKey(text);
    const known = this.#names.get(key);
    if (count !== undefined && known !== undefined) {
      const body = { series: { count, lastObservedTime: microTime(atMs) } };
      await api.patch(resource, known, { kind: 'merge', body });
      return;
    }
    const name = this.#nameOf(event.object.name, atMs);
    await api.create(resource, this.#body(event, text, { name, atMs }));
    this.#keepName(key, name);
  }

  #keepName(key: string, name: string): void {
    this.#names.delete(key);
    this.#names.set(key, name);
    const [oldest] = this.#names.keys();
    if (this.#names.size > MAX_SERIES && oldest !== undefined) this.#names.delete(oldest);
  }

  #nameOf(object: string, atMs: number): string {
    this.#sequence += 1;
    return `${object.slice(0, 200)}.${atMs.toString(16)}${this.#sequence.toString(16)}`;
  }

  #body(event: RecordedEvent, text: EventText, at: { name: string; atMs: number }): object {
    const { apiVersion, kind, name, namespace, uid } = event.object;
    return {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name: at.name, namespace: namespace ?? CLUSTER_NAMESPACE },
      eventTime: microTime(at.atMs),
      reportingController: CONTROLLER,
      reportingInstance: this.#options.instance.slice(0, 128),
      action: text.reason,
      reason: text.reason,
      type: text.type,
      note: text.message,
      regarding: { apiVersion, kind, name, uid, ...(namespace !== undefined && { namespace }) },
    };
  }
}

/** MicroTime of Kubernetes wants six digits */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}

export function serviceRef({
  namespace,
  name,
  uid,
}: Pick<Service, 'namespace' | 'name' | 'uid'>): ObjectRef {
  return { apiVersion: 'v1', kind: 'Service', namespace, name, uid };
}

/**
 * A claim belongs to the cluster, and what happens to it is the doing of whom it is for: it counts in the share of the namespace of its first Service, or the
 * claims of one tenant would keep every other event from being told.
 */
export function aboutClaim(
  meta: Pick<DocumentMeta, 'name' | 'uid'>,
  claim: Pick<IpClaim, 'services'> | undefined,
): Pick<RecordedEvent, 'object' | 'budgetOf'> {
  const object = documentRef('IPClaim', meta);
  return { object, ...optional('budgetOf', claim && namespaceInTurn(claim)) };
}

export function documentRef(
  kind: 'IPPool' | 'IPClaim' | 'BGPPeer' | 'IPNode',
  { name, uid }: Pick<DocumentMeta, 'name' | 'uid'>,
): ObjectRef {
  return { apiVersion: API_VERSION, kind, name, uid };
}
