import { expect } from 'chai';
import { TransportError, type TransportErrorCode } from '../../../protocol/io/transport.ts';
import { disconnection } from '../../../protocol/speaker/disconnection.ts';

describe('the end of a TCP connection', () => {
  it('is a word of the neighbour where it came from there', () => {
    expect(disconnection(undefined)).to.deep.equal({
      detail: 'the neighbour closed the connection',
    });
    const reset = new TransportError('RESET', 'connection reset by the other side');
    expect(disconnection(reset)).to.deep.equal({ detail: reset.message });
  });

  for (const code of ['TIMEOUT', 'UNREACHABLE', 'OTHER'] satisfies TransportErrorCode[]) {
    it(`is ours alone: ${code}`, () => {
      const error = new TransportError(code, 'gone');
      expect(disconnection(error)).to.deep.equal({ detail: 'gone', isOneSided: true });
    });
  }
});
