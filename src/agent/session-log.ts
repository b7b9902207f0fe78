/**
 * What the speaker tells, as log lines. Changes of state are info, what concerns single messages is debug. A neighbour, or a stranger, decides how often
 * most of it happens, hence the lines of each are limited (line-limit.ts); those of every session's steps are not, and are for debugging alone.
 */

import { type Clock, describeDown, formatEndpoint, type SpeakerEvent } from 'bgp-ts';
import { LineLimit } from '../log/line-limit.ts';
import type { Log, LogEvent, LogFields, LogLevel } from '../log/log.ts';

type Line = readonly [level: LogLevel, event: LogEvent, fields: LogFields, message: string];

export class SessionLog {
  readonly #log: Log;
  readonly #limit: LineLimit;

  constructor(log: Log, clock: Clock) {
    this.#log = log;
    this.#limit = new LineLimit(clock);
  }

  take(event: SpeakerEvent): void {
    const line = lineOf(event);
    if (line === undefined) return;
    const [level, name, fields, message] = line;
    const write = (leftOut: number) =>
      this.#log[level](name, leftOut === 0 ? fields : { ...fields, leftOut }, message);
    if (event.kind === 'transition' || event.kind === 'routes-synced') write(0);
    else this.#limit.line(`${event.kind} ${'peer' in event ? event.peer : ''}`, write);
  }

  /** What was held back is written; no timer is left. */
  close(): void {
    this.#limit.close();
  }
}

function lineOf(event: SpeakerEvent): Line | undefined {
  switch (event.kind) {
    case 'transition': {
      const { peer, from, to } = event;
      return ['debug', 'bgp.transition', { peer, from, to }, `${from} -> ${to}`];
    }
    case 'established': {
      const { peer, negotiated } = event;
      const fields = { peer, asn: negotiated.peerAsn, holdSeconds: negotiated.holdTimeSeconds };
      return ['info', 'bgp.established', fields, 'session up'];
    }
    case 'down': {
      const fields = { peer: event.peer, reason: describeDown(event.reason) };
      const { wasEstablished } = event;
      return [wasEstablished ? 'warn' : 'debug', 'bgp.down', fields, 'no session'];
    }
    case 'notification-sent':
    case 'notification-received': {
      const { peer, code, subcode, name, text } = event;
      const fields = { peer, code, subcode, text };
      return ['warn', 'bgp.notification', fields, `${event.kind}: ${name}`];
    }
    case 'routes-refused': {
      const { peer, count } = event;
      return ['warn', 'bgp.refused', { peer, count }, 'routes that this session cannot carry'];
    }
    case 'update-fault': {
      const { peer, fault } = event;
      return ['warn', 'bgp.refused', { peer, reason: fault.message }, 'bad UPDATE'];
    }
    case 'routes-synced':
      return ['debug', 'claim.route', { peer: event.peer, ...event.routes }, 'routes written'];
    case 'listening':
    case 'listen-failed':
    case 'accept-failed':
    case 'connection-refused':
      return listenLine(event);
    default:
      return undefined;
  }
}

type ListenKind = 'listening' | 'listen-failed' | 'accept-failed' | 'connection-refused';

function listenLine(event: Extract<SpeakerEvent, { kind: ListenKind }>): Line {
  switch (event.kind) {
    case 'listening':
      return ['info', 'bgp.listen', { local: formatEndpoint(event.local) }, 'listening'];
    case 'listen-failed':
      return [
        'error',
        'bgp.listen',
        { reason: event.error.message },
        'cannot listen, trying again',
      ];
    case 'accept-failed':
      return ['warn', 'bgp.listen', { reason: event.error.message }, 'a connection was dropped'];
    case 'connection-refused':
      return [
        'debug',
        'bgp.listen',
        { remote: formatEndpoint(event.remote) },
        'refused a stranger',
      ];
  }
}
