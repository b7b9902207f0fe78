import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError } from '../../../../src/sources/kube/api.ts';
import { parseWatchLine } from '../../../../src/sources/kube/watch-event.ts';

const object = { metadata: { name: 'a', uid: 'u', resourceVersion: '7' } };
const line = (type: string, value: unknown) => JSON.stringify({ type, object: value });

describe('a line of a watch', () => {
  it('is an event of an object', () => {
    expect(parseWatchLine(line('ADDED', object))).to.deep.equal({
      kind: 'event',
      event: { kind: 'added', object },
    });
    expect(parseWatchLine(line('MODIFIED', object))).to.have.nested.property(
      'event.kind',
      'modified',
    );
    expect(parseWatchLine(line('DELETED', object))).to.have.nested.property(
      'event.kind',
      'deleted',
    );
  });

  it('is a bookmark', () => {
    const bookmark = { metadata: { resourceVersion: '9' } };
    expect(parseWatchLine(line('BOOKMARK', bookmark))).to.deep.equal({
      kind: 'event',
      event: { kind: 'bookmark', resourceVersion: '9' },
    });
  });

  it('says that the version is gone', () => {
    const status = {
      kind: 'Status',
      code: 410,
      reason: 'Expired',
      message: 'too old resource version',
    };
    expect(parseWatchLine(line('ERROR', status))).to.deep.equal({
      kind: 'end',
      end: { kind: 'gone' },
    });
  });

  it('ends the watch with what the server says', () => {
    const parsed = parseWatchLine(
      line('ERROR', { code: 500, reason: 'InternalError', message: 'etcd' }),
    );
    expect(parsed).to.have.nested.property('end.error').that.is.instanceOf(ApiError);
    expect(parsed).to.have.nested.property('end.error.message', 'etcd');
  });

  it('of a type that nobody knows yet is passed over', () => {
    expect(parseWatchLine(line('PONDERED', object))).to.deep.equal({ kind: 'nothing' });
  });

  it('never throws, whatever it holds', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseWatchLine(text)));
    fc.assert(
      fc.property(fc.constantFrom('ADDED', 'BOOKMARK', 'ERROR'), fc.jsonValue(), (type, value) => {
        parseWatchLine(line(type, value));
      }),
    );
  });
});
