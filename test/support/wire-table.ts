/**
 * The routes of a neighbour as a user of the library would keep them: an Adj-RIB-In in keep mode, fed by the speaker's events
 * and by nothing else. What stands in it after a bad UPDATE is what the speaker told its user to believe.
 */

import { AdjRibIn } from '../../protocol/bgp/adj-rib-in.ts';
import type { PathAttributes } from '../../protocol/bgp/message.ts';
import { formatPrefix } from '../../protocol/net/address-text.ts';
import type { SpeakerEvent } from '../../protocol/speaker/events.ts';
import type { Subject } from './speaker-under-test.ts';

export class HeardTable {
  readonly #rib = new AdjRibIn({ kind: 'keep' });
  readonly #read = (event: SpeakerEvent): void => {
    switch (event.kind) {
      case 'established':
        this.#rib.established(event.negotiated);
        break;
      case 'down':
        this.#rib.down();
        break;
      case 'update-received':
        this.#rib.update(event.update);
        break;
      case 'update-fault':
        this.#rib.treatAsWithdraw(event.fault.withdrawn);
        break;
      default:
        break;
    }
  };

  constructor(subject: Subject) {
    for (const event of subject.events) this.#read(event);
    subject.speaker.subscribe(this.#read);
  }

  get prefixes(): readonly string[] {
    return [...this.#rib.routes()].map(({ prefix }) => formatPrefix(prefix)).toSorted();
  }

  attributes(prefix: string): PathAttributes | undefined {
    for (const route of this.#rib.routes()) {
      if (formatPrefix(route.prefix) === prefix) return route.attributes;
    }
    return undefined;
  }
}
