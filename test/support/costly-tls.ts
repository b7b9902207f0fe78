/**
 * A TLS 1.2 server that lets its client work: `group` names a DHE group of 10,000 bits, which costs the server one signature; `chain`
 * sends certificates of 90 KB with keys of 16,384 bits. No handshake of it ends. argv: port, host, what, files of key and certificate (RSA, PEM).
 */

import { createPrivateKey, createSign, randomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const [port, host, what, keyFile = '', certFile = ''] = process.argv.slice(2);
const key = createPrivateKey(readFileSync(keyFile));
const own = new X509Certificate(readFileSync(certFile)).raw;

const big = (length: number, octets: number): Buffer => {
  const head = Buffer.alloc(octets);
  head.writeUIntBE(length, 0, octets);
  return head;
};
const counted = (octets: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([big(body.length, octets), body]);
};
const message = (type: number, ...parts: Buffer[]): Buffer =>
  Buffer.concat([Buffer.from([type]), counted(3, ...parts)]);

/** DER */
const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  if (length < 128) return Buffer.concat([Buffer.from([tag, length]), body]);
  const size = length < 256 ? big(0x8100 | length, 2) : big(0x820000 | length, 3);
  return Buffer.concat([Buffer.from([tag]), size, body]);
};
const RSA = Buffer.from('06092a864886f70d010101', 'hex');
const RSA_SHA256 = der(0x30, Buffer.from('06092a864886f70d01010b0500', 'hex'));
const named = (text: string): Buffer =>
  der(0x30, der(0x31, der(0x30, Buffer.from('0603550403', 'hex'), der(0x0c, Buffer.from(text)))));
const DATES = der(
  0x30,
  der(0x17, Buffer.from('250101000000Z')),
  der(0x17, Buffer.from('450101000000Z')),
);
const IS_AUTHORITY = der(0xa3, der(0x30, Buffer.from('300f0603551d130101ff040530030101ff', 'hex')));
const odd = (octets: number): Buffer => {
  const number = randomBytes(octets);
  number[0] = 0xc1;
  number[octets - 1] = 0xc1;
  return number;
};
const integer = (number: Buffer): Buffer => der(0x02, Buffer.from([0]), number);

function authority(subject: string, issuer: string): Buffer {
  const numbers = der(0x30, integer(odd(2048)), integer(Buffer.alloc(8, 0xff)));
  const keyInfo = der(
    0x30,
    der(0x30, RSA, Buffer.from('0500', 'hex')),
    der(0x03, Buffer.from([0]), numbers),
  );
  const version = der(0xa0, Buffer.from('020102', 'hex'));
  const parts = [
    version,
    integer(odd(8)),
    RSA_SHA256,
    named(issuer),
    DATES,
    named(subject),
    keyInfo,
    IS_AUTHORITY,
  ];
  const signature = der(0x03, Buffer.from([0, 1]), randomBytes(2047));
  return der(0x30, der(0x30, ...parts), RSA_SHA256, signature);
}

const MANY = 21;
const chain =
  what === 'chain'
    ? Array.from({ length: MANY }, (_, n) => authority(`c${n}`, `c${Math.min(n + 1, MANY - 1)}`))
    : [own];
const prime = odd(1250);
/** less than the prime */
const value = Buffer.from(prime);
value[0] = 0x55;
const group = Buffer.concat([prime, Buffer.from([2]), value].map((each) => counted(2, each)));

function answerTo(hello: Buffer): Buffer {
  const random = randomBytes(32);
  const suite = Buffer.from(what === 'chain' ? 'c02f' : '009e', 'hex');
  const secureRenegotiation = counted(2, Buffer.from('ff01000100', 'hex'));
  const none = Buffer.from([0]);
  const messages = [
    message(2, Buffer.from([3, 3]), random, none, suite, none, secureRenegotiation),
    message(11, counted(3, ...chain.map((each) => counted(3, each)))),
  ];
  if (what === 'group') {
    const signed = createSign('sha256').update(hello.subarray(11, 43)).update(random).update(group);
    messages.push(message(12, group, Buffer.from([4, 1]), counted(2, signed.sign(key))));
  }
  messages.push(message(14));
  const all = Buffer.concat(messages);
  const records = [];
  for (let at = 0; at < all.length; at += 16_000) {
    records.push(Buffer.from([22, 3, 3]), counted(2, all.subarray(at, at + 16_000)));
  }
  return Buffer.concat(records);
}

const server = createServer((socket) => {
  let hello: Buffer = Buffer.alloc(0);
  let isAnswered = false;
  socket.on('error', () => {});
  socket.on('data', (bytes: Buffer) => {
    hello = Buffer.concat([hello, bytes]);
    if (isAnswered || hello.length < 43) return;
    isAnswered = true;
    socket.write(answerTo(hello));
  });
});
server.listen(Number(port), host, () => {
  const bound = server.address();
  if (typeof bound === 'object') process.stdout.write(`listens on ${bound?.port}\n`);
});
