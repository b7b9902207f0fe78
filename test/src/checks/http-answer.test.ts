import { expect } from 'chai';
import { HttpAnswer } from '../../../src/checks/http-answer.ts';

interface Read {
  readonly status: number | undefined;
  readonly body: string;
  readonly isOver: boolean;
  readonly isForeign: boolean;
  /** what a close of the connection means now */
  readonly endsIt: boolean;
}

function read(text: string, step = Number.POSITIVE_INFINITY): Read {
  const answer = new HttpAnswer();
  const bytes = Buffer.from(text, 'latin1');
  for (let at = 0; at < bytes.length; at += step) answer.push(bytes.subarray(at, at + step));
  const { status, body, isOver, isForeign } = answer;
  return { status, body, isOver, isForeign, endsIt: answer.end() };
}

const over = (status: number, body: string) => ({
  status,
  body,
  isOver: true,
  isForeign: false,
  endsIt: true,
});
const waiting = (status: number | undefined, body: string, endsIt = false) => ({
  status,
  body,
  isOver: false,
  isForeign: false,
  endsIt,
});

const ANSWERS: Readonly<Record<string, readonly [string, Read]>> = {
  'a body of a known length': ['HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc', over(200, 'abc')],
  'no body at all': ['HTTP/1.1 503 no\r\ncontent-length: 0\r\n\r\n', over(503, '')],
  'a status that has no body': ['HTTP/1.1 204 \r\nserver: x\r\n\r\n', over(204, '')],
  'a body up to the close': ['HTTP/1.0 500 oh\r\n\r\nfailed', waiting(500, 'failed', true)],
  'a body that breaks off': [
    'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc',
    waiting(200, 'abc'),
  ],
  'chunks, with an extension and a last one': [
    'HTTP/1.1 500 no\r\nTransfer-Encoding: gzip, chunked\r\n\r\n3\r\nab\n\r\n2;x="y"\r\ncd\r\n0\r\n\r\n',
    over(500, 'ab\ncd'),
  ],
  'chunks that break off': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n',
    waiting(200, 'abc'),
  ],
  'an interim answer first': [
    'HTTP/1.1 103 Early\r\nlink: </x>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na',
    over(200, 'a'),
  ],
  'lines without carriage returns': ['HTTP/1.1 200 OK\ncontent-length: 1\n\na', over(200, 'a')],
  'a head that has not ended': ['HTTP/1.1 200 OK\r\ncontent-', waiting(undefined, '')],
};

describe('HttpAnswer', () => {
  for (const [what, [text, expected]] of Object.entries(ANSWERS)) {
    it(`reads ${what}, whole and octet by octet`, () => {
      for (const step of [undefined, 1, 2, 7]) {
        expect(read(text, step), `by ${step}`).to.deep.equal(expected);
      }
    });
  }

  it('tells what is not HTTP/1, or means no good, from an answer', () => {
    const chunked = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    for (const text of [
      'SSH-2.0-OpenSSH\r\n',
      'HTTP/2 200\r\n\r\n',
      'HTTP/1.1 abc\r\n\r\n',
      `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}`,
      'HTTP/1.1 102 \r\n\r\n'.repeat(9),
      `${chunked}xyz\r\n`,
      `${chunked}${'0'.repeat(2000)}`,
      `${chunked}1\r\nabc`,
    ]) {
      expect(read(text).isForeign, text.slice(0, 60)).to.equal(true);
    }
  });

  it('has enough after 64 KB, or after some hundred chunks, and keeps 8 KB', () => {
    const long = read(`HTTP/1.1 500 no\r\n\r\n${'x'.repeat(70_000)}`);
    expect([long.isOver, long.body.length]).to.deep.equal([true, 8192]);
    const chunked = 'HTTP/1.1 500 no\r\ntransfer-encoding: chunked\r\n\r\n';
    const many = read(`${chunked}${'1\r\nx\r\n'.repeat(10_000)}`);
    expect([many.isOver, many.body.length]).to.deep.equal([true, 256]);
  });
});
