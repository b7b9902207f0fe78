import { expect } from 'chai';
import { parseListenAddress } from '../../../src/telemetry/listen-address.ts';

describe('where metrics are served', () => {
  const cases: readonly (readonly [string, object | undefined])[] = [
    [':9179', { port: 9179 }],
    ['127.0.0.1:80', { host: '127.0.0.1', port: 80 }],
    ['[2001:DB8::1]:9179', { host: '2001:db8::1', port: 9179 }],
    ['10.0.0.1', { host: '10.0.0.1', port: 9179 }],
    ['2001:db8::1', { host: '2001:db8::1', port: 9179 }],
    ['off', undefined],
  ];
  for (const [text, expected] of cases) {
    it(`reads ${text}`, () => expect(parseListenAddress(text)).to.deep.equal(expected));
  }

  for (const text of [
    '',
    '9179',
    ':0',
    ':65536',
    'localhost:9179',
    '[10.0.0.1]:9179',
    '::1:',
    'on',
  ]) {
    it(`refuses '${text}' with a sentence`, () => {
      expect(() => parseListenAddress(text)).to.throw('write :PORT');
    });
  }
});
