/**
 * Objects of one kind as the API has them, turned into what is in force: one that cannot be used is a fault and stays in its last good
 * form. What has not changed is the same object as before, so that whoever compares need not look inside. Pure but for its own maps.
 */

import type { DocumentFault, Sourced } from '../../model/documents.ts';
import { optional } from '../../model/optional.ts';
import type { Converted } from '../../model/refusal.ts';

interface PutOptions<T> {
  /** the last good form of one that is refused, with what can be read of it now */
  readonly amended?: (good: T) => T;
  /** what it is of, where somebody asks that of its kind */
  readonly version?: string;
}

interface Entry<T> {
  /** the last good form */
  readonly good: Sourced<T> | undefined;
  readonly fault: DocumentFault | undefined;
}

/** what stands in the place of a file's name */
export const API_ORIGIN = 'API';

export class ObjectLedger<T extends { readonly name: string }> {
  readonly #kind: string;
  readonly #entries = new Map<string, Entry<T>>();
  #goods: readonly Sourced<T>[] | undefined;
  #faults: readonly DocumentFault[] | undefined;

  constructor(kind: string) {
    this.#kind = kind;
  }

  put(
    name: string,
    converted: Converted<T>,
    createdMs: number,
    { amended = (good) => good, version }: PutOptions<T> = {},
  ): void {
    const before = this.#entries.get(name);
    const object = converted.ok ? converted.object : before?.good && amended(before.good.object);
    const firstMs = converted.ok ? createdMs : (before?.good?.createdMs ?? createdMs);
    const seen = { createdMs: firstMs, ...optional('version', version) };
    const good = object && this.#sourced(object, seen, before);
    const now = converted.ok ? undefined : this.#fault(name, converted, good !== undefined);
    const fault = isAlike(before?.fault, now) ? before?.fault : now;
    this.#set(name, { good, fault }, before);
  }

  remove(name: string): void {
    this.#set(name, undefined, this.#entries.get(name));
  }

  /** in no order that means anything; the same list while nothing has changed */
  get goods(): readonly Sourced<T>[] {
    if (this.#goods !== undefined) return this.#goods;
    const goods: Sourced<T>[] = [];
    for (const { good } of this.#entries.values()) if (good !== undefined) goods.push(good);
    this.#goods = goods;
    return goods;
  }

  /** the same list while nothing has changed */
  get faults(): readonly DocumentFault[] {
    if (this.#faults !== undefined) return this.#faults;
    const faults: DocumentFault[] = [];
    for (const { fault } of this.#entries.values()) if (fault !== undefined) faults.push(fault);
    this.#faults = faults;
    return faults;
  }

  #set(name: string, entry: Entry<T> | undefined, before: Entry<T> | undefined): void {
    if (entry === undefined) this.#entries.delete(name);
    else this.#entries.set(name, entry);
    if (entry?.good !== before?.good) this.#goods = undefined;
    if (entry?.fault !== before?.fault) this.#faults = undefined;
  }

  #sourced(
    object: T,
    seen: Pick<Sourced<T>, 'createdMs' | 'version'>,
    before: Entry<T> | undefined,
  ): Sourced<T> {
    const { good } = before ?? {};
    const isSame = good?.createdMs === seen.createdMs && isAlike(good.object, object);
    if (good !== undefined && isSame) return good;
    return {
      object,
      origin: `${API_ORIGIN}:${this.#kind}/${object.name}`,
      ...seen,
      source: 'api',
    };
  }

  #fault(
    name: string,
    { path, sentence }: Extract<Converted<T>, { ok: false }>,
    keepsLastGood: boolean,
  ): DocumentFault {
    const where = path.length === 0 ? '' : `${path.join('.')}: `;
    return {
      file: API_ORIGIN,
      subject: `${this.#kind}/${name}`,
      sentence: `${where}${sentence}`,
      keepsLastGood,
    };
  }
}

/** Converted objects are plain data, built in one order of fields. */
export function isAlike(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
