/**
 * What a schema has against a document, as one sentence for people: which field, what is wrong with it, what to write instead.
 * Of several errors the one that most likely caused the others is told: a misspelt field before the field that is then missing.
 */

import { nearest } from '../../model/nearest.ts';
import type { DocumentPath } from '../../model/refusal.ts';
import { type SchemaError, schemaOutlines } from './crd-schema.ts';

export interface Complaint {
  readonly path: DocumentPath;
  readonly sentence: string;
}

type Json = Readonly<Record<string, unknown>>;

/** what a pattern means, in words */
export const PATTERN_WORDS: ReadonlyMap<string, string> = new Map([
  ['^/', 'must be an absolute path'],
  ['^(external|internal)$', 'must be an AS number (without quotes), external or internal'],
  ['^[^\\s/%]+$', 'must be the name of an interface'],
  ['^https?://[^\\s/]', 'must be a URL that begins with http:// or https://'],
  [
    '^([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}$',
    'must be 64 hex digits (the SHA-256 of a certificate)',
  ],
  [
    '^(stop|exclude-label|cordon|taint:[A-Za-z0-9][A-Za-z0-9_./-]*)$',
    'must be stop, exclude-label, cordon or taint:KEY',
  ],
  [
    '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    'must be lower-case letters, digits, dashes and dots, and begin and end with a letter or digit',
  ],
  [
    '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$',
    'must be a label key of Kubernetes',
  ],
  [
    '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$',
    'must be a label value of Kubernetes: at most 63 letters, digits, dashes, dots and underscores',
  ],
]);

export function complaint(
  kind: string,
  document: unknown,
  errors: readonly SchemaError[],
): Complaint {
  const error =
    errors.find(({ keyword }) => keyword === 'additionalProperties') ??
    errors.find(({ keyword }) => keyword === 'anyOf') ??
    errors.find(({ keyword }) => keyword === 'required') ??
    errors[0];
  if (error === undefined) return { path: [], sentence: 'it does not fit its schema' };
  const path = pointer(error.instancePath);
  const sentence = sentenceOf(kind, error, path, valueAt(document, path));
  const key = error.params['additionalProperty'];
  return { path: typeof key === 'string' ? [...path, key] : path, sentence };
}

function sentenceOf(kind: string, error: SchemaError, path: DocumentPath, value: unknown): string {
  const { keyword, params } = error;
  const where = formatPath(path);
  if (keyword === 'additionalProperties') {
    return unknownField(kind, path, String(params['additionalProperty']));
  }
  if (keyword === 'required') {
    const missing = formatPath([...path, String(params['missingProperty'])]);
    return `${missing} is missing; add it`;
  }
  if (value === null) return `${where} is empty; give it a value, or remove the line`;
  return `${where} ${demand(error, value)}`;
}

/** What the value must be, and what it is. */
function demand({ keyword, params }: SchemaError, value: unknown): string {
  const limit = String(params['limit']);
  switch (keyword) {
    case 'type':
      return `must be ${TYPE_WORDS[String(params['type'])] ?? params['type']}, not ${shown(value)}`;
    case 'enum':
      return `must be ${listed(params['allowedValues'])}, not ${shown(value)}`;
    case 'minimum':
      return `must be at least ${limit}, not ${shown(value)}`;
    case 'maximum':
      return `must be at most ${limit}, not ${shown(value)}`;
    case 'minLength':
      return value === '' ? 'must not be empty' : `must have at least ${limit} characters`;
    case 'maxLength':
      return `must have at most ${limit} characters; it has ${String(value).length}`;
    case 'minItems':
      return `must have at least ${limit} ${limit === '1' ? 'entry' : 'entries'}`;
    case 'maxItems':
    case 'maxProperties':
      return `must have at most ${limit} entries`;
    case 'uniqueItems':
      return 'must not have the same entry twice';
    case 'anyOf':
      return `must be an AS number, external or internal, not ${shown(value)}`;
    case 'pattern': {
      const pattern = String(params['pattern']);
      return `${PATTERN_WORDS.get(pattern) ?? `must match ${pattern}`}, not ${shown(value)}`;
    }
    case 'propertyNames':
      return `has '${params['propertyName']}', which is no label key of Kubernetes`;
    default:
      return 'does not fit the schema';
  }
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  object: 'a mapping (fields below it)',
  array: 'a list (lines that begin with a dash)',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};

function unknownField(kind: string, path: DocumentPath, field: string): string {
  const known = fieldsAt(kind, path);
  const where = formatPath([...path, field]);
  if (path[0] === 'metadata' && field === 'namespace') {
    return `${where} must be removed: a ${kind} belongs to no namespace`;
  }
  const guess = nearest(field, known);
  const hint =
    guess === undefined
      ? `${formatPath(path) || 'a document'} may have ${known.join(', ')}`
      : `did you mean '${guess}'?`;
  return `${where} is not a field of ${kind}; ${hint}`;
}

let outlines: unknown;

/** The names of the fields that the schema has at a path. */
function fieldsAt(kind: string, path: DocumentPath): string[] {
  outlines ??= schemaOutlines();
  let schema = isRecord(outlines) ? outlines[kind] : undefined;
  for (const step of path) {
    if (!isRecord(schema)) return [];
    const properties = schema['properties'];
    schema =
      typeof step === 'number' ? schema['items'] : isRecord(properties) ? properties[step] : {};
  }
  const properties = isRecord(schema) ? schema['properties'] : undefined;
  return isRecord(properties) ? Object.keys(properties) : [];
}

/** `spec.overrides[2].address` */
export function formatPath(path: DocumentPath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');
}

/** A value as the user wrote it, short enough for a sentence. */
export function shown(value: unknown): string {
  if (Array.isArray(value)) return 'a list';
  if (isRecord(value)) return 'a mapping';
  if (typeof value !== 'string') return String(value);
  return value.length > 60 ? `the text '${value.slice(0, 57)}...'` : `the text '${value}'`;
}

function listed(values: unknown): string {
  const words = Array.isArray(values) ? values.map(String) : [];
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
}

function pointer(text: string): DocumentPath {
  const steps = text.split('/').slice(1);
  return steps.map((step) =>
    /^\d+$/.test(step) ? Number(step) : step.replaceAll('~1', '/').replaceAll('~0', '~'),
  );
}

function valueAt(document: unknown, path: DocumentPath): unknown {
  let value = document;
  for (const step of path) {
    if (Array.isArray(value) && typeof step === 'number') value = value[step];
    else value = isRecord(value) ? value[step] : undefined;
  }
  return value;
}

function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
