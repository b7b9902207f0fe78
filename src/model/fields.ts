/**
 * Reads the fields of a document that has passed its schema. A field of the wrong type here means that schema and converter
 * disagree, which is our mistake and not the user's: it throws a plain Error.
 *
 * A node knows its path, so that a converter that refuses a value can say where it stands.
 */

import type { LabelExpression, LabelSelector, Labels } from './labels.ts';
import { type DocumentPath, Refusal } from './refusal.ts';

export class Fields {
  readonly path: DocumentPath;
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(value: unknown, path: DocumentPath = []) {
    if (!isRecord(value)) throw new Error(`${path.join('.')} is not an object`);
    this.#values = value;
    this.path = path;
  }

  has(key: string): boolean {
    return this.#values[key] !== undefined;
  }

  /** a Refusal of one field of this object */
  refusal(key: string, sentence: string): Refusal {
    return new Refusal([...this.path, key], sentence);
  }

  text(key: string): string {
    return this.#needed(key, this.optionalText(key));
  }

  optionalText(key: string): string | undefined {
    const value = this.#values[key];
    return value === undefined || typeof value === 'string' ? value : this.#mistake(key);
  }

  number(key: string): number {
    return this.#needed(key, this.optionalNumber(key));
  }

  optionalNumber(key: string): number | undefined {
    const value = this.#values[key];
    return value === undefined || typeof value === 'number' ? value : this.#mistake(key);
  }

  /** false where it is absent */
  flag(key: string): boolean {
    const value = this.#values[key];
    if (value === undefined) return false;
    return typeof value === 'boolean' ? value : this.#mistake(key);
  }

  /** one of a few words */
  word<W extends string>(key: string, words: readonly W[]): W {
    return this.#needed(key, this.optionalWord(key, words));
  }

  optionalWord<W extends string>(key: string, words: readonly W[]): W | undefined {
    const value = this.#values[key];
    if (value === undefined) return undefined;
    return words.find((word) => word === value) ?? this.#mistake(key);
  }

  /** int-or-string of Kubernetes, where the string is one of a few words */
  numberOrWord<W extends string>(key: string, words: readonly W[]): number | W {
    const value = this.#values[key];
    return typeof value === 'number' ? value : this.word(key, words);
  }

  object(key: string): Fields {
    return this.#needed(key, this.optionalObject(key));
  }

  optionalObject(key: string): Fields | undefined {
    const value = this.#values[key];
    return value === undefined ? undefined : new Fields(value, [...this.path, key]);
  }

  /** empty where it is absent */
  texts(key: string): readonly string[] {
    return this.#list(key).map((item) => (typeof item === 'string' ? item : this.#mistake(key)));
  }

  /** empty where it is absent */
  objects(key: string): readonly Fields[] {
    return this.#list(key).map((item, index) => new Fields(item, [...this.path, key, index]));
  }

  labels(key: string): Labels {
    const value = this.#values[key];
    if (value === undefined) return NO_LABELS;
    if (!isRecord(value)) return this.#mistake(key);
    const entries = Object.entries(value).map(
      ([name, text]) => [name, typeof text === 'string' ? text : this.#mistake(key)] as const,
    );
    return Object.fromEntries(entries);
  }

  selector(key: string): LabelSelector | undefined {
    const selector = this.optionalObject(key);
    if (selector === undefined) return undefined;
    return {
      ...(selector.has('matchLabels') && { matchLabels: selector.labels('matchLabels') }),
      ...(selector.has('matchExpressions') && {
        matchExpressions: selector.objects('matchExpressions').map(expression),
      }),
    };
  }

  #list(key: string): readonly unknown[] {
    const value = this.#values[key];
    if (value === undefined) return [];
    return Array.isArray(value) ? value : this.#mistake(key);
  }

  #needed<T>(key: string, value: T | undefined): T {
    return value === undefined ? this.#mistake(key) : value;
  }

  #mistake(key: string): never {
    throw new Error(`${[...this.path, key].join('.')} has passed a schema that it does not fit`);
  }
}

const NO_LABELS: Labels = {};
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist'] as const;

function expression(fields: Fields): LabelExpression {
  return {
    key: fields.text('key'),
    operator: fields.word('operator', OPERATORS),
    ...(fields.has('values') && { values: fields.texts('values') }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
