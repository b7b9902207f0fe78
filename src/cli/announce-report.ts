/**
 * What `herald announce` tells while it runs: sentences on stderr for people, and with --json one object per line on stdout for
 * programs: {event: "session" | "synced" | "notification" | "stopped", time, …}.
 */

import { describeDown, formatAddress, formatRouterId, type SpeakerEvent } from 'bgp-ts';

export interface ReportOutput {
  /** a sentence for people */
  say(sentence: string): void;
  /** a fact for programs */
  fact(fact: Readonly<Record<string, unknown>>): void;
}

export class AnnounceReport {
  readonly #output: ReportOutput;
  readonly #peer: string;
  readonly #now: () => Date;
  #failures = 0;

  constructor(output: ReportOutput, peer: string, now: () => Date) {
    this.#output = output;
    this.#peer = peer;
    this.#now = now;
  }

  event(event: SpeakerEvent): void {
    switch (event.kind) {
      case 'transition':
        // 'established' has an event of its own that says more
        if (event.to !== 'established') {
          this.#fact('session', { from: event.from, state: event.to });
        }
        break;
      case 'established':
        this.#established(event);
        break;
      case 'down':
        this.#down(event);
        break;
      case 'notification-sent':
      case 'notification-received':
        this.#notification(event);
        break;
      case 'routes-synced':
        this.#synced(event.routes);
        break;
      case 'routes-refused':
        this.#refused(event);
        break;
      case 'refresh-requested':
        this.#output.say(`${this.#peer} asked for all routes again (route refresh)`);
        break;
      case 'update-fault':
      case 'update-issue':
      case 'update-received':
      case 'removed':
      case 'routes-not-refreshed':
      case 'listening':
      case 'listen-failed':
      case 'accept-failed':
      case 'connection-refused':
        // a one-way speaker: what the neighbour announces is of no interest, and nobody listens
        break;
    }
  }

  progress(sent: number, total: number): void {
    this.#output.say(`${sent.toLocaleString('en')} of ${count(total)} sent`);
  }

  stopped(reason: string, exitCode: number): void {
    this.#fact('stopped', { reason, exitCode });
    this.#output.say(reason);
  }

  #fact(event: string, fields: Readonly<Record<string, unknown>>): void {
    this.#output.fact({ event, time: this.#now().toISOString(), peer: this.#peer, ...fields });
  }

  #established(event: SpeakerEvent & { readonly kind: 'established' }): void {
    const { peerAsn, peerRouterId, holdTimeSeconds, families } = event.negotiated;
    this.#failures = 0;
    const facts = {
      localAddress: formatAddress(event.local.address),
      peerAsn,
      peerRouterId: formatRouterId(peerRouterId),
      holdTime: holdTimeSeconds,
      families: families.map(({ afi, safi }) => `${afi}/${safi}`),
    };
    this.#fact('session', { state: 'established', ...facts });
    this.#output.say(
      `session with ${this.#peer} is up: AS ${peerAsn}, identifier ${facts.peerRouterId}, hold time ${holdTimeSeconds} s`,
    );
  }

  #down(event: SpeakerEvent & { readonly kind: 'down' }): void {
    if (event.reason.kind === 'stopped') return;
    const reason = describeDown(event.reason);
    this.#fact('session', { state: 'down', wasEstablished: event.wasEstablished, reason });
    if (event.wasEstablished) {
      this.#output.say(`session with ${this.#peer} is down: ${reason}`);
      return;
    }
    // a neighbour that is away for hours must not fill the terminal: the 1st, 2nd, 4th, 8th … failure is told
    this.#failures += 1;
    if ((this.#failures & (this.#failures - 1)) !== 0) return;
    const tries = this.#failures === 1 ? '' : ` (attempt ${this.#failures})`;
    this.#output.say(`no session with ${this.#peer} yet${tries}: ${reason}; trying on`);
  }

  #notification(
    event: SpeakerEvent & { readonly kind: 'notification-sent' | 'notification-received' },
  ): void {
    const direction = event.kind === 'notification-sent' ? 'sent' : 'received';
    const { code, subcode, name, text } = event;
    this.#fact('notification', {
      direction,
      code,
      subcode,
      name,
      ...(text === '' ? {} : { text }),
    });
    const said = text === '' ? '' : `: ${JSON.stringify(text)}`;
    this.#output.say(`NOTIFICATION ${direction}: ${name} (${code}/${subcode})${said}`);
  }

  #synced(routes: Readonly<Record<'ipv4' | 'ipv6', number>>): void {
    const total = routes.ipv4 + routes.ipv6;
    this.#fact('synced', { routes: total, ...routes });
    const done = total === 0 ? 'all routes withdrawn from' : `${count(total)} announced to`;
    this.#output.say(`${done} ${this.#peer}`);
  }

  #refused(event: SpeakerEvent & { readonly kind: 'routes-refused' }): void {
    const [first] = event.first;
    if (first === undefined) return;
    this.#fact('session', { state: 'established', refused: event.count, reason: first.detail });
    this.#output.say(`${count(event.count)} cannot be announced: ${first.detail}`);
  }
}

function count(routes: number): string {
  return routes === 1 ? '1 route' : `${routes.toLocaleString('en')} routes`;
}
