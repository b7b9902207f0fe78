/**
 * Checks that name their target: getaddrinfo has two of Node's threads for all that the process asks, and names that DNS does not answer for
 * would stop the others (A7).
 */

import dns from 'node:dns';
import { createServer } from 'node:net';
import { expect } from 'chai';
import { createAskHttp, type HttpAnswer } from '../../../src/checks/ask-http.ts';
import { probe, Servers } from './probing.ts';

/** known without DNS, wherever the test runs */
const NAME = 'web.localhost';
/** of names that nobody answers for, which is what is expected of none */
const TIMEOUT_MS = 5000;

/** Sockets of Node that are not told otherwise ask by `dns.lookup`, which answers nothing meanwhile. */
async function withoutGetaddrinfo<T>(ask: () => Promise<T>): Promise<T> {
  const { lookup } = dns;
  const asked: unknown[] = [];
  const set = (value: unknown) =>
    Object.defineProperty(dns, 'lookup', { value, configurable: true, writable: true });
  set((name: unknown) => void asked.push(name));
  try {
    return await ask();
  } finally {
    set(lookup);
    expect(asked, 'asked of getaddrinfo').to.deep.equal([]);
  }
}

describe('a check of a name holds no thread of getaddrinfo', () => {
  const servers = new Servers();
  after(() => servers.close());

  const web = async () =>
    (await servers.http((_, response) => response.end())).replace('127.0.0.1', NAME);

  it('by TCP', async () => {
    const port = await servers.listen(createServer());
    const answer = await withoutGetaddrinfo(() =>
      probe({ kind: 'tcp', host: NAME, port }, TIMEOUT_MS),
    );
    expect(answer).to.include({ kind: 'pass' });
  });

  it('by HTTP', async () => {
    const url = await web();
    const answer = await withoutGetaddrinfo(() => probe({ kind: 'http', url }, TIMEOUT_MS));
    expect(answer).to.include({ kind: 'pass' });
  });

  it('of a server whose connection is kept (kube-proxy)', async () => {
    const url = await web();
    const ask = createAskHttp();
    const answer = await withoutGetaddrinfo(
      () => new Promise<HttpAnswer>((resolve) => void ask(url, TIMEOUT_MS, resolve)),
    );
    ask.close();
    expect(answer).to.include({ kind: 'answered' });
  });
});
