import { expect } from 'chai';
import { releaseCommit } from '../../lab/cluster/release.ts';

describe('a release where tags were left behind', () => {
  const log = [
    'cccc chore: on to 0.2.0',
    'dddd docs: what comes after chore: 0.1.0',
    'bbbb chore: 0.1.0',
    '9999 chore: 10.1.0',
  ].join('\n');

  it('is the commit that says so, and no other', () => {
    expect(releaseCommit(log, '0.1.0')).to.equal('bbbb');
    expect(releaseCommit(log, '0.2.0')).to.equal(undefined);
    expect(releaseCommit('', '0.1.0')).to.equal(undefined);
  });
});
