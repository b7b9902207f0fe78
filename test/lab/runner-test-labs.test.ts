import { expect } from 'chai';
import { abandonedLabs, testLabName } from '../../lab/runner/test-labs.ts';

describe('labs that tests have left', () => {
  const isAlive = (pid: number) => pid === 77;

  it('are those of processes that are no more, each once', () => {
    const names = ['t12', 'runner12', 't77', 'runner77', 't12', testLabName('t', 13)];
    expect(abandonedLabs(names, isAlive)).to.deep.equal(['t12', 'runner12', 't13']);
  });

  it("are no labs of people's own, whatever their names end in", () => {
    const names = ['herald', 'cluster', 'rack2', 't', 'test-12', 'xt12', 't12a', 'runner', ''];
    expect(abandonedLabs(names, isAlive)).to.deep.equal([]);
  });
});
