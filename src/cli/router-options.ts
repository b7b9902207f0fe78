/** `herald router`: from arguments to settings. Everything a user can get wrong ends in one sentence (UsageError). */

import {
  type Address,
  type ListenOptions,
  type Prefix,
  parseAddress,
  parsePrefixMasked,
  prefixKey,
} from 'bgp-ts';
import { LOG_LEVELS, type LogLevel } from '../log/log.ts';
import { UsageError } from './command.ts';
import { readAsn, readHold, readRouterId, required, wholeNumber } from './option-values.ts';

export interface RouterOptions {
  readonly listen: ListenOptions;
  readonly asn: number;
  readonly routerId?: number;
  readonly neighborRanges: readonly Prefix[];
  readonly neighborAsn: number | 'any' | 'external';
  readonly maxPrefixes: number;
  readonly holdSeconds: number;
  readonly passwordFile?: string;
  readonly install?: { readonly table: number };
  readonly http?: { readonly address: Address; readonly port: number };
  readonly logLevel: LogLevel;
}

/** what parseArgs gives for these flags */
export interface RouterFlags {
  readonly listen?: string | undefined;
  readonly asn?: string | undefined;
  readonly 'router-id'?: string | undefined;
  readonly 'neighbor-range'?: readonly string[] | undefined;
  readonly 'neighbor-asn'?: string | undefined;
  readonly 'max-prefix'?: string | undefined;
  readonly hold?: string | undefined;
  readonly 'password-file'?: string | undefined;
  readonly install?: boolean | undefined;
  readonly table?: string | undefined;
  readonly http?: string | undefined;
  readonly 'log-level'?: string | undefined;
}

const DEFAULT_PORT = 179;
const DEFAULT_MAX_PREFIXES = 1000;
const MAIN_TABLE = 254;
const LOCAL_TABLE = 255;
const MAX_U32 = 0xffffffff;

export function routerOptions(flags: RouterFlags): RouterOptions {
  const listen = readListen(flags.listen ?? `[::]:${DEFAULT_PORT}`);
  const install = readInstall(flags);
  const http = flags.http === undefined ? undefined : readEndpoint('--http', flags.http);
  return {
    listen,
    asn: readAsn('--asn', required('--asn', flags.asn)),
    ...(flags['router-id'] === undefined ? {} : { routerId: readRouterId(flags['router-id']) }),
    neighborRanges: readRanges(flags['neighbor-range'] ?? []),
    neighborAsn: readNeighborAsn(flags['neighbor-asn'] ?? 'external'),
    maxPrefixes: readMaxPrefixes(flags['max-prefix']),
    holdSeconds: readHold(flags.hold),
    ...(flags['password-file'] === undefined ? {} : { passwordFile: flags['password-file'] }),
    ...(install === undefined ? {} : { install }),
    ...(http === undefined ? {} : { http }),
    logLevel: readLogLevel(flags['log-level'] ?? 'info'),
  };
}

/** [::] is all addresses of both families, 0.0.0.0 those of IPv4 */
function readListen(text: string): ListenOptions {
  const { address, port } = readEndpoint('--listen', text);
  const isAny =
    address.family === 'ipv6' && (address.w0 | address.w1 | address.w2 | address.w3) === 0;
  return isAny ? { port } : { address, port };
}

function readEndpoint(flag: string, text: string): { address: Address; port: number } {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const address = parseAddress(bracketed ?? plain ?? '');
  const port = Number(digits);
  if (address === undefined || !(port <= 65535)) {
    throw new UsageError(
      `${flag} '${text}' is not ADDRESS:PORT, like 192.0.2.1:1179 or [::]:179 (an address, not a host name)`,
    );
  }
  return { address, port };
}

function readRanges(texts: readonly string[]): readonly Prefix[] {
  if (texts.length === 0) {
    throw new UsageError('--neighbor-range is missing: from which addresses may neighbours come?');
  }
  const ranges = new Map<string, Prefix>();
  for (const text of texts) {
    // a network whose length was forgotten would be one address, from which nobody comes
    const range = text.includes('/') ? parsePrefixMasked(text) : undefined;
    if (range === undefined) {
      throw new UsageError(
        `--neighbor-range '${text}' is not a range like 192.0.2.0/24 or fd00::/64`,
      );
    }
    ranges.set(prefixKey(range), range);
  }
  return [...ranges.values()];
}

function readNeighborAsn(text: string): RouterOptions['neighborAsn'] {
  return text === 'any' || text === 'external' ? text : readAsn('--neighbor-asn', text);
}

function readMaxPrefixes(text: string | undefined): number {
  if (text === undefined) return DEFAULT_MAX_PREFIXES;
  const value = wholeNumber(text);
  if (value === undefined || value < 1 || value > MAX_U32) {
    throw new UsageError(`--max-prefix '${text}' is not a number of prefixes (1 or more)`);
  }
  return value;
}

function readInstall(flags: RouterFlags): RouterOptions['install'] {
  if (flags.install !== true) {
    if (flags.table === undefined) return undefined;
    throw new UsageError('--table says where to install routes, and needs --install');
  }
  if (flags.table === undefined || flags.table === 'main') return { table: MAIN_TABLE };
  const table = wholeNumber(flags.table);
  if (table === undefined || table < 1 || table > MAX_U32 || table === LOCAL_TABLE) {
    throw new UsageError(
      `--table '${flags.table}' is not a table of the kernel: main, or 1 to ${MAX_U32} and not ${LOCAL_TABLE}`,
    );
  }
  return { table };
}

function readLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((each) => each === text);
  if (level === undefined) {
    throw new UsageError(`--log-level '${text}' is not one of ${LOG_LEVELS.join(', ')}`);
  }
  return level;
}
