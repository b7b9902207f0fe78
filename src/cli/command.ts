/**
 * What a sub-command is and what it may touch. A command gets its arguments and a `World`; it never reads `process` itself, so
 * that tests can run it with streams of their own.
 */

export interface World {
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly version: string;
  /** called on the first SIGTERM or SIGINT; a second one ends the process at once */
  onStopSignal(handler: (signal: string) => void): void;
  /** called right before a second stop signal, or an error that nobody caught, ends the process: there is no time for anything that waits */
  onSuddenEnd(handler: () => void): void;
  /** called on each SIGHUP, which then no longer ends the process */
  onReloadSignal(handler: () => void): void;
}

export interface Command {
  readonly name: string;
  /** one line for `herald --help` */
  readonly summary: string;
  /** what `herald NAME --help` prints */
  readonly help: string;
  /** it runs for what it does, not for what it prints: a log that cannot be written does not end it, nor does a stray signal */
  readonly isService?: boolean;
  /** Resolves to the exit status. Throws `UsageError` for what the user can put right. */
  run(args: readonly string[], world: World): Promise<number>;
}

/** Wrong usage: its one sentence goes to stderr, and the exit status is 2. */
export class UsageError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'UsageError';
  }
}
