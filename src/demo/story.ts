/**
 * The story as a machine: steps made of beats, each beat an order to the stage, a pause, or something that has to be seen in the
 * facts. `advance()` takes the facts and the time and says what is to be done and what was seen. Pure: it has no clock, no process
 * and no socket, so the judging itself is under test.
 *
 * A beat that is not seen within its bound, or a promise of the step that is broken, ends the story: it has failed, and what comes
 * after it is not told.
 */

import type { Facts } from './facts.ts';

export type Order =
  | { readonly kind: 'api-up' | 'api-down'; readonly id: number }
  | { readonly kind: 'drain' | 'undrain'; readonly id: number }
  | { readonly kind: 'freeze' | 'thaw'; readonly id: number }
  | { readonly kind: 'kill' | 'revive'; readonly id: number };

/** `mark` is the facts as they were when the step began */
export type Condition = (facts: Facts, mark: Facts) => boolean;

export type Beat =
  | { readonly kind: 'order'; readonly order: Order }
  /** for people; the only thing that --speed changes */
  | { readonly kind: 'pause'; readonly forMs: number }
  | {
      readonly kind: 'see';
      /** what is then the case, as a sentence without a full stop */
      readonly what: string;
      readonly when: Condition;
      readonly withinMs: number;
    }
  | {
      readonly kind: 'keep';
      readonly what: string;
      readonly while: Condition;
      readonly forMs: number;
    };

export interface Step {
  readonly title: string;
  /** what happens */
  readonly text: string;
  /** what to look at */
  readonly look: string;
  /** what must hold at every moment of the step */
  readonly promise?: { readonly what: string; readonly holds: Condition };
  readonly beats: readonly Beat[];
}

export interface StepResult {
  readonly state: 'waiting' | 'running' | 'seen' | 'failed' | 'skipped';
  /** what was seen last, or why it failed */
  readonly sentence: string;
}

export interface StoryState {
  readonly results: readonly StepResult[];
  /** steps.length = over */
  readonly step: number;
  readonly beat: number;
  readonly beatSinceMs: number;
  /** undefined = the step has not begun */
  readonly mark: Facts | undefined;
}

export type StoryEvent =
  | { readonly kind: 'step'; readonly step: number }
  | { readonly kind: 'order'; readonly order: Order }
  | {
      readonly kind: 'seen';
      readonly step: number;
      readonly what: string;
      readonly afterMs: number;
    }
  | { readonly kind: 'step-seen'; readonly step: number; readonly sentence: string }
  | { readonly kind: 'step-failed'; readonly step: number; readonly sentence: string }
  | { readonly kind: 'over'; readonly isSeen: boolean };

export interface Told {
  readonly state: StoryState;
  readonly events: readonly StoryEvent[];
}

export interface Moment {
  readonly facts: Facts;
  readonly nowMs: number;
  /** pauses are divided by it */
  readonly speed: number;
}

export function beginStory(steps: readonly Step[]): StoryState {
  return {
    results: steps.map(() => ({ state: 'waiting', sentence: '' })),
    step: 0,
    beat: 0,
    beatSinceMs: 0,
    mark: undefined,
  };
}

export function isOver(state: StoryState): boolean {
  return state.step >= state.results.length;
}

/** Every step was seen. */
export function isSeen(state: StoryState): boolean {
  return state.results.every((result) => result.state === 'seen');
}

export function hasFailed(state: StoryState): boolean {
  return state.results.some((result) => result.state === 'failed');
}

/** As far as the facts of this moment carry. */
export function advance(steps: readonly Step[], before: StoryState, moment: Moment): Told {
  const events: StoryEvent[] = [];
  let state = before;
  for (;;) {
    const step = steps[state.step];
    if (step === undefined) return { state, events };
    const next = advanceOnce(step, state, moment);
    if (next === undefined) return { state, events };
    state = next.state;
    events.push(...next.events);
    // a beat of the next kind is judged by facts that are newer than its order
    if (next.events.some(({ kind }) => kind === 'order')) return { state, events };
  }
}

/** The user has seen enough: what was not told is skipped, what is running too. */
export function skipRest(state: StoryState): StoryState {
  const results = state.results.map(
    (result): StepResult =>
      result.state === 'waiting' || result.state === 'running'
        ? { state: 'skipped', sentence: 'skipped' }
        : result,
  );
  return { ...state, results, step: results.length, mark: undefined };
}

/** One beat further; undefined = it has to wait. */
function advanceOnce(step: Step, state: StoryState, moment: Moment): Told | undefined {
  const { facts, nowMs } = moment;
  if (facts.trouble !== undefined) return fail(state, facts.trouble);
  if (state.mark === undefined) {
    const results = replace(state, { state: 'running', sentence: '' });
    return {
      state: { ...state, results, mark: facts, beat: 0, beatSinceMs: nowMs },
      events: [{ kind: 'step', step: state.step }],
    };
  }
  const { promise } = step;
  if (promise !== undefined && !promise.holds(facts, state.mark)) {
    return fail(state, `broken: ${promise.what}`);
  }
  const beat = step.beats[state.beat];
  if (beat === undefined) return finishStep(state);
  return advanceBeat(beat, state, moment, state.mark);
}

function advanceBeat(
  beat: Beat,
  state: StoryState,
  { facts, nowMs, speed }: Moment,
  mark: Facts,
): Told | undefined {
  const elapsedMs = nowMs - state.beatSinceMs;
  switch (beat.kind) {
    case 'order':
      return nextBeat(state, nowMs, { kind: 'order', order: beat.order });
    case 'pause':
      return elapsedMs >= beat.forMs / speed ? nextBeat(state, nowMs) : undefined;
    case 'see':
      // the bound counts first: what comes too late was not seen in time
      if (elapsedMs > beat.withinMs) {
        return fail(state, `not seen within ${seconds(beat.withinMs)}: ${beat.what}`);
      }
      return beat.when(facts, mark) ? seen(state, beat.what, elapsedMs, nowMs) : undefined;
    case 'keep':
      if (!beat.while(facts, mark)) return fail(state, `did not stay so: ${beat.what}`);
      return elapsedMs >= beat.forMs ? seen(state, beat.what, elapsedMs, nowMs) : undefined;
  }
}

function seen(state: StoryState, what: string, afterMs: number, nowMs: number): Told {
  const sentence = `${what} (after ${seconds(afterMs)})`;
  const results = replace(state, { state: 'running', sentence });
  const event: StoryEvent = { kind: 'seen', step: state.step, what, afterMs };
  return nextBeat({ ...state, results }, nowMs, event);
}

function nextBeat(state: StoryState, nowMs: number, event?: StoryEvent): Told {
  return {
    state: { ...state, beat: state.beat + 1, beatSinceMs: nowMs },
    events: event === undefined ? [] : [event],
  };
}

function finishStep(state: StoryState): Told {
  const { step } = state;
  const sentence = state.results[step]?.sentence ?? '';
  const results = replace(state, { state: 'seen', sentence });
  const after = { ...state, results, step: step + 1, mark: undefined };
  const events: StoryEvent[] = [{ kind: 'step-seen', step, sentence }];
  if (isOver(after)) events.push({ kind: 'over', isSeen: isSeen(after) });
  return { state: after, events };
}

function fail(state: StoryState, sentence: string): Told {
  const { step } = state;
  const failed = { ...state, results: replace(state, { state: 'failed', sentence }) };
  const after = skipRest(failed);
  return {
    state: after,
    events: [
      { kind: 'step-failed', step, sentence },
      { kind: 'over', isSeen: false },
    ],
  };
}

function replace({ results, step }: StoryState, result: StepResult): readonly StepResult[] {
  return results.map((each, at) => (at === step ? result : each));
}

export function seconds(ms: number): string {
  return ms < 10_000 && ms % 1000 !== 0
    ? `${(ms / 1000).toFixed(2)} s`
    : `${Math.round(ms / 1000)} s`;
}
