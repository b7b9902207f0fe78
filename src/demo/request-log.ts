/**
 * What became of the requests: counts since the beginning and the last few as a strip. One character per request, in the order they
 * were sent: `1` `2` `3` answered by that member, `a` `b` `c` lost on the way to it, `x` `y` `z` on its way there, `-` nothing to
 * send it to.
 */

import type { RequestCounts } from './facts.ts';

export const STRIP_LENGTH = 240;
const ANSWERED = '123';
const LOST = 'abc';
const PENDING = 'xyz';

export interface Strip {
  /** number of the request that its first character is about */
  readonly from: number;
  readonly marks: string;
}

export class RequestLog {
  #sent = 0;
  #lost = 0;
  #unroutable = 0;
  readonly #answered = [0, 0, 0];
  readonly #lostOf = [0, 0, 0];
  readonly #marks: string[] = [];

  /** Nothing could be sent. */
  unroutable(): void {
    this.#unroutable += 1;
    this.#add('-');
  }

  /** A request goes to this member; what is returned is to be called once, with its end. */
  sent(id: number): (isAnswered: boolean) => void {
    const number = this.#add(PENDING.charAt(id - 1));
    return (isAnswered) => {
      const at = id - 1;
      if (isAnswered) {
        this.#answered[at] = (this.#answered[at] ?? 0) + 1;
      } else {
        this.#lost += 1;
        this.#lostOf[at] = (this.#lostOf[at] ?? 0) + 1;
      }
      const place = number - this.#from();
      if (place >= 0) this.#marks[place] = (isAnswered ? ANSWERED : LOST).charAt(at);
    };
  }

  counts(): RequestCounts {
    return {
      sent: this.#sent,
      answered: [...this.#answered],
      lost: this.#lost,
      unroutable: this.#unroutable,
    };
  }

  lostOf(id: number): number {
    return this.#lostOf[id - 1] ?? 0;
  }

  strip(): Strip {
    return { from: this.#from(), marks: this.#marks.join('') };
  }

  #from(): number {
    return this.#sent - this.#marks.length;
  }

  #add(mark: string): number {
    this.#marks.push(mark);
    if (this.#marks.length > STRIP_LENGTH) this.#marks.shift();
    this.#sent += 1;
    return this.#sent - 1;
  }
}
