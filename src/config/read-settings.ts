/**
 * Settings from flags, environment and a file, in that order of weight; convict weighs them. What is wrong is a sentence that
 * names where it was written. Reads nothing by itself: arguments, environment and the file's text come in.
 */

import { parseArgs } from 'node:util';
import convict from 'convict';
import { loadAll } from 'js-yaml';
import {
  environmentName,
  SETTINGS,
  type SettingName,
  type SettingTexts,
} from './agent-settings.ts';

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

const NAMES = Object.keys(SETTINGS) as readonly SettingName[];
const CONFIG_FLAG = 'config';
const CONFIG_VARIABLE = 'HERALD_CONFIG';

/** Throws a SettingError, or what node:util parseArgs says about a flag that is none. */
export function readSettings({ args, env, readFile }: SettingSources): SettingTexts {
  const flags = readFlags(args);
  const file = flags[CONFIG_FLAG] ?? env[CONFIG_VARIABLE];
  const config = convict<Record<string, string>>(convictSchema(), {
    args: [],
    env: Object.fromEntries(
      Object.entries(env).filter(([, value]) => value !== undefined),
    ) as NodeJS.ProcessEnv,
  });
  if (file !== undefined) config.load(readFileSettings(file, readFile));
  // not by convict's own reading of flags, which takes 1e2 and 0x10 for numbers and writes them anew
  for (const name of NAMES) {
    const value = flags[SETTINGS[name].flag];
    if (value !== undefined) config.set(name, value);
  }
  const values = config.getProperties();
  return Object.fromEntries(
    NAMES.map((name) => {
      const text = String(values[name] ?? '');
      const { check } = SETTINGS[name];
      try {
        check(text);
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        throw new SettingError(`${writtenAs(name, flags, env)} is '${text}': ${error.message}`);
      }
      return [name, text];
    }),
  ) as SettingTexts;
}

function readFlags(args: readonly string[]): Readonly<Record<string, string | undefined>> {
  const string = { type: 'string' } as const;
  const options = Object.fromEntries(
    [...NAMES.map((name) => SETTINGS[name].flag), CONFIG_FLAG].map((flag) => [flag, string]),
  );
  return parseArgs({ args: [...args], options, strict: true }).values;
}

function convictSchema(): convict.Schema<Record<string, string>> {
  return Object.fromEntries(
    NAMES.map((name) => {
      const { doc, default: fallback } = SETTINGS[name];
      return [
        name,
        { doc, format: String, default: fallback, env: environmentName(SETTINGS[name]) },
      ];
    }),
  );
}

function readFileSettings(
  path: string,
  readFile: (path: string) => string,
): Record<string, string> {
  let values: readonly unknown[];
  try {
    // a file without a document in it, all comments, has no settings and is no fault
    values = loadAll(readFile(path));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new SettingError(
      `the settings file ${path} cannot be read: ${error.message.split('\n')[0]}`,
    );
  }
  const [value] = values;
  if (value === null || value === undefined) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new SettingError(
      `the settings file ${path} must hold settings by name, such as 'logLevel: debug'`,
    );
  }
  return Object.fromEntries(Object.entries(value).map((entry) => fileSetting(path, entry)));
}

function fileSetting(
  path: string,
  [name, value]: readonly [string, unknown],
): readonly [string, string] {
  if (!NAMES.some((known) => known === name)) {
    throw new SettingError(
      `the settings file ${path} has '${name}', which is no setting; there are: ${NAMES.join(', ')}`,
    );
  }
  if (typeof value === 'object' && value !== null) {
    throw new SettingError(`the settings file ${path}: ${name} must be one value`);
  }
  return [name, String(value ?? '')];
}

/** the name under which the user wrote it */
function writtenAs(
  name: SettingName,
  flags: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string | undefined>>,
): string {
  const row = SETTINGS[name];
  if (flags[row.flag] !== undefined) return `--${row.flag}`;
  return env[environmentName(row)] === undefined
    ? `${name} in the settings file`
    : environmentName(row);
}
