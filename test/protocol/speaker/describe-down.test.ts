import { expect } from 'chai';
import { describeDown, nameLikelyReason } from '../../../protocol/speaker/describe-down.ts';

const silence = { kind: 'disconnected', detail: 'no answer' } as const;

describe('why a session ended', () => {
  it('names the key as a likely reason where there is one and nobody answered', () => {
    const named = nameLikelyReason(silence, true);
    expect(describeDown(named)).to.equal('no answer (is the TCP-MD5 key the same on both sides?)');
  });

  it('says nothing of keys without one, nor of a neighbour that said why', () => {
    expect(nameLikelyReason(silence, false)).to.equal(silence);
    const said = { kind: 'notification-received', code: 6, subcode: 2, detail: 'x' } as const;
    expect(nameLikelyReason(said, true)).to.equal(said);
  });
});
