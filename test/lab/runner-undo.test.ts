import { expect } from 'chai';
import { undoAndThrow } from '../../lab/runner/undo.ts';

const thrownBy = (work: Promise<never>): Promise<unknown> => work.catch((error: unknown) => error);

describe('what is taken away after an error', () => {
  const first = new Error('the API server is not ready');

  it('changes nothing about the error', async () => {
    let isUndone = false;
    const undo = async () => {
      isUndone = true;
    };
    expect(await thrownBy(undoAndThrow(first, undo))).to.equal(first);
    expect(isUndone).to.equal(true);
  });

  it('is told beside the error where it cannot be', async () => {
    const undo = () => Promise.reject(new Error('left behind: namespace lab.x.n1'));
    const thrown = await thrownBy(undoAndThrow(first, undo));
    expect(thrown).to.be.an('error').with.property('cause', first);
    expect(String(thrown)).to.include('the API server is not ready; and not everything');
    expect(String(thrown)).to.include('left behind: namespace lab.x.n1');
  });
});
