import { expect } from 'chai';
import fc from 'fast-check';
import { formatTarget, parseTarget } from '../../../src/checks/parse-target.ts';
import type { CheckTarget } from '../../../src/model/check-spec.ts';

const PIN = 'ab'.repeat(32);

const GOOD: readonly (readonly [string, CheckTarget])[] = [
  ['https://127.0.0.1:6443/readyz', { kind: 'http', url: 'https://127.0.0.1:6443/readyz' }],
  ['https://[::1]:6443/readyz?verbose', { kind: 'http', url: 'https://[::1]:6443/readyz?verbose' }],
  ['http://localhost', { kind: 'http', url: 'http://localhost/' }],
  ['tcp://127.0.0.1:22', { kind: 'tcp', host: '127.0.0.1', port: 22 }],
  ['tcp://[2001:db8::1]:65535', { kind: 'tcp', host: '2001:db8::1', port: 65535 }],
  ['tcp://[fe80::1%eth0]:1', { kind: 'tcp', host: 'fe80::1%eth0', port: 1 }],
  ['tcp://api.example.net:6443', { kind: 'tcp', host: 'api.example.net', port: 6443 }],
  ['file:/run/ready', { kind: 'file', path: '/run/ready' }],
  ['file:///run/a b', { kind: 'file', path: '/run/a b' }],
  ['exec:/bin/true', { kind: 'exec', command: ['/bin/true'] }],
  ['exec: check  --all\t-v ', { kind: 'exec', command: ['check', '--all', '-v'] }],
  [
    `exec:sh -c 'exit "$X"' "a b"c ""`,
    { kind: 'exec', command: ['sh', '-c', 'exit "$X"', 'a bc', ''] },
  ],
];

const BAD: readonly (readonly [string, string])[] = [
  ['', 'a check is https://HOST:PORT/PATH'],
  ['127.0.0.1:6443', 'a check is https://HOST:PORT/PATH'],
  ['ftp://host/x', 'a check is https://HOST:PORT/PATH'],
  ['https:/host', 'not a URL'],
  ['https://', 'not a URL'],
  ['https://host:99999/', 'not a URL'],
  ['http://host:0/', 'port 0 cannot be asked'],
  ['https://me:secret@host/', 'a user or password in the URL would be shown'],
  ['tcp://host', 'write tcp://HOST:PORT'],
  ['tcp://::1:80', 'write tcp://HOST:PORT'],
  ['tcp://[::1', 'write tcp://HOST:PORT'],
  ['tcp://[::g]:80', 'write tcp://HOST:PORT'],
  ['tcp://[127.0.0.1]:80', 'write tcp://HOST:PORT'],
  ['tcp://host:80/path', 'write tcp://HOST:PORT'],
  ['tcp://host:0', 'port 0 is not 1 to 65535'],
  ['tcp://host:65536', 'port 65536 is not 1 to 65535'],
  ['file:ready', 'the path must be absolute'],
  ['file://host/ready', 'the path must be absolute'],
  ['exec:', 'no command'],
  ['exec:   ', 'no command'],
  [`exec:'' x`, 'no command'],
  [`exec:echo 'a`, 'a quote is opened and not closed'],
  [`exec:echo "it's`, 'a quote is opened and not closed'],
];

describe('parseTarget', () => {
  for (const [text, target] of GOOD) {
    it(`reads ${text}`, () => expect(parseTarget(text)).to.deep.equal({ ok: true, target }));
  }

  for (const [text, why] of BAD) {
    it(`refuses '${text}' and says why`, () => {
      const parsed = parseTarget(text);
      expect(parsed.ok).to.equal(false);
      expect(parsed.ok ? '' : parsed.sentence).to.include(`'${text}': ${why}`);
    });
  }

  it('takes a CA file and a pin for https, the pin as openssl prints it too', () => {
    const printed = PIN.toUpperCase().match(/../g)?.join(':') ?? '';
    expect(parseTarget('https://h/', { caFile: '/ca.pem', pin: printed })).to.deep.equal({
      ok: true,
      target: { kind: 'http', url: 'https://h/', caFile: '/ca.pem', pin: PIN },
    });
  });

  it('refuses trust that cannot be used', () => {
    for (const [text, trust, why] of [
      ['http://h/', { caFile: '/ca.pem' }, 'for https:// only'],
      ['tcp://h:1', { pin: PIN }, 'for https:// only'],
      ['https://h/', { pin: 'ab' }, 'not a SHA-256 of 64 hex digits'],
      ['https://h/', { caFile: '' }, 'CA file is empty'],
    ] as const) {
      const parsed = parseTarget(text, trust);
      expect(parsed.ok ? 'taken' : parsed.sentence).to.include(why);
    }
  });

  it('reads back every command that formatTarget writes', () => {
    const word = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '$', '\t', '-') });
    fc.assert(
      fc.property(
        fc.string({ minLength: 1, unit: fc.constantFrom('a', "'", '"') }),
        fc.array(word),
        (name, words) => {
          const target: CheckTarget = { kind: 'exec', command: [name, ...words] };
          expect(parseTarget(formatTarget(target))).to.deep.equal({ ok: true, target });
        },
      ),
    );
  });

  it('reads back the text of every good target', () => {
    for (const [, target] of GOOD) {
      expect(parseTarget(formatTarget(target))).to.deep.equal({ ok: true, target });
    }
  });
});
