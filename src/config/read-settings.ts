/**
 * Settings from flags, environment and a file, in that order of weight; convict weighs them. What is wrong is a sentence that
 * names where it was written. Reads nothing by itself: arguments, environment and the file's text come in.
 */

import { parseArgs } from 'node:util';
import convict from 'convict';
import { loadAll } from 'js-yaml';
import { errorCode } from '../error-code.ts';
import { SETTINGS, type SettingTexts } from './agent-settings.ts';
import { environmentName, type SettingRow } from './setting-row.ts';

/** Settings by the names that they have in a settings file. */
export type SettingsTable = Readonly<Record<string, SettingRow>>;

export interface SettingSources {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** text of the file that --config or HERALD_CONFIG names; throws what the file system says */
  readonly readFile: (path: string) => string;
}

/** What a user can put right. */
export class SettingError extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'SettingError';
  }
}

const CONFIG_FLAG = 'config';
const CONFIG_VARIABLE = 'HERALD_CONFIG';

/** The agent's. Throws a SettingError, or what node:util parseArgs says about a flag that is none. */
export function readSettings(sources: SettingSources): SettingTexts {
  return readTable(SETTINGS, sources);
}

/** Every setting of a table as text that its row has accepted; throws as `readSettings`. */
export function readTable<T extends SettingsTable>(
  table: T,
  { args, env, readFile }: SettingSources,
): Readonly<Record<keyof T & string, string>> {
  const flags = readFlags(table, args);
  const file = flags[CONFIG_FLAG] ?? env[CONFIG_VARIABLE];
  const config = convict<Record<string, string>>(convictSchema(table), {
    args: [],
    env: Object.fromEntries(
      Object.entries(env).filter(([, value]) => value !== undefined),
    ) as NodeJS.ProcessEnv,
  });
  if (file !== undefined) config.load(readFileSettings(Object.keys(table), file, readFile));
  // not by convict's own reading of flags, which takes 1e2 and 0x10 for numbers and writes them anew
  for (const [name, { flag }] of Object.entries(table)) {
    const value = flags[flag];
    if (value !== undefined) config.set(name, value);
  }
  const values = config.getProperties();
  return Object.fromEntries(
    Object.entries(table).map(([name, row]) => {
      const text = String(values[name] ?? '');
      try {
        row.check(text);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        const written = writtenAs({ name, row, flags, env });
        throw new SettingError(`${written} is '${text}': ${error.message}`);
      }
      return [name, text];
    }),
  ) as Readonly<Record<keyof T & string, string>>;
}

type Flags = Readonly<Record<string, string | undefined>>;

function readFlags(table: SettingsTable, args: readonly string[]): Flags {
  const rows = Object.values(table);
  const string = { type: 'string' } as const;
  const options = Object.fromEntries(
    [...rows.map(({ flag }) => flag), CONFIG_FLAG].map((flag) => [flag, string]),
  );
  const bare = new Map(rows.map(({ flag, bare }) => [`--${flag}`, bare]));
  const whole = args.map((arg) => {
    const meant = bare.get(arg);
    return meant === undefined ? arg : `${arg}=${meant}`;
  });
  return parseArgs({ args: whole, options, strict: true }).values;
}

function convictSchema(table: SettingsTable): convict.Schema<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, row]) => {
      const { doc, default: fallback } = row;
      return [name, { doc, format: String, default: fallback, env: environmentName(row) }];
    }),
  );
}

function readFileSettings(
  names: readonly string[],
  path: string,
  readFile: (path: string) => string,
): Record<string, string> {
  let values: readonly unknown[];
  try {
    // a file without a document in it, all comments, has no settings and is no fault
    values = loadAll(readFile(path));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const why =
      errorCode(error) === 'ENOENT' ? 'there is no such file' : error.message.split('\n')[0];
    throw new SettingError(`the settings file ${path} cannot be read: ${why}`);
  }
  const [value] = values;
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new SettingError(
      `the settings file ${path} must hold settings by name, such as 'logLevel: debug'`,
    );
  }
  return Object.fromEntries(Object.entries(value).map((entry) => fileSetting(names, path, entry)));
}

function fileSetting(
  names: readonly string[],
  path: string,
  [name, value]: readonly [string, unknown],
): readonly [string, string] {
  if (!names.includes(name)) {
    throw new SettingError(
      `the settings file ${path} has '${name}', which is no setting; there are: ${names.join(', ')}`,
    );
  }
  if (typeof value === 'object' && value !== null) {
    throw new SettingError(`the settings file ${path}: ${name} must be one value`);
  }
  return [name, String(value ?? '')];
}

interface Written {
  readonly name: string;
  readonly row: SettingRow;
  readonly flags: Flags;
  readonly env: SettingSources['env'];
}

/** the name under which the user wrote it */
function writtenAs({ name, row, flags, env }: Written): string {
  if (flags[row.flag] !== undefined) return `--${row.flag}`;
  return env[environmentName(row)] === undefined
    ? `${name} in the settings file`
    : environmentName(row);
}
