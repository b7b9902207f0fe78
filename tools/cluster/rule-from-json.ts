/** A rule of the failing proxy as a person writes it, JSON, and what is wrong with it in a sentence. Pure. */

import type { RequestMatch } from '../../test/cluster/support/api-request.ts';
import type { Fault, Rule } from '../../test/cluster/support/proxy-rules.ts';
import { entries, field } from '../../test/interop/routers/json.ts';

/** What a person wrote cannot be used. */
export class RuleRefused extends Error {
  readonly code = 'RULE_REFUSED';
}

const MATCH_FIELDS = ['verb', 'resource', 'subresource', 'namespace', 'name', 'userAgent'] as const;

export function ruleFromJson(value: unknown): Rule {
  known(value, ['match', 'fault', 'times', 'after'], 'a rule');
  const [times, after] = [count(value, 'times'), count(value, 'after')];
  return {
    match: matchOf(field(value, 'match') ?? {}),
    fault: faultOf(field(value, 'fault')),
    ...(times === undefined ? {} : { times }),
    ...(after === undefined ? {} : { after }),
  };
}

function matchOf(value: unknown): RequestMatch {
  known(value, MATCH_FIELDS, 'match');
  const verb = field(value, 'verb');
  if (Array.isArray(verb)) {
    const verbs = verb.map((each) => text({ verb: each }, 'verb') ?? '');
    return { ...matchOf({ ...value, verb: undefined }), verb: verbs };
  }
  const given = MATCH_FIELDS.flatMap((name) => {
    const found = text(value, name);
    return found === undefined ? [] : [[name, found]];
  });
  return Object.fromEntries(given);
}

const FAULTS: Readonly<Record<Fault['kind'], (value: unknown) => Fault>> = {
  status: (value) => {
    known(value, ['kind', 'code', 'reason', 'retryAfterSeconds'], 'fault');
    const retryAfterSeconds = count(value, 'retryAfterSeconds');
    const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
    return { kind: 'status', ...refusal(value), ...wait };
  },
  'watch-error': (value) => {
    known(value, ['kind', 'code', 'reason'], 'fault');
    return { kind: 'watch-error', ...refusal(value) };
  },
  stall: (value) => {
    known(value, ['kind', 'ms'], 'fault');
    return { kind: 'stall', ms: needed(value, 'ms') };
  },
  slow: (value) => {
    known(value, ['kind', 'bytesPerSecond'], 'fault');
    return { kind: 'slow', bytesPerSecond: needed(value, 'bytesPerSecond') };
  },
  'drop-request': (value) => plain(value, 'drop-request'),
  'drop-response': (value) => plain(value, 'drop-response'),
  'half-open': (value) => plain(value, 'half-open'),
};

function faultOf(value: unknown): Fault {
  const kind = field(value, 'kind');
  const [, read] = Object.entries(FAULTS).find(([name]) => name === kind) ?? [];
  if (read === undefined) {
    throw new RuleRefused(`fault.kind must be one of ${Object.keys(FAULTS).join(', ')}`);
  }
  return read(value);
}

function plain<K extends 'drop-request' | 'drop-response' | 'half-open'>(
  value: unknown,
  kind: K,
): { readonly kind: K } {
  known(value, ['kind'], 'fault');
  return { kind };
}

function refusal(value: unknown): { readonly code: number; readonly reason: string } {
  const reason = text(value, 'reason');
  if (reason === undefined) throw new RuleRefused('fault.reason is needed, such as Conflict');
  return { code: needed(value, 'code'), reason };
}

function known(
  value: unknown,
  names: readonly string[],
  what: string,
): asserts value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RuleRefused(`${what} must be an object`);
  }
  const stranger = entries(value).find(([name]) => !names.includes(name));
  if (stranger === undefined) return;
  throw new RuleRefused(`${what} has no field ${stranger[0]}; there are ${names.join(', ')}`);
}

function needed(value: unknown, name: string): number {
  const found = count(value, name);
  if (found === undefined) throw new RuleRefused(`${name} is needed, a number`);
  return found;
}

function count(value: unknown, name: string): number | undefined {
  const found = field(value, name);
  if (found === undefined) return undefined;
  if (typeof found === 'number' && Number.isInteger(found) && found >= 0) return found;
  throw new RuleRefused(`${name} must be a whole number from 0 up`);
}

function text(value: unknown, name: string): string | undefined {
  const found = field(value, name);
  if (found === undefined || typeof found === 'string') return found;
  throw new RuleRefused(`${name} must be text`);
}
