/** A place in a YAML document that knows its path, so that every refusal can name it. */

import { LabRefusal } from './refusal.ts';

export class Reader {
  readonly #path: string;
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(path: string, value: unknown) {
    this.#path = path;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new LabRefusal(`${path === '' ? 'the file' : path}: must be a map`);
    }
    this.#fields = new Map(Object.entries(value));
  }

  /** The last part of the path: the key under which this is found. */
  name(): string {
    return this.#path.slice(this.#path.lastIndexOf('.') + 1);
  }

  refuse(field: string, sentence: string): never {
    throw new LabRefusal(`${this.#at(field)}: ${sentence}`);
  }

  allow(known: readonly string[]): void {
    for (const field of this.#fields.keys()) {
      if (!known.includes(field)) {
        this.refuse(field, `not understood; known here: ${known.join(', ')}`);
      }
    }
  }

  child(field: string): Reader {
    return new Reader(this.#at(field), this.#fields.get(field));
  }

  optional(field: string): Reader | undefined {
    return this.#fields.has(field) ? this.child(field) : undefined;
  }

  entries(): Reader[] {
    return [...this.#fields].map(([field, value]) => new Reader(this.#at(field), value));
  }

  /** A list of maps. */
  list(field: string): Reader[] {
    return this.#items(field).map(
      (value, index) => new Reader(`${this.#at(field)}[${index}]`, value),
    );
  }

  text(field: string): string {
    return this.optionalText(field) ?? this.refuse(field, 'is needed');
  }

  optionalText(field: string): string | undefined {
    const value = this.#fields.get(field);
    if (value === undefined) return undefined;
    return typeof value === 'string' ? value : this.refuse(field, 'must be text');
  }

  optionalFlag(field: string): boolean | undefined {
    const value = this.#fields.get(field);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.refuse(field, 'must be true or false');
  }

  texts(field: string): string[] {
    return this.#items(field).map((value, index) =>
      typeof value === 'string' ? value : this.refuse(`${field}[${index}]`, 'must be text'),
    );
  }

  /** Names to text; a number stands for its digits, as containerlab takes it. */
  textMap(field: string): Record<string, string> {
    const map = this.optional(field);
    if (map === undefined) return {};
    return Object.fromEntries(
      [...map.#fields].map(([key, value]) => {
        if (typeof value !== 'string' && typeof value !== 'number') {
          return map.refuse(key, 'must be text or a number');
        }
        return [key, String(value)];
      }),
    );
  }

  #items(field: string): unknown[] {
    const value = this.#fields.get(field) ?? [];
    return Array.isArray(value) ? value : this.refuse(field, 'must be a list');
  }

  #at(field: string): string {
    return [this.#path, field].filter((each) => each !== '').join('.');
  }
}
