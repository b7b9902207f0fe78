/**
 * Shares the main thread among the connections of a transport, so that no neighbour decides how much of it reading takes.
 *
 * libuv reads up to 2 MB of each connection before it looks at a timer, and 2 MB of KEEPALIVEs are a hundred thousand messages: one neighbour
 * that sends without a pause would hold up the keepalives of all others, and twenty would cost their sessions. Here what has come is handed
 * over in small pieces, each connection in its turn, for some milliseconds; then timers and everybody else have theirs.
 */

export interface PieceReader {
  /** Hands one piece over; true while there are more. */
  readPiece(): boolean;
}

const TURN_MS = 10;

/**
 * Gives readers of sockets the main thread in turns: some milliseconds for all of them together, then timers.
 *
 * @example const turns = new ReadTurns();
 * turns.offer({ readPiece: () => false });
 */
export class ReadTurns {
  /** in the order in which they are served */
  readonly #waiting = new Set<PieceReader>();
  /** of this turn's reading; undefined while nothing has been read in it */
  #endMs: number | undefined;
  #next: NodeJS.Immediate | undefined;

  /** Something has come for this one: it is read now, or in one of the next turns. */
  offer(reader: PieceReader): void {
    this.#waiting.add(reader);
    this.#serve();
  }

  #serve(): void {
    this.#endMs ??= performance.now() + TURN_MS;
    this.#next ??= setImmediate(() => this.#turn());
    for (const reader of this.#waiting) {
      if (performance.now() >= this.#endMs) return;
      this.#waiting.delete(reader);
      // behind the others
      if (reader.readPiece()) this.#waiting.add(reader);
    }
  }

  #turn(): void {
    this.#next = undefined;
    this.#endMs = undefined;
    if (this.#waiting.size > 0) this.#serve();
  }
}
