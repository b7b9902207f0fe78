/** The real log: pino, one JSON object per line. Lines leave with the call: what was said before a crash is what one wants to read. */

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

export function createPinoLog({ level, node, destination }: PinoLogOptions): Log {
  const logger = pino(
    {
      level,
      base: { node },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED, censor: '[redacted]' },
    },
    destination,
  );
  return {
    info: (event, fields, message) => logger.info({ event, ...fields }, message),
    warn: (event, fields, message) => logger.warn({ event, ...fields }, message),
    error: (event, fields, message) => logger.error({ event, ...fields }, message),
    debug: (event, fields, message) => logger.debug({ event, ...fields }, message),
  };
}
