import { expect } from 'chai';
import { run } from '../../tools/kubernetes/run.ts';

const failure = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('it went well');
};

describe('a program that is run to its end', () => {
  it('answers with what it prints, and may have a bound that it keeps', async () => {
    expect(await run('echo', ['a'], { timeoutMs: 60_000 })).to.equal('a\n');
  });

  it('is killed when its time is over, and what it said by then is told', async () => {
    const script = 'echo trouble >&2; exec sleep 1000';
    // long enough to say something on a machine that is busy
    const started = performance.now();
    const message = await failure(run('sh', ['-c', script], { timeoutMs: 3_000 }));
    expect(message).to.equal(`sh -c ${script}: not done after 3 s, and killed. It said: trouble`);
    expect(performance.now() - started).to.be.lessThan(60_000);
  });

  it('holds nobody by what it has started and left behind', async () => {
    const script = 'sleep 60 & exec sleep 1000';
    const started = performance.now();
    expect(await failure(run('sh', ['-c', script], { timeoutMs: 200 }))).to.include('not done');
    expect(performance.now() - started).to.be.lessThan(50_000);
  });

  it('fails as before where it ends by itself', async () => {
    const message = await failure(run('sh', ['-c', 'echo no >&2; exit 3'], { timeoutMs: 60_000 }));
    expect(message).to.equal('sh -c: exit 3: no');
    expect(await failure(run('/no/such', [], { timeoutMs: 60_000 }))).to.equal(
      'cannot run /no/such',
    );
  });
});
