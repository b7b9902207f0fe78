/** From the verdicts of checks to the findings that the gates read. Pure. */

import { describeVerdict, type Verdict } from '../checks/verdict.ts';
import type { CheckSpec } from '../model/check-spec.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { forbiddenCheck } from './check-targets.ts';
import type { DesiredState } from './desired.ts';
import type { Finding, View } from './view.ts';

/** what the join check is: one to ask, or a person's word that none is needed */
export type JoinCheck = CheckSpec | 'none' | undefined;

export const JOIN_KEY = 'join';

/** of the checks of a claim, in their order */
const keys = new WeakMap<IpClaim, readonly string[]>();

/**
 * A check is what it asks, not its place in the list: where one is removed, replaced or moved, the answers of another are never taken for its
 * own, or a claim that fails would be announced.
 */
export function checkKeys(claim: IpClaim): readonly string[] {
  const known = keys.get(claim);
  if (known !== undefined) return known;
  const asked = new Map<string, number>();
  const made = claim.checks.map(({ target }) => {
    const text = JSON.stringify(target);
    const times = asked.get(text) ?? 0;
    asked.set(text, times + 1);
    return `${claim.name}#${times} ${text}`;
  });
  keys.set(claim, made);
  return made;
}

/** Each check of a claim, with its key. */
function keyedChecks(claim: IpClaim): readonly (readonly [string, CheckSpec])[] {
  const made = checkKeys(claim);
  return claim.checks.map((spec, index) => [made[index] ?? '', spec]);
}

/** By key: what is to be asked. Claims that are not for this node are not. */
export function wantedChecks(
  joinCheck: JoinCheck,
  { claims }: DesiredState,
  view: View,
): ReadonlyMap<string, CheckSpec> {
  const wanted = new Map<string, CheckSpec>();
  if (joinCheck !== undefined && joinCheck !== 'none') wanted.set(JOIN_KEY, joinCheck);
  for (const { subject, gates } of claims) {
    if (gates.assigned.state === 'closed' || gates.pooled.state === 'closed') continue;
    const { object } = subject.claim;
    if (object.checks.length === 0 || forbiddenCheck(subject.claim, view) !== undefined) continue;
    const { source } = subject.claim;
    for (const [key, spec] of keyedChecks(object)) {
      wanted.set(key, source === 'api' ? discreet(spec) : spec);
    }
  }
  return wanted;
}

/** one object per spec: the same spec is no change */
const discreetSpecs = new WeakMap<CheckSpec, CheckSpec>();

/** What a server on the node says of itself is not for everybody who may write a claim: the answer would stand in the node's status. */
function discreet(spec: CheckSpec): CheckSpec {
  if (spec.target.kind !== 'http') return spec;
  const known = discreetSpecs.get(spec);
  if (known !== undefined) return known;
  const made: CheckSpec = { ...spec, target: { ...spec.target, isDiscreet: true } };
  discreetSpecs.set(spec, made);
  return made;
}

export function joinFinding(check: JoinCheck, verdicts: ReadonlyMap<string, Verdict>): Finding {
  if (check === 'none') {
    return { isOpen: true, sentence: 'this machine serves as soon as it runs (--join-check none)' };
  }
  if (check === undefined) {
    return {
      isOpen: false,
      sentence: 'no join check is configured, so nothing says that this machine can serve',
      remedy:
        'start the agent with --join-check https://127.0.0.1:6443/readyz --join-ca FILE, or with --join-check none',
    };
  }
  const verdict = verdicts.get(JOIN_KEY);
  if (verdict === undefined) {
    return { isOpen: false, sentence: 'the join check was not asked yet', isUnknown: true };
  }
  const sentence = describeVerdict(verdict, check);
  if (verdict.open) return { isOpen: true, sentence };
  return {
    isOpen: false,
    sentence,
    remedy: 'bring up what the join check asks; see --join-check',
    ...(verdict.failuresInRow < check.failures ? { isUnknown: true } : {}),
  };
}

/**
 * All checks of a claim together. A check that was added to a claim that is announced, and has not answered yet, does not
 * close it: absence of knowledge never withdraws.
 */
export function claimFinding(
  claim: IpClaim,
  verdicts: ReadonlyMap<string, Verdict>,
  wasOpen: boolean,
): Finding {
  const asked = keyedChecks(claim).map(([key, spec]) => ({ spec, verdict: verdicts.get(key) }));
  const failing = asked.find(({ spec, verdict }) => {
    if (verdict === undefined || !verdict.known) return !wasOpen;
    return !verdict.open && !(wasOpen && verdict.failuresInRow < spec.failures);
  });
  if (failing === undefined) {
    const [first] = asked;
    const sentence =
      first?.verdict === undefined ? 'its checks pass' : describeVerdict(first.verdict, first.spec);
    return { isOpen: true, sentence };
  }
  const { spec, verdict } = failing;
  const sentence =
    verdict === undefined ? 'a check was not asked yet' : describeVerdict(verdict, spec);
  const isUndecided = asked.every(
    (one) => (one.verdict?.failuresInRow ?? 0) < one.spec.failures || one.verdict?.open === true,
  );
  return {
    isOpen: false,
    sentence,
    remedy: "bring up what the claim's checks ask",
    ...(isUndecided ? { isUnknown: true } : {}),
  };
}
