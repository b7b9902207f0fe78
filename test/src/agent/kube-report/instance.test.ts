import { expect } from 'chai';
import fc from 'fast-check';
import {
  ANSWER_MS,
  ASK_AGAIN_MS,
  annotationsOf,
  nextStanding,
  objection,
  type Standing,
} from '../../../../src/agent/kube-report/instance.ts';

/** Two instances over one IPNode; each looks when it is told to. */
class Pair {
  annotations: Readonly<Record<string, string>> = {};
  readonly standings = new Map<string, Standing>();

  look(id: string, nowMs: number): Standing {
    const { standing, move } = nextStanding(this.standings.get(id), this.annotations, {
      id,
      nowMs,
    });
    const next: Record<string, string> = { ...this.annotations };
    for (const [key, value] of Object.entries(annotationsOf(move, id))) {
      if (value === null) delete next[key];
      else next[key] = value;
    }
    this.annotations = next;
    this.standings.set(id, standing);
    return standing;
  }
}

describe('which of two agents of one node name is the one', () => {
  it('the first takes it, and has it again after a restart without asking', () => {
    const pair = new Pair();
    expect(pair.look('a', 0).kind).to.equal('ours');
    pair.standings.clear();
    expect(pair.look('a', 1).kind).to.equal('ours');
  });

  it('a second one asks, is answered, and says why it is none', () => {
    const pair = new Pair();
    pair.look('a', 0);
    expect(pair.look('b', 1).kind).to.equal('asking');
    expect(objection(pair.standings.get('b'), 'n1')).to.match(/whether it is still there/);
    expect(pair.look('a', 30_000).kind).to.equal('ours');
    expect(pair.look('b', 30_001).kind).to.equal('refused');
    expect(objection(pair.standings.get('b'), 'n1')).to.match(/two machines go by the name n1/);
  });

  it('whom nobody answers takes over', () => {
    const pair = new Pair();
    pair.look('a', 0);
    pair.look('b', 0);
    expect(pair.look('b', ANSWER_MS - 1).kind).to.equal('asking');
    expect(pair.look('b', ANSWER_MS).kind).to.equal('ours');
    expect(pair.look('a', ANSWER_MS + 1).kind, 'that was only frozen').to.equal('asking');
  });

  it('who was refused asks again later: the first may have gone', () => {
    const pair = new Pair();
    pair.look('a', 0);
    pair.look('b', 1);
    pair.look('a', 2);
    pair.look('b', 3);
    expect(pair.look('b', 4).kind).to.equal('refused');
    expect(pair.look('b', 3 + ASK_AGAIN_MS).kind).to.equal('asking');
  });

  it('never are both of the opinion, while both look as often as they should', () => {
    const looks = fc.array(fc.record({ id: fc.constantFrom('a', 'b'), pause: fc.nat(9000) }), {
      maxLength: 100,
    });
    fc.assert(
      fc.property(looks, (all) => {
        const pair = new Pair();
        let nowMs = 0;
        const last = new Map([
          ['a', 0],
          ['b', 0],
        ]);
        pair.look('a', 0);
        for (const { id, pause } of all) {
          nowMs += pause;
          // nobody is silent for longer than a look
          for (const [each, atMs] of last) {
            if (each !== id && nowMs - atMs > 30_000) {
              pair.look(each, nowMs);
              last.set(each, nowMs);
            }
          }
          pair.look(id, nowMs);
          last.set(id, nowMs);
          expect(pair.standings.get('a')?.kind).to.equal('ours');
          expect(pair.standings.get('b')?.kind).to.not.equal('ours');
        }
      }),
    );
  });
});
