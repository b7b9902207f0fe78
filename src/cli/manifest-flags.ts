/** `herald manifest`: from arguments to values. Everything a user can get wrong ends in one sentence (UsageError). */

import { parseArgs } from 'node:util';
import { isUsableAsn, type Prefix, parseAddress, parsePrefix, parseRouterId } from 'bgp-ts';
import { SETTINGS, type SettingName } from '../config/agent-settings.ts';
import { joinCheckOf } from '../config/join-check.ts';
import { readSettings, SettingError } from '../config/read-settings.ts';
import type { AgentSettings } from '../manifest/agent-command.ts';
import { ROUTER_KINDS, type RouterKind, type StaticNeighbour } from '../manifest/router-plan.ts';
import { UsageError } from './command.ts';

export const MANIFEST_KINDS = ['systemd', 'cloud-init', 'static-pod', 'router'] as const;
export type ManifestKind = (typeof MANIFEST_KINDS)[number];

const TEXT = { type: 'string' } as const;
const COMMON = { source: TEXT, out: TEXT } as const;

const ROUTER = {
  ...COMMON,
  for: TEXT,
  peer: TEXT,
  asn: TEXT,
  'router-asn': TEXT,
  'router-id': TEXT,
  neighbor: { type: 'string', multiple: true },
  'neighbor-range': { type: 'string', multiple: true },
  'max-nodes': TEXT,
  'restart-minutes': TEXT,
  insecure: { type: 'boolean' },
  'password-placeholder': { type: 'boolean' },
  'cloud-init': { type: 'boolean' },
} as const;

/** Settings of the agent that are the same on every machine; the others the manifests set themselves. */
const PASSED_ON = [
  'nodeLabels',
  'asn',
  'listenAddress',
  'listenPort',
  'joinCheck',
  'joinCa',
  'joinPin',
  'joinSuccesses',
  'joinFailures',
  'joinInterval',
  'joinTimeout',
  'joinSettle',
  'maxStale',
  'logLevel',
] as const satisfies readonly SettingName[];

const DEFAULT_FOLDER = '/etc/herald';
const DEFAULT_EXEC = '/opt/herald/herald';
const DEFAULT_RESTART_MINUTES = 5;

export interface SourceFlags {
  readonly source: string;
  readonly out?: string;
}

export interface RouterFlags extends SourceFlags {
  readonly router: RouterKind;
  readonly peer?: string;
  readonly nodeAsn?: number;
  readonly routerAsn?: number;
  readonly routerId?: number;
  readonly neighbours: readonly StaticNeighbour[];
  readonly ranges: readonly Prefix[];
  readonly maxNodes?: number;
  readonly restartMinutes: number;
  readonly insecure: boolean;
  readonly passwordPlaceholder: boolean;
  /** user-data that makes a machine this router, in place of the router's file */
  readonly cloudInit: boolean;
}

export interface AgentFlags extends SourceFlags {
  readonly settings: AgentSettings;
  readonly exec: string;
  readonly image?: string;
  readonly program?: { readonly url: string; readonly sha256?: string };
}

export function readRouterFlags(args: readonly string[]): RouterFlags {
  const { values } = parseArgs({ args: [...args], options: ROUTER });
  const router = ROUTER_KINDS.find((kind) => kind === values.for);
  if (router === undefined) {
    throw new UsageError(`--for must be one of ${ROUTER_KINDS.join(', ')}`);
  }
  return {
    ...readSource(values),
    router,
    ...(values.peer === undefined ? {} : { peer: values.peer }),
    ...optional('nodeAsn', values.asn, (text) => readAsn('--asn', text)),
    ...optional('routerAsn', values['router-asn'], (text) => readAsn('--router-asn', text)),
    ...optional('routerId', values['router-id'], readRouterId),
    neighbours: (values.neighbor ?? []).map(readNeighbour),
    ranges: (values['neighbor-range'] ?? []).map(readRange),
    ...optional('maxNodes', values['max-nodes'], (text) => readNumber('--max-nodes', text, 255)),
    restartMinutes:
      values['restart-minutes'] === undefined
        ? DEFAULT_RESTART_MINUTES
        : readNumber('--restart-minutes', values['restart-minutes'], 65_535),
    insecure: values.insecure === true,
    passwordPlaceholder: values['password-placeholder'] === true,
    cloudInit: values['cloud-init'] === true,
  };
}

export function readAgentFlags(kind: ManifestKind, args: readonly string[]): AgentFlags {
  const passed = PASSED_ON.map((name) => SETTINGS[name].flag);
  const extra = {
    systemd: ['exec'],
    'cloud-init': ['exec', 'program', 'program-sha256'],
    'static-pod': ['image'],
    router: [],
  } satisfies Record<ManifestKind, readonly string[]>;
  const names = ['source', 'out', 'documents-dir', 'node-name', ...passed, ...extra[kind]];
  const options = Object.fromEntries(names.map((name) => [name, TEXT]));
  const values: Readonly<Record<string, string | undefined>> = parseArgs({
    args: [...args],
    options,
  }).values;
  const folder = readPath('--documents-dir', values['documents-dir'] ?? DEFAULT_FOLDER);
  return {
    ...readSource(values),
    settings: readAgentSettings(values, folder),
    exec: readPath('--exec', values['exec'] ?? DEFAULT_EXEC),
    ...optional('image', values['image'], (text) => text),
    ...optional('program', values['program'], (text) =>
      readProgram(text, values['program-sha256']),
    ),
  };
}

function readAgentSettings(
  values: Readonly<Record<string, string | undefined>>,
  documentsFolder: string,
): AgentSettings {
  const flags = PASSED_ON.flatMap((name): [string, string][] => {
    const { flag } = SETTINGS[name];
    const value = values[flag];
    return value === undefined ? [] : [[flag, value]];
  });
  if (values['join-check'] === undefined) {
    throw new UsageError(
      "say when a machine may announce its addresses: --join-check https://127.0.0.1:6443/readyz --join-ca FILE, or another check of 'herald agent --help', or none",
    );
  }
  const joinCa = values['join-ca'];
  if (joinCa !== undefined) readPath('--join-ca', joinCa);
  return {
    documentsFolder,
    ...optional('nodeName', values['node-name'], (text) => text),
    ...optional('joinCa', joinCa, (text) => text),
    listenPort: Number(checkedSettings(flags).listenPort),
    flags,
  };
}

/** The agent itself judges what is passed on to it, so that a unit never starts one that refuses its arguments. */
function checkedSettings(flags: readonly (readonly [string, string])[]) {
  try {
    const settings = readSettings({
      args: flags.map(([flag, value]) => `--${flag}=${value}`),
      env: {},
      readFile: () => '',
    });
    joinCheckOf(settings);
    return settings;
  } catch (error) {
    if (error instanceof SettingError) throw new UsageError(error.message);
    throw error;
  }
}

function readSource({ source, out }: { source?: string | undefined; out?: string | undefined }) {
  const text = source ?? `files:${DEFAULT_FOLDER}`;
  if (!/^files:./.test(text)) throw new UsageError(`--source is '${text}': write files:DIR`);
  return { source: text.slice('files:'.length), ...(out === undefined ? {} : { out }) };
}

function readProgram(text: string, sha256: string | undefined) {
  if (sha256 !== undefined && !/^[0-9a-f]{64}$/.test(sha256)) {
    throw new UsageError('--program-sha256 must be 64 lower-case hex digits, as sha256sum prints');
  }
  const url = text.startsWith('/') ? `file://${text}` : text;
  if (!/^(https?|file):\/\/\S+$/.test(url)) {
    throw new UsageError(
      `--program '${text}' must be an http:// or https:// URL, or an absolute path on the machine`,
    );
  }
  if (url.startsWith('http://') && sha256 === undefined) {
    throw new UsageError(
      'a program that comes over http:// may be changed on its way; give --program-sha256, or use https://',
    );
  }
  return { url, ...(sha256 === undefined ? {} : { sha256 }) };
}

function readNeighbour(text: string): StaticNeighbour {
  const [addressText = '', name, more] = text.split('=');
  const address = parseAddress(addressText);
  if (address === undefined || more !== undefined) {
    throw new UsageError(`--neighbor '${text}' must be ADDRESS or ADDRESS=NAME`);
  }
  if (name === undefined) return { address };
  // it is written into four languages, each with other quotes
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name)) {
    throw new UsageError(
      `the name in --neighbor '${text}' may have letters, digits, '.', '_', '-'`,
    );
  }
  return { address, name };
}

function readRange(text: string): Prefix {
  const prefix = parsePrefix(text);
  if (prefix !== undefined) return prefix;
  throw new UsageError(
    `--neighbor-range '${text}' must be a CIDR with no bits behind its length, like 192.0.2.0/24`,
  );
}

function readAsn(flag: string, text: string): number {
  const asn = Number(text);
  if (/^\d+$/.test(text) && isUsableAsn(asn)) return asn;
  throw new UsageError(`${flag} '${text}' is no AS number that a network can have`);
}

function readRouterId(text: string): number {
  const id = parseRouterId(text);
  if (id !== undefined && id !== 0) return id;
  throw new UsageError(`--router-id '${text}' must be written as an IPv4 address, not 0.0.0.0`);
}

function readNumber(flag: string, text: string, highest: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= highest) return value;
  throw new UsageError(`${flag} '${text}' must be a whole number from 1 to ${highest}`);
}

function readPath(flag: string, text: string): string {
  if (text.startsWith('/') && !text.includes('\n')) return text.replace(/(?<=.)\/+$/, '');
  throw new UsageError(`${flag} '${text}' must be an absolute path on the machine`);
}

function optional<Name extends string, T>(
  name: Name,
  text: string | undefined,
  read: (text: string) => T,
): { readonly [key in Name]?: T } {
  return text === undefined ? {} : ({ [name]: read(text) } as { readonly [key in Name]: T });
}
