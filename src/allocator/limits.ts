/** How many addresses one Service may hold, whatever it asks for and however often it changes its mind. Pure. */

import { refused } from './decide-address.ts';
import { type Answer, type Case, isGrant } from './decision.ts';
import { MOST_ADDRESSES } from './service-request.ts';

/** those that it names, and as many that it holds until it has them */
const MOST_HELD = 2 * MOST_ADDRESSES;

/** The answers, of which those that go beyond a bound have become problems. What stands is kept. */
export function limited({ key, world }: Case, answers: readonly Answer[]): readonly Answer[] {
  let held = world.claims.ofService(key).length;
  return answers.map((answer) => {
    if (!isGrant(answer) || answer.kind === 'keep') return answer;
    if (answer.kind === 'create' && answer.isAdopted) return answer;
    held += 1;
    return held <= MOST_HELD ? answer : tooMany(held - 1);
  });
}

function tooMany(held: number): Answer {
  const why = `it holds ${held} addresses, which it keeps until it has all that it names`;
  return refused('BadRequest', `${why}; name addresses that it can have`);
}
