/**
 * Our speaker as the wire tests run it: real sockets, real clock, timers short enough for a test, every event recorded.
 * Tests look at it from two sides: the octets that the scripted neighbour got, and the events and status told here.
 */

import { nodeClock } from '../../protocol/io/node-clock.ts';
import { nodeRandom } from '../../protocol/io/node-random.ts';
import { NodeTcpTransport } from '../../protocol/io/node-tcp.ts';
import type { ListenOptions } from '../../protocol/io/transport.ts';
import type { Address, Prefix } from '../../protocol/net/address.ts';
import { parseAddress, parsePrefix, parseRouterId } from '../../protocol/net/address-text.ts';
import type { PeerStatus, SpeakerEvent } from '../../protocol/speaker/events.ts';
import type { PeerSettings, PeerTimers } from '../../protocol/speaker/settings.ts';
import { type Desired, Speaker, type SpeakerStop } from '../../protocol/speaker/speaker.ts';
import { type NeighbourConnection, NeighbourPort, type Received } from './scripted-neighbour.ts';
import { type OpenFields, OUR_ASN, OUR_ID, QUIET_HOLD_SECONDS, THEIR_ASN } from './wire-bytes.ts';

export type EventOf<K extends SpeakerEvent['kind']> = SpeakerEvent & { readonly kind: K };

export interface SubjectOptions {
  readonly listen?: ListenOptions;
  readonly restarting?: boolean;
}

const DEFAULT_TIMEOUT_MS = 20_000;

/** no wait between attempts that a test would notice */
export const SHORT_TIMERS: PeerTimers = {
  holdSeconds: QUIET_HOLD_SECONDS,
  connectRetrySeconds: 0.1,
  idleHoldSeconds: 0.1,
  idleHoldMaximumSeconds: 0.2,
};

export class Subject {
  readonly speaker: Speaker;
  readonly events: SpeakerEvent[] = [];
  readonly #waiters = new Set<() => void>();
  #isStopped = false;

  constructor(options: SubjectOptions = {}) {
    this.speaker = new Speaker({
      clock: nodeClock,
      random: nodeRandom,
      transport: new NodeTcpTransport({ closeTimeoutMs: 500 }),
      interfaceAddresses: () => undefined,
      ...(options.listen === undefined ? {} : { listen: options.listen }),
      ...(options.restarting === undefined ? {} : { restarting: options.restarting }),
    });
    this.speaker.subscribe((event) => {
      this.events.push(event);
      for (const check of [...this.#waiters]) check();
    });
  }

  apply(...peers: Desired['peers']): void {
    this.speaker.apply({ peers });
  }

  of<K extends SpeakerEvent['kind']>(kind: K, peer?: string): readonly EventOf<K>[] {
    return this.events.filter(
      (event): event is EventOf<K> =>
        event.kind === kind && (peer === undefined || ('peer' in event && event.peer === peer)),
    );
  }

  status(name = 'neighbour'): PeerStatus {
    const status = this.speaker.status().find((candidate) => candidate.name === name);
    if (status === undefined) throw new Error(`no peer ${name}`);
    return status;
  }

  /** the first event of this kind for which `accept` holds, told already or still to come */
  until<K extends SpeakerEvent['kind']>(
    kind: K,
    accept: (event: EventOf<K>) => boolean = () => true,
    timeoutMs = DEFAULT_TIMEOUT_MS,
  ): Promise<EventOf<K>> {
    return new Promise((resolve, reject) => {
      const check = () => {
        const event = this.of(kind).find(accept);
        if (event === undefined) return;
        clearTimeout(timer);
        this.#waiters.delete(check);
        resolve(event);
      };
      const timer = setTimeout(() => {
        this.#waiters.delete(check);
        const told = this.events.map((event) => describeEvent(event)).slice(-12);
        reject(new Error(`no event ${kind} within ${timeoutMs} ms; told: ${told.join(', ')}`));
      }, timeoutMs);
      this.#waiters.add(check);
      check();
    });
  }

  async stop(how: SpeakerStop = { kind: 'restart' }): Promise<void> {
    if (this.#isStopped) return;
    this.#isStopped = true;
    await this.speaker.stop(how);
  }
}

function describeEvent(event: SpeakerEvent): string {
  switch (event.kind) {
    case 'transition':
      return `${event.from}→${event.to}`;
    case 'notification-sent':
    case 'notification-received':
      return `${event.kind} ${event.code}/${event.subcode}`;
    case 'down':
      return `down ${JSON.stringify(event.reason)}`;
    default:
      return event.kind;
  }
}

export function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`no address: ${text}`);
  return parsed;
}

export function ipv6(text: string) {
  const parsed = address(text);
  if (parsed.family !== 'ipv6') throw new Error(`not IPv6: ${text}`);
  return parsed;
}

export function prefix(text: string): Prefix {
  const parsed = parsePrefix(text);
  if (parsed === undefined) throw new Error(`no prefix: ${text}`);
  return parsed;
}

export function routerId(text: string): number {
  const parsed = parseRouterId(text);
  if (parsed === undefined) throw new Error(`no identifier: ${text}`);
  return parsed;
}

export function settings(port: number, more: Partial<PeerSettings> = {}): PeerSettings {
  const { timers, ...rest } = more;
  return {
    name: 'neighbour',
    address: address('127.0.0.1'),
    port,
    localAsn: OUR_ASN,
    peerAsn: THEIR_ASN,
    routerId: routerId(OUR_ID),
    nextHop: { ipv6: ipv6('2001:db8::1') },
    ...rest,
    timers: { ...SHORT_TIMERS, ...timers },
  };
}

export function routes(...prefixes: readonly string[]): Desired['peers'][number]['routes'] {
  return prefixes.map((text) => ({ prefix: prefix(text), attributes: {} }));
}

/** One neighbour and our speaker that dials it. */
export interface Pair {
  readonly port: NeighbourPort;
  readonly subject: Subject;
  readonly settings: PeerSettings;
}

export interface PairOptions extends SubjectOptions {
  readonly peer?: Partial<PeerSettings>;
  readonly routes?: readonly string[];
}

/** Runs a test with a neighbour that our speaker dials, and clears up after it. */
export async function withPair(
  options: PairOptions,
  test: (pair: Pair) => Promise<void>,
): Promise<void> {
  const port = await NeighbourPort.listen();
  const subject = new Subject(options);
  try {
    const peer = settings(port.port, options.peer);
    await subject.speaker.start();
    subject.apply({ settings: peer, routes: routes(...(options.routes ?? [])) });
    await test({ port, subject, settings: peer });
  } finally {
    await Promise.all([port.close(), subject.stop()]);
  }
}

export interface SessionPair extends Pair {
  readonly neighbour: NeighbourConnection;
  /** the OPEN that our side sent */
  readonly theirOpen: Received;
}

export interface SessionOptions extends PairOptions {
  /** the neighbour's OPEN */
  readonly open?: OpenFields;
  /** how many End-of-RIB markers our side sends: one per family */
  readonly endOfRibs?: number;
}

/** The same, with the session established and our routes sent. */
export async function withSession(
  options: SessionOptions,
  test: (pair: SessionPair) => Promise<void>,
): Promise<void> {
  await withPair(options, async (pair) => {
    const neighbour = await pair.port.accept();
    const theirOpen = await neighbour.establish(options.open, options.endOfRibs);
    await pair.subject.until('routes-synced');
    await test({ ...pair, neighbour, theirOpen });
  });
}
