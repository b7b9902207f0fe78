import { expect } from 'chai';
import fc from 'fast-check';
import {
  describeVerdict,
  initialVerdict,
  stepVerdict,
  tickVerdict,
  type Verdict,
  verdictOpensAt,
} from '../../../src/checks/verdict.ts';
import { CHECK_DEFAULTS, type CheckSpec } from '../../../src/model/check-spec.ts';

const URL_TEXT = 'https://127.0.0.1:6443/readyz';

function spec(over: Partial<CheckSpec> = {}): CheckSpec {
  return { ...CHECK_DEFAULTS, target: { kind: 'http', url: URL_TEXT }, ...over };
}

/** P a pass, F a failure, one per second from 0 */
function run(letters: string, checkSpec: CheckSpec, from = initialVerdict(checkSpec)): Verdict {
  let verdict = from;
  [...letters].forEach((letter, index) => {
    const kind = letter === 'P' ? 'pass' : 'fail';
    verdict = stepVerdict(verdict, { kind, sentence: kind }, checkSpec, index * 1000);
  });
  return verdict;
}

type Step = { readonly letter: 'P' | 'F' | 'tick'; readonly afterMs: number };
type Timed = { readonly letter: Step['letter']; readonly atMs: number };

/**
 * What the rules say, read off the whole history: it is open if somewhere a row of passes was long and old enough, seen so
 * by an answer or a look at the clock within that row, and no later row of failures was long enough.
 */
function isOpenByHistory(history: readonly Timed[], checkSpec: CheckSpec): boolean {
  let opened = -1;
  for (let end = 0; end < history.length; end += 1) {
    const until = history.slice(0, end + 1);
    const lastFailure = until.findLastIndex(({ letter }) => letter === 'F');
    const row = until.slice(lastFailure + 1).filter(({ letter }) => letter === 'P');
    const now = until.at(-1)?.atMs ?? 0;
    const first = row[0]?.atMs ?? Number.POSITIVE_INFINITY;
    if (row.length >= checkSpec.successes && now - first >= checkSpec.settleMs) opened = end;
  }
  if (opened === -1) return false;
  const after = history
    .slice(opened + 1)
    .filter(({ letter }) => letter !== 'tick')
    .map(({ letter }) => letter)
    .join('');
  return !after.includes('F'.repeat(checkSpec.failures));
}

const anySpec = fc
  .record({
    successes: fc.integer({ min: 1, max: 4 }),
    failures: fc.integer({ min: 1, max: 4 }),
    settleMs: fc.constantFrom(0, 0, 500, 2500, 10_000),
  })
  .map(spec);

const anySteps = fc.array(
  fc.record({
    letter: fc.constantFrom<Step['letter']>('P', 'P', 'P', 'F', 'F', 'tick'),
    afterMs: fc.constantFrom(0, 1, 500, 1000, 3000),
  }),
  { maxLength: 40 },
);

describe('verdict', () => {
  it('is closed and unknown before the first answer, and says what has not been asked', () => {
    const verdict = initialVerdict(spec());
    expect(verdict).to.include({ open: false, known: false, passesInRow: 0, failuresInRow: 0 });
    expect(describeVerdict(verdict, spec())).to.equal(`${URL_TEXT} has not been asked yet`);
  });

  it('opens with the last of the successes in a row, not with one fewer', () => {
    expect(run('P', spec()).open).to.equal(false);
    expect(run('PP', spec()).open).to.equal(true);
    expect(run('PFPFPFP', spec()).open).to.equal(false);
    expect(run('FFFFPP', spec()).open).to.equal(true);
  });

  it('closes with the last of the failures in a row; one fewer, again and again, does not close it', () => {
    expect(run('PPFF', spec()).open).to.equal(true);
    expect(run('PPFFF', spec()).open).to.equal(false);
    expect(run(`PP${'FFP'.repeat(50)}`, spec()).open).to.equal(true);
  });

  it('waits for the settle time from the first success and tells when it will open', () => {
    const slow = spec({ settleMs: 5000 });
    const pending = run('FPP', slow);
    expect(pending.open).to.equal(false);
    expect(verdictOpensAt(pending)).to.equal(6000);
    expect(tickVerdict(pending, 5999)).to.equal(pending);
    const open = tickVerdict(pending, 6000);
    expect(open.open).to.equal(true);
    expect(verdictOpensAt(open)).to.equal(undefined);
  });

  it('forgets the settle time at a failure, even when the clock was read too late', () => {
    const slow = spec({ settleMs: 5000 });
    const late = stepVerdict(run('PP', slow), { kind: 'fail', sentence: 'no' }, slow, 60_000);
    expect(late.open).to.equal(false);
    expect(verdictOpensAt(late)).to.equal(undefined);
    expect(tickVerdict(late, 90_000).open).to.equal(false);
  });

  it('agrees with the whole history after every step of any sequence', () => {
    fc.assert(
      fc.property(anySpec, anySteps, (checkSpec, steps) => {
        const history: Timed[] = [];
        let verdict = initialVerdict(checkSpec);
        let atMs = 0;
        for (const { letter, afterMs } of steps) {
          atMs += afterMs;
          history.push({ letter, atMs });
          verdict =
            letter === 'tick'
              ? tickVerdict(verdict, atMs)
              : stepVerdict(
                  verdict,
                  { kind: letter === 'P' ? 'pass' : 'fail', sentence: letter },
                  checkSpec,
                  atMs,
                );
          expect(verdict.open, JSON.stringify(history)).to.equal(
            isOpenByHistory(history, checkSpec),
          );
          expect(verdict.known).to.equal(history.some((step) => step.letter !== 'tick'));
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('promises a time to open only while closed, and keeps the promise when nothing fails', () => {
    fc.assert(
      fc.property(anySpec, anySteps, (checkSpec, steps) => {
        let verdict = initialVerdict(checkSpec);
        let atMs = 0;
        for (const { letter, afterMs } of steps) {
          atMs += afterMs;
          if (letter === 'tick') continue;
          const kind = letter === 'P' ? 'pass' : 'fail';
          verdict = stepVerdict(verdict, { kind, sentence: letter }, checkSpec, atMs);
          const opensAt = verdictOpensAt(verdict);
          if (opensAt === undefined) continue;
          expect(verdict.open).to.equal(false);
          expect(opensAt).to.be.greaterThan(atMs);
          expect(tickVerdict(verdict, opensAt).open).to.equal(true);
          const passed = stepVerdict(verdict, { kind: 'pass', sentence: 'P' }, checkSpec, opensAt);
          expect(passed.open).to.equal(true);
        }
      }),
    );
  });

  it('survives JSON: no state hides in it', () => {
    fc.assert(
      fc.property(anySpec, fc.stringMatching(/^[PF]{0,12}$/), (checkSpec, letters) => {
        const verdict = run(letters, checkSpec);
        expect(JSON.parse(JSON.stringify(verdict))).to.deep.equal(verdict);
      }),
    );
  });
});

describe('describeVerdict', () => {
  const ok = `${URL_TEXT} answered 200`;
  const refused = `${URL_TEXT} refused the connection`;

  function describeAfter(letters: string, checkSpec = spec()): string {
    let verdict = initialVerdict(checkSpec);
    [...letters].forEach((letter, index) => {
      const answer =
        letter === 'P'
          ? ({ kind: 'pass', sentence: ok } as const)
          : ({ kind: 'fail', sentence: refused } as const);
      verdict = stepVerdict(verdict, answer, checkSpec, index);
    });
    return describeVerdict(verdict, checkSpec);
  }

  it('counts towards the change and no further', () => {
    expect(describeAfter('P')).to.equal(`${ok} (1 of 2 successes before it opens)`);
    expect(describeAfter('PP')).to.equal(`${ok}, at least 2 times in a row`);
    expect(describeAfter('PPPPP')).to.equal(describeAfter('PP'));
    expect(describeAfter('PPF')).to.equal(`${refused} (1 of 3 failures before it closes)`);
    expect(describeAfter('PPFF')).to.equal(`${refused} (2 of 3 failures before it closes)`);
    expect(describeAfter('PPFFF')).to.equal(refused);
    expect(describeAfter('PPFFFF')).to.equal(refused);
    expect(describeAfter('F')).to.equal(refused);
    expect(describeAfter('P', spec({ successes: 1 }))).to.equal(ok);
    expect(describeAfter('PPFP')).to.equal(ok);
  });

  it('says that it settles, and for how long', () => {
    expect(describeAfter('PP', spec({ settleMs: 2500 }))).to.equal(
      `${ok} (settling: opens 2.5 s after the first success)`,
    );
  });
});
