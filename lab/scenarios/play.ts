/** One story, from its namespace to the last thing that it leaves: however it goes, what it made is taken away. */

import { orBrokenOff } from './broken-off.ts';
import type { Lab } from './lab.ts';
import type { Measured, Result, Scenario } from './scenario.ts';
import { ClientWasBlind } from './verdicts.ts';
import { World, type WorldOptions } from './world.ts';

export interface NamedScenario {
  readonly name: string;
  readonly scenario: Scenario;
}

/** Once more where the client could not see how it went, and no more than that. */
export async function play(lab: Lab, story: NamedScenario, options: WorldOptions): Promise<Result> {
  const result = await playOnce(lab, story, options);
  if (result.isUnseen !== true || options.signal.aborted) return result;
  options.say(`${story.name}: is played once more, since nobody could see how it went`);
  return await playOnce(lab, story, options);
}

async function playOnce(
  lab: Lab,
  { name, scenario }: NamedScenario,
  options: WorldOptions,
): Promise<Result> {
  const { say, signal } = options;
  const world = new World(lab, name, options);
  const startedMs = Date.now();
  say(`${name}: ${scenario.title}`);
  let measured: readonly Measured[] = [];
  const problems: string[] = [];
  let isUnseen = false;
  const story = async () => {
    await world.begin();
    return await scenario.run(world);
  };
  try {
    measured = await orBrokenOff(story(), signal);
  } catch (error) {
    isUnseen = error instanceof ClientWasBlind;
    problems.push(error instanceof Error ? error.message : String(error));
    say(`${name}: FAILED: ${problems[0]}`);
    say(await world.evidence());
  }
  const left = await world.end();
  for (const problem of left) say(`${name}: could not be taken away: ${problem}`);
  problems.push(...left);
  const seconds = (Date.now() - startedMs) / 1000;
  const verdict = problems.length === 0 ? 'went as it should' : 'FAILED';
  say(`${name}: ${verdict}, ${seconds.toFixed(0)} s`);
  const failure = problems.length === 0 ? {} : { failure: problems.join('; ') };
  return { name, title: scenario.title, seconds, measured, isUnseen, ...failure };
}

/** A story that takes Herald away, on a lab that somebody else has up: it is told why not, and counts as not played. */
export function refused(lab: string, { name, scenario }: NamedScenario): Result {
  const refusal = `it takes Herald away, and the lab ${lab} was up already: with the kinds everything would go that you have told it. Name it (make scenario NAME=${name}) if that is what you want, or take the lab down first`;
  return { name, title: scenario.title, seconds: 0, measured: [], refusal };
}
