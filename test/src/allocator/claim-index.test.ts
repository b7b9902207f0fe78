import { expect } from 'chai';
import { ClaimIndex } from '../../../src/allocator/claim-index.ts';
import type { ClaimRecord } from '../../../src/allocator/claim-record.ts';
import { address } from '../../support/allocator-world.ts';

const record = (
  text: string,
  resourceVersion: string,
  rest: Partial<ClaimRecord> = {},
): ClaimRecord => ({
  name: text,
  address: address(text),
  uid: 'u',
  resourceVersion,
  createdMs: 0,
  isBeingDeleted: false,
  labels: {},
  annotations: {},
  services: [{ namespace: 'a', name: 'b' }],
  isUnreadable: false,
  ...rest,
});

describe('ClaimIndex', () => {
  it('takes the newer of two, as numbers, whichever comes first', () => {
    const index = new ClaimIndex();
    index.put(record('192.0.2.1', '9', { annotations: { 'herald.dev/share': 'old' } }));
    expect(index.put(record('192.0.2.1', '10', { services: [] })).isStale).to.equal(false);
    expect(index.put(record('192.0.2.1', '9')).isStale).to.equal(true);
    expect(index.put(record('192.0.2.1', '10')).isStale).to.equal(true);
    expect(index.ofService('a/b')).to.deep.equal([]);
    expect(index.sharedAs('old')).to.deep.equal([]);
  });

  it('does not lose a new object of the same name to the end of the old one', () => {
    const index = new ClaimIndex();
    index.put(record('192.0.2.1', '10', { uid: 'new' }));
    expect(index.remove({ address: address('192.0.2.1'), uid: 'old' })).to.equal(false);
    expect(index.at(address('192.0.2.1'))?.uid).to.equal('new');
    expect(index.remove({ address: address('192.0.2.1'), uid: 'new' })).to.equal(true);
    expect([index.size, [...index.released].length]).to.deep.equal([0, 0]);
  });

  it('lists those of a Service the oldest first, then by address', () => {
    const index = new ClaimIndex();
    index.put(record('192.0.2.9', '1', { createdMs: 1 }));
    index.put(record('192.0.2.10', '2', { createdMs: 1 }));
    index.put(record('192.0.2.1', '3', { createdMs: 2 }));
    expect(index.ofService('a/b').map(({ name }) => name)).to.deep.equal([
      '192.0.2.9',
      '192.0.2.10',
      '192.0.2.1',
    ]);
  });

  it('remembers which write released a claim, whatever is written into it afterwards', () => {
    const index = new ClaimIndex();
    const released = (version: string, at: string, rest: Partial<ClaimRecord> = {}) =>
      record('192.0.2.1', version, {
        annotations: { 'herald.dev/released-by': 'a/b', 'herald.dev/released-at': at },
        services: [],
        withdrawn: { reason: 'Released' },
        ...rest,
      });
    const known = () => index.at(address('192.0.2.1'))?.releasedVersion;
    index.put(record('192.0.2.1', '9'));
    index.put(released('10', 'noon'));
    expect(known()).to.equal(undefined);
    index.put(released('12', 'noon'));
    index.put(released('13', 'noon'));
    expect(known()).to.equal('10');
    // taken and released again
    index.put(record('192.0.2.1', '14'));
    index.put(released('15', 'one'));
    expect(known()).to.equal(undefined);
    index.put(released('16', 'one'));
    expect(known()).to.equal('15');
    // the same, and nobody saw that it was taken
    index.put(released('18', 'two'));
    expect(known()).to.equal(undefined);
    // a person has taken the word back, and given it again
    const { withdrawn: _, ...takenBack } = released('20', 'two');
    index.put(takenBack);
    index.put(released('21', 'two'));
    expect(known()).to.equal(undefined);
    index.put(released('22', 'two', { uid: 'another' }));
    expect(known()).to.equal(undefined);
  });
});
