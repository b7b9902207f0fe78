/**
 * What `herald router` says: plain lines, what happens on stdout, what is wrong on stderr. Neighbours and strangers decide how often most of it happens, hence the
 * lines of each are limited (line-limit.ts); those for debugging are not.
 */

import { type Clock, formatPrefix, type Prefix } from 'bgp-ts';
import { LineLimit } from '../log/line-limit.ts';
import { LOG_LEVELS, type LogLevel } from '../log/log.ts';
import type { RouterEvent } from '../router/events.ts';
import type { World } from './command.ts';

/** a scanner must not fill the disk: what is told once is remembered, but not for ever */
const REMEMBERED_REFUSALS = 1000;

export class RouterReport {
  readonly #world: Pick<World, 'stdout' | 'stderr'>;
  readonly #level: number;
  readonly #refusals = new Set<string>();
  readonly #limit: LineLimit;

  constructor(world: Pick<World, 'stdout' | 'stderr'>, level: LogLevel, clock: Clock) {
    this.#world = world;
    this.#level = LOG_LEVELS.indexOf(level);
    this.#limit = new LineLimit(clock);
  }

  line(level: LogLevel, sentence: string): void {
    if (this.#shows(level)) this.#world.stdout.write(`${sentence}\n`);
  }

  complain(level: LogLevel, sentence: string): void {
    if (this.#shows(level)) this.#world.stderr.write(`herald router: ${sentence}\n`);
  }

  warnOpenRanges(ranges: readonly Prefix[]): void {
    const open = ranges.filter((range) => !isLoopback(range)).map(formatPrefix);
    if (open.length === 0) return;
    const who = `whoever can dial from ${open.join(' or ')} can announce routes`;
    this.complain('warn', `${who}; --password-file asks for a key`);
  }

  /** What was held back is said now; no timer is left. */
  close(): void {
    this.#limit.close();
  }

  event(event: RouterEvent): void {
    switch (event.kind) {
      case 'peer-up':
        this.#tell(`up ${event.peer}`, `${event.peer} up, AS ${event.asn}`);
        break;
      case 'peer-down':
        this.#tell(`down ${event.peer}`, `${event.peer} down: ${event.reason}`);
        break;
      case 'rejected':
        this.#warn(`rejected ${event.peer}`, rejection(event));
        break;
      case 'bad-update':
        this.#warn(
          `bad-update ${event.peer}`,
          `${event.peer} sent a bad UPDATE, whose routes count as withdrawn: ${event.reason}`,
        );
        break;
      case 'refused':
        this.#refused(event.remote, event.reason);
        break;
      case 'routes':
        if (!this.#shows('debug')) break;
        for (const { prefix, nextHops } of event.routes) {
          const used = nextHops.filter(({ best }) => best).map(({ address }) => address);
          this.line(
            'debug',
            used.length === 0 ? `${prefix} gone` : `${prefix} via ${used.join(', ')}`,
          );
        }
        break;
      case 'kernel':
        if (event.problem !== undefined) this.#warn('kernel', event.problem);
        this.line('debug', `kernel: ${event.prefix} via ${event.nextHops.join(', ') || 'nothing'}`);
        break;
    }
  }

  /** once per neighbour and reason */
  #refused(remote: string, reason: string): void {
    const sentence = `${remote} refused: ${reason}`;
    if (this.#refusals.has(sentence)) {
      this.line('debug', sentence);
      return;
    }
    if (this.#refusals.size >= REMEMBERED_REFUSALS) this.#refusals.clear();
    this.#refusals.add(sentence);
    this.#warn(`refused ${remote}`, sentence);
  }

  #tell(kind: string, sentence: string): void {
    this.#limit.line(kind, (leftOut) => this.line('info', sentence + rest(leftOut)));
  }

  #warn(kind: string, sentence: string): void {
    this.#limit.line(kind, (leftOut) => this.complain('warn', sentence + rest(leftOut)));
  }

  #shows(level: LogLevel): boolean {
    return LOG_LEVELS.indexOf(level) <= this.#level;
  }
}

function rest(leftOut: number): string {
  return leftOut === 0 ? '' : ` (${leftOut} lines like this were left out)`;
}

function rejection(event: RouterEvent & { readonly kind: 'rejected' }): string {
  const { peer, prefixes, count, reason } = event;
  const more = count - prefixes.length;
  const routes = prefixes.join(', ') + (more > 0 ? ` and ${more} more` : '');
  return `${routes} of ${peer} ${count === 1 ? 'is' : 'are'} dropped: ${reason}`;
}

function isLoopback(range: Prefix): boolean {
  return range.family === 'ipv4'
    ? range.length >= 8 && range.bits >>> 24 === 127
    : range.length === 128 && (range.w0 | range.w1 | range.w2) === 0 && range.w3 === 1;
}
