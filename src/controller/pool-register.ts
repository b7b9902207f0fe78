/**
 * Which pools addresses come from: those that can be read and do not overlap one that stood before them. Pure over what it is given, but for
 * its memory of what was accepted; across restarts the condition Ready of a pool is that memory, so a restart changes nobody's mind.
 */

import { type PoolChoice, poolChoice } from '../allocator/pool-choice.ts';
import { checkPools } from '../model/check-documents.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { READY_CONDITION } from '../model/names.ts';
import type { CachedDocument } from './cached-document.ts';

export class PoolRegister {
  /** uid and generation of what was accepted last */
  #accepted: ReadonlySet<string> = new Set();

  choose(documents: Iterable<CachedDocument<IpPool>>): PoolChoice {
    const known = [...documents].filter(({ meta }) => !meta.isBeingDeleted);
    const refused = new Map<string, string>();
    for (const document of known) {
      if (!document.ok) refused.set(document.meta.name, document.sentence);
    }
    const good = known.filter((document) => document.ok);
    const candidates = good.map((document) => ({
      object: document.object,
      createdMs: document.meta.createdMs,
      isStanding: this.#accepted.has(formOf(document)) || isReady(document),
    }));
    for (const { object, sentence } of checkPools(candidates)) refused.set(object.name, sentence);
    const accepted = good.filter(({ meta }) => !refused.has(meta.name));
    this.#accepted = new Set(accepted.map(formOf));
    return poolChoice(
      accepted.map(({ object }) => object),
      refused,
    );
  }
}

function formOf({ meta }: CachedDocument<IpPool>): string {
  return `${meta.uid} ${meta.generation}`;
}

function isReady(document: CachedDocument<IpPool>): boolean {
  return readyOf(document) === 'True';
}

/** A controller has refused it in just this form, by what its status says: no claim by hand stands by it. */
export function isRefused(document: CachedDocument<IpPool>): boolean {
  return readyOf(document) === 'False';
}

function readyOf({ meta }: CachedDocument<IpPool>): string | undefined {
  return meta.conditions.find(
    ({ type, observedGeneration }) =>
      type === READY_CONDITION && observedGeneration === meta.generation,
  )?.status;
}

/** The pool itself is as before: what changed is its status, or a label. */
export function isSamePool(
  now: CachedDocument<IpPool> | undefined,
  before: CachedDocument<IpPool> | undefined,
): boolean {
  return (
    now?.meta.uid === before?.meta.uid &&
    now?.meta.generation === before?.meta.generation &&
    now?.meta.isBeingDeleted === before?.meta.isBeingDeleted
  );
}
