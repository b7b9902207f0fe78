/**
 * The real log: pino, one JSON object per line. Lines leave with the call: what was said before a crash is what one wants to read.
 * Where nobody takes them (a pipe whose reader stands still, a terminal that nobody reads) they are dropped beyond a bound, and that is said when it goes on.
 */

import pino from 'pino';
import type { Log, LogLevel } from './log.ts';

export interface PinoLogOptions {
  readonly level: LogLevel;
  readonly node: string;
  readonly destination: NodeJS.WritableStream;
}

/** A field of such a name is a slip of ours; its value must not get out because of it. */
const SECRETS = ['password', 'token', 'key', 'secret'];
const REDACTED = SECRETS.flatMap((name) => [name, `*.${name}`]);

const MAX_WAITING = 1 << 20;

function bounded(destination: NodeJS.WritableStream): pino.DestinationStream {
  let dropped = 0;
  const tell = () => {
    if (dropped > 0) destination.write(droppedLine(dropped));
    dropped = 0;
  };
  return {
    write: (line) => {
      if (waiting(destination) > MAX_WAITING) {
        if (dropped === 0) destination.once('drain', tell);
        dropped += 1;
        return;
      }
      tell();
      destination.write(line);
    },
  };
}

function droppedLine(count: number): string {
  const time = new Date().toISOString();
  return `${JSON.stringify({ level: 'warn', time, event: 'agent.warning', count, msg: 'log lines dropped: nobody read them' })}\n`;
}

function waiting(destination: NodeJS.WritableStream): number {
  return 'writableLength' in destination ? Number(destination.writableLength) : 0;
}

export function createPinoLog({ level, node, destination }: PinoLogOptions): Log {
  const logger = pino(
    {
      level,
      base: { node },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    bounded(destination),
  );
  return {
    info: (event, fields, message) => logger.info({ event, ...fields }, message),
    warn: (event, fields, message) => logger.warn({ event, ...fields }, message),
    error: (event, fields, message) => logger.error({ event, ...fields }, message),
    debug: (event, fields, message) => logger.debug({ event, ...fields }, message),
  };
}
