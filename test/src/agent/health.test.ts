import { expect } from 'chai';
import { desired } from '../../../src/agent/desired.ts';
import { GateHistory } from '../../../src/agent/gate-history.ts';
import {
  checkKeys,
  claimFinding,
  JOIN_KEY,
  joinFinding,
  wantedChecks,
} from '../../../src/agent/health.ts';
import { initialVerdict, stepVerdict, type Verdict } from '../../../src/checks/verdict.ts';
import { check, claim, documents, peer, sourced, VIP, view } from './scenery.ts';

const spec = check('/run/ok', { successes: 2, failures: 3 });
const subject = claim({ checks: [spec] });

function answered(answers: string): ReadonlyMap<string, Verdict> {
  let verdict = initialVerdict(spec);
  for (const [at, letter] of [...answers].entries()) {
    const kind = letter === '+' ? 'pass' : 'fail';
    verdict = stepVerdict(verdict, { kind, sentence: kind }, spec, at);
  }
  return new Map([[checkKeys(subject)[0] ?? '', verdict]]);
}

describe('claimFinding', () => {
  const rows = [
    { answers: undefined, fresh: false, announced: true },
    { answers: '', fresh: false, announced: true },
    { answers: '+', fresh: false, announced: true },
    { answers: '++', fresh: true, announced: true },
    { answers: '-', fresh: false, announced: true },
    { answers: '--', fresh: false, announced: true },
    { answers: '---', fresh: false, announced: false },
    { answers: '--+--', fresh: false, announced: true },
    { answers: '++--', fresh: true, announced: true },
    { answers: '++---', fresh: false, announced: false },
  ];
  for (const { answers, fresh, announced } of rows) {
    const verdicts = answers === undefined ? new Map() : answered(answers);
    it(`after ${answers === undefined ? 'no check' : `'${answers}'`}: a new claim is ${fresh ? 'open' : 'closed'}, an announced one ${announced ? 'open' : 'closed'}`, () => {
      expect(claimFinding(subject, verdicts, false).isOpen).to.equal(fresh);
      expect(claimFinding(subject, verdicts, true).isOpen).to.equal(announced);
    });
  }

  it('needs every check', () => {
    const two = claim({ checks: [spec, check('/run/other')] });
    expect(claimFinding(two, answered('++'), false).isOpen).to.equal(false);
    expect(claimFinding(two, answered('++'), true).isOpen).to.equal(true);
  });

  it('takes the answers of no other check, whatever its place', () => {
    const other = check('/run/other', { successes: 2, failures: 3 });
    const moved = claim({ checks: [other, spec] });
    const replaced = claim({ checks: [other] });
    const tuned = claim({ checks: [check('/run/ok', { successes: 5, failures: 9 })] });
    expect(claimFinding(replaced, answered('++'), false).isOpen).to.equal(false);
    expect(claimFinding(moved, answered('---'), false).sentence).to.equal(
      'a check was not asked yet',
    );
    expect(claimFinding(tuned, answered('++'), false).isOpen).to.equal(true);
  });

  it('asks the same twice where the claim says so, each with its own counts', () => {
    const twice = claim({ checks: [spec, check('/run/ok', { successes: 5, failures: 9 })] });
    expect(new Set(checkKeys(twice)).size).to.equal(2);
    expect(claimFinding(twice, answered('++'), false).isOpen).to.equal(false);
  });
});

describe('joinFinding', () => {
  it('is closed, with the flag to use, where no check is configured', () => {
    const { isOpen, remedy } = joinFinding(undefined, new Map());
    expect(isOpen).to.equal(false);
    expect(remedy).to.include('--join-check none');
  });

  it('is open on a person’s word', () => {
    expect(joinFinding('none', new Map()).isOpen).to.equal(true);
  });

  it('follows the verdict, and is closed before there is one', () => {
    expect(joinFinding(spec, new Map()).isOpen).to.equal(false);
    const [verdict] = answered('++').values();
    if (verdict === undefined) throw new Error('no verdict');
    expect(joinFinding(spec, new Map([[JOIN_KEY, verdict]])).isOpen).to.equal(true);
    const [closed] = answered('++---').values();
    if (closed === undefined) throw new Error('no verdict');
    const found = joinFinding(spec, new Map([[JOIN_KEY, closed]]));
    expect(found.isOpen).to.equal(false);
    expect(found.remedy).to.include('--join-check');
  });
});

describe('GateHistory', () => {
  const gate = (state: 'open' | 'closed' | 'draining', sentence = 'x') =>
    ({ name: 'healthy', state, sentence }) as const;

  it('keeps the moment while the state is the same, whatever the sentence', () => {
    const history = new GateHistory();
    const seen = (subject: string, state: 'open' | 'closed', sentence: string, nowMs: number) => {
      history.remember(subject, [gate(state, sentence)], nowMs);
      return history.sinceMs(subject, 'healthy');
    };
    expect(seen('a', 'open', 'x', 10)).to.equal(10);
    expect(seen('a', 'open', 'y', 20)).to.equal(10);
    expect(seen('a', 'closed', 'y', 30)).to.equal(30);
    expect(seen('b', 'closed', 'y', 40)).to.equal(40);
    expect(history.sinceMs('a', 'healthy')).to.equal(30);
    expect(history.sinceMs('a', 'joined')).to.equal(undefined);
  });

  it('knows each gate of a subject by itself', () => {
    const history = new GateHistory();
    const joined = { name: 'joined', state: 'open', sentence: 'x' } as const;
    history.remember('a', [joined, gate('closed')], 1);
    history.remember('a', [joined, gate('open')], 2);
    expect(history.sinceMs('a', 'joined')).to.equal(1);
    expect(history.sinceMs('a', 'healthy')).to.equal(2);
  });

  it('forgets who is not seen any more', () => {
    const history = new GateHistory();
    const all = documents();
    history.rememberAll(desired(view({ documents: all })).claims, 10);
    history.rememberAll(desired(view({ documents: all })).claims, 20);
    expect(history.sinceMs(VIP, 'healthy')).to.equal(10);
    expect(history.sinceMs(VIP, 'allowed', 'tor')).to.equal(10);
    const other = documents({ peers: [peer({ name: 'spine' })] });
    history.rememberAll(desired(view({ documents: other })).claims, 30);
    expect(history.sinceMs(VIP, 'healthy')).to.equal(10);
    expect(history.sinceMs(VIP, 'allowed', 'tor')).to.equal(undefined);
    expect(history.sinceMs(VIP, 'allowed', 'spine')).to.equal(30);
    history.rememberAll([], 40);
    expect(history.sinceMs(VIP, 'healthy')).to.equal(undefined);
    expect(history.sinceMs(VIP, 'allowed', 'spine')).to.equal(undefined);
  });
});

describe('checks of the API', () => {
  it('bring back the status alone; those of files all that helps', () => {
    const asking = check('', { target: { kind: 'http', url: 'http://127.0.0.1:2381/' } });
    const object = claim({ checks: [asking], labels: { 'herald.dev/anycast': '' } });
    const targets = (['files', 'api'] as const).map((source) => {
      const claims = [{ ...sourced(object), source }];
      const seen = view({ documents: { ...documents(), claims } });
      const wanted = wantedChecks('none', desired(seen), seen);
      expect(wantedChecks('none', desired(seen), seen), 'no change').to.deep.equal(wanted);
      return wanted.get(checkKeys(object)[0] ?? '')?.target;
    });
    const [ofFiles, ofApi] = targets;
    expect(ofFiles).to.deep.equal(asking.target);
    expect(ofApi).to.deep.equal({ ...asking.target, isDiscreet: true });
  });
});
