/**
 * What can be read of a claim that is refused as a whole: whose it is, who holds it, whether it is withdrawn. A check that this release does not
 * take must not cost a Service its address, nor keep one announced that was given back. Pure.
 */

import { parseClaimName } from './claim-name.ts';
import { epochOf, serviceOf } from './convert-claim.ts';
import { Fields } from './fields.ts';
import type { IpClaim } from './ip-claim.ts';
import { optional } from './optional.ts';

/** all but what says how it is announced, and when */
export type ClaimCore = Omit<IpClaim, 'placement' | 'bind' | 'checks'>;

/** why nobody announces it, where the field is there and its words are not */
const UNREADABLE_REASON = 'withdrawn, with a reason that cannot be read';

/** Of a claim of the API. undefined: not even that can be read, so nobody knows whose it is. */
export function claimCore(document: unknown): ClaimCore | undefined {
  try {
    return coreOf(new Fields(document));
  } catch (error) {
    // a field of another type than this release knows
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function coreOf(document: Fields): ClaimCore | undefined {
  const metadata = document.object('metadata');
  const spec = document.object('spec');
  const name = metadata.text('name');
  const address = parseClaimName(name);
  if (address === undefined) return undefined;
  return {
    name,
    address,
    labels: metadata.labels('labels'),
    ...optional('pool', spec.optionalText('pool')),
    services: spec.objects('services').map(serviceOf),
    ...optional('node', spec.optionalText('node')),
    ...optional('epoch', epochOf(metadata.labels('annotations'))),
    ...optional('withdrawn', spec.has('withdrawn') ? withdrawnOf(spec) : undefined),
  };
}

function withdrawnOf(spec: Fields): { readonly reason: string } {
  try {
    return { reason: spec.object('withdrawn').text('reason') };
  } catch (error) {
    if (error instanceof Error) return { reason: UNREADABLE_REASON };
    throw error;
  }
}

/** The last good form of a claim, with all that can be read of it now. */
export function withCore(good: IpClaim, core: ClaimCore | undefined): IpClaim {
  if (core === undefined) return good;
  const { placement, bind, checks } = good;
  return { ...core, ...optional('placement', placement), ...optional('bind', bind), checks };
}
