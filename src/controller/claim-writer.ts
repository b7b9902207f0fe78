/**
 * Writes claims, and always knows afterwards how they stand: a write whose outcome is unknown (no answer, a failure of the server) is
 * looked up before anything else is concluded. Decides nothing.
 */

import type { ClaimRecord } from '../allocator/claim-record.ts';
import type { GuardedPatch, NewClaimBody } from '../allocator/claim-writes.ts';
import type { ClaimService } from '../model/ip-claim.ts';
import { serviceKey } from '../model/service.ts';
import {
  ApiError,
  ApiUnreachable,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeApi,
  type KubeObject,
} from '../sources/kube/api.ts';
import { IP_CLAIMS } from '../sources/kube/resources.ts';
import { NO_RECORD } from '../sources/kube/written-fields.ts';
import { recordOf } from './claim-records.ts';
import type { ServiceWorld } from './service-world.ts';

/** `again`: things are not as they were thought to be; decide once more */
export type WriteOutcome = 'done' | 'again';

/** the answer is no error, yet the work has failed and is tried again after a pause */
const UNUSABLE = 201;

type Known = Pick<ServiceWorld, 'learned' | 'learnedGone'>;

export class ClaimWriter {
  readonly #api: KubeApi;
  readonly #world: Known;

  constructor(api: KubeApi, world: Known) {
    this.#api = api;
    this.#world = world;
  }

  /** A claim that the API has made into something else than ours is taken away again: another would be no better. */
  async create(name: string, body: NewClaimBody): Promise<WriteOutcome> {
    const made = await this.#made(name, body);
    if (made === undefined) return 'again';
    const record = recordOf(made);
    if (record === undefined || record.fault !== undefined || !isFor(record, body.spec.services)) {
      return await this.#unmake(name, made);
    }
    this.#world.learned(record);
    return 'done';
  }

  /** undefined: there is one already, of ours perhaps */
  async #made(name: string, body: object): Promise<KubeObject | undefined> {
    try {
      return await this.#api.create(IP_CLAIMS, body);
    } catch (error) {
      if (!isAlreadyExists(error) && !isUnclear(error)) throw error;
      // not there although nobody said no: it has not been done, and is tried again after a pause
      if (!(await this.#look(name, undefined)) && isUnclear(error)) throw error;
      return undefined;
    }
  }

  async #unmake(name: string, { metadata: { uid } }: KubeObject): Promise<never> {
    await this.#api.delete(IP_CLAIMS, name, { uid });
    const message = `the API has made claim ${name} into one that cannot be read or is not for its Service`;
    throw new ApiError(UNUSABLE, 'Unusable', message);
  }

  async patch(claim: ClaimRecord, { metadata, ...rest }: GuardedPatch): Promise<WriteOutcome> {
    try {
      const writers = claim.isOnlyOurs && { managedFields: NO_RECORD };
      const patch = {
        kind: 'merge',
        body: { ...rest, metadata: { ...metadata, ...writers } },
      } as const;
      this.#learn(await this.#api.patch(IP_CLAIMS, claim.name, patch));
      return 'done';
    } catch (error) {
      return await this.#afterFailure(claim, error);
    }
  }

  /** Only the object that `claim` is, in the version that it is. */
  async delete(claim: ClaimRecord): Promise<WriteOutcome> {
    const { name, uid, resourceVersion } = claim;
    try {
      await this.#api.delete(IP_CLAIMS, name, { uid, resourceVersion });
      this.#world.learnedGone(claim);
      return 'done';
    } catch (error) {
      return await this.#afterFailure(claim, error);
    }
  }

  async #afterFailure(claim: ClaimRecord, error: unknown): Promise<WriteOutcome> {
    if (!isConflict(error) && !isNotFound(error) && !isUnclear(error)) throw error;
    const isThere = await this.#look(claim.name, claim);
    // as it was: the write was not done, and is tried again after a pause
    if (isThere?.resourceVersion === claim.resourceVersion && !isConflict(error)) throw error;
    return 'again';
  }

  async #look(name: string, known: ClaimRecord | undefined): Promise<ClaimRecord | undefined> {
    try {
      return this.#learn(await this.#api.get(IP_CLAIMS, name));
    } catch (error) {
      if (!isNotFound(error)) throw error;
      if (known !== undefined) this.#world.learnedGone(known);
      return undefined;
    }
  }

  #learn(object: KubeObject): ClaimRecord | undefined {
    const record = recordOf(object);
    if (record !== undefined) this.#world.learned(record);
    return record;
  }
}

function isFor(record: ClaimRecord, services: readonly ClaimService[]): boolean {
  const keys = record.services.map(serviceKey);
  return services.every((entry) => keys.includes(serviceKey(entry)));
}

/** It may or may not have been done. */
export function isUnclear(error: unknown): boolean {
  return error instanceof ApiUnreachable || (error instanceof ApiError && error.status >= 500);
}
