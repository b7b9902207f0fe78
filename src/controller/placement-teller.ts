/** What people are told of the places of exclusive claims: log, Events and counts. Decides nothing. */

import { formatAddress } from 'bgp-ts';
import type { Log } from '../log/log.ts';
import type { Standing } from '../scheduler/eligible.ts';
import { type ControllerCounters, NO_COUNTERS } from './counters.ts';
import { aboutClaim, type EventSink, type RecordedEvent } from './events.ts';
import type { PlacementSubject } from './placement-subject.ts';

export interface PlacementTellerOptions {
  readonly log: Log;
  readonly events: EventSink;
  readonly counters?: ControllerCounters;
}

export class PlacementTeller {
  readonly #options: PlacementTellerOptions;

  constructor(options: PlacementTellerOptions) {
    this.#options = options;
  }

  placed({ name }: PlacementSubject, to: string): void {
    const { log, counters = NO_COUNTERS } = this.#options;
    counters.moved('first');
    log.debug('controller.move', { claim: name, to }, 'placed');
  }

  /** `refusal`: what its holder, which could have it, says against it */
  moved(
    subject: PlacementSubject,
    way: { readonly from: string; readonly to: string },
    standing: Standing,
    refusal: string | undefined,
  ): void {
    const { log, counters = NO_COUNTERS } = this.#options;
    const { name, claim } = subject;
    const { from, to } = way;
    counters.moved(standing.kind === 'gone' ? 'dead' : 'planned');
    const why = standing.kind === 'eligible' ? (refusal ?? 'by intent') : standing.sentence;
    const message = `${formatAddress(claim.address)} moved from ${from} to ${to}: ${why}`;
    log.info('controller.move', { claim: name, from, to, reason: why }, 'moved');
    this.#tell(subject, { type: 'Normal', reason: 'Moved', message });
  }

  /** a node that may still be heard has not answered for too long */
  waits(subject: PlacementSubject, sentence: string): void {
    const message = `${formatAddress(subject.claim.address)} waits: ${sentence}`;
    this.warn(subject, 'NodeDoesNotAnswer', message);
  }

  /** it may go when another has got there, and that takes minutes */
  inLine(subject: PlacementSubject, others: string): void {
    const address = formatAddress(subject.claim.address);
    const message = `${address} waits: ${others}, and have not got there yet`;
    this.warn(subject, 'WaitsInLine', message);
  }

  warn(subject: PlacementSubject, reason: string, message: string): void {
    this.#tell(subject, { type: 'Warning', reason, message });
  }

  #tell({ meta, claim }: PlacementSubject, event: Omit<RecordedEvent, 'object'>): void {
    this.#options.events.record({ ...aboutClaim(meta, claim), ...event });
  }
}
