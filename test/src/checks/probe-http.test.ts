import { X509Certificate } from 'node:crypto';
import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeProbe } from '../../../src/checks/probe.ts';
import { TestAuthority } from '../../support/certificates.ts';
import { untilValue } from '../../support/poll.ts';
import { PATIENT_MS, probe, Servers } from './probing.ts';

/** for a server that stays silent: long enough that the connection stands by then, also where others have the processors */
const SILENT_MS = 1000;
const MEGABYTE = new Uint8Array(1024 * 1024).fill(0x61);

describe('probeHttp', () => {
  const servers = new Servers();
  after(() => servers.close());
  afterEach('no socket stays open', async () => {
    await untilValue(
      'all sockets closed',
      () => servers.sockets.size,
      (size) => size === 0,
    );
  });

  function asked(url: string, timeoutMs?: number) {
    return probe({ kind: 'http', url }, timeoutMs);
  }

  it('passes with 200, 204 and a redirect, which it does not follow', async () => {
    const seen: (string | undefined)[] = [];
    const url = await servers.http((request, response) => {
      seen.push(request.url);
      const status = Number(request.url?.slice(1));
      response.writeHead(status, status === 302 ? { location: '/200' } : {}).end();
    });
    for (const status of [200, 204, 302, 399]) {
      const answer = await asked(`${url}${status}`);
      expect(answer).to.include({ kind: 'pass', sentence: `${url}${status} answered ${status}` });
    }
    expect(seen).to.deep.equal(['/200', '/204', '/302', '/399']);
  });

  it('asks for the path with its query, and names the host', async () => {
    const url = await servers.http((request, response) => {
      const { host, connection } = request.headers;
      response.writeHead(500).end(`${request.method} ${request.url} ${host} ${connection}`);
    });
    const { host } = new URL(url);
    expect((await asked(`${url}readyz?a=b`)).sentence).to.equal(
      `${url}readyz?a=b answered 500: GET /readyz?a=b ${host} close`,
    );
  });

  it('brings nothing back but the status, where its asker may not read more', async () => {
    const url = await servers.http((_, response) => {
      response.writeHead(503).end('the password of etcd is opensesame');
    });
    expect(await probe({ kind: 'http', url, isDiscreet: true })).to.include({
      kind: 'fail',
      sentence: `${url} answered 503`,
    });
  });

  it('fails with the status and the first line of the body, made safe to print', async () => {
    const url = await servers.http((_, response) => {
      response.writeHead(503).end(`\n  \u001b[31mno etcd\u0007 here\nmore\n`);
    });
    expect(await asked(url)).to.include({
      kind: 'fail',
      sentence: `${url} answered 503: [31mno etcd here`,
    });
  });

  it('picks the part that failed from the list of a Kubernetes API server', async () => {
    const body =
      '[+]ping ok\n[+]log ok\n[-]etcd failed: reason withheld\n[-]x failed\nreadyz check failed\n';
    const url = await servers.http((_, response) => response.writeHead(500).end(body));
    expect((await asked(url)).sentence).to.equal(
      `${url} answered 500: [-]etcd failed: reason withheld`,
    );
  });

  it('cuts a long line', async () => {
    const url = await servers.http((_, response) => response.writeHead(500).end('x'.repeat(9999)));
    const { sentence } = await asked(url);
    expect(sentence).to.match(/: x{199}…$/);
  });

  it('fails where nobody listens, at once', async () => {
    const { kind, sentence, tookMs } = await asked('http://127.0.0.1:1/');
    expect({ kind, sentence }).to.deep.equal({
      kind: 'fail',
      sentence: 'http://127.0.0.1:1/ refused the connection',
    });
    expect(tookMs).to.be.lessThan(PATIENT_MS / 2);
  });

  it('fails at the timeout when the server accepts and says nothing', async () => {
    const port = await servers.listen(createServer((socket) => socket.resume()));
    const url = `http://127.0.0.1:${port}/`;
    const answer = await asked(url, SILENT_MS);
    expect(answer.sentence).to.equal(
      `${url} accepted the connection but did not answer within 1 s`,
    );
    expect(answer.tookMs).to.be.within(SILENT_MS - 10, PATIENT_MS);
  });

  it('fails at the timeout when the headers come and the body stalls', async () => {
    const url = await servers.http((_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('abc');
    });
    const answer = await asked(url, SILENT_MS);
    expect(answer).to.include({
      kind: 'fail',
      sentence: `${url} answered 200 but its body did not end within 1 s`,
    });
  });

  it('fails when the body breaks off', async () => {
    const url = await servers.http((_, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('abc', () => response.socket?.destroy());
    });
    expect((await asked(url)).sentence).to.equal(`${url} answered 200 but broke off in its body`);
  });

  it('does not read a body of 100 MB: it lets go after the first 64 KB', async () => {
    let sent = 0;
    let wasCut = false;
    const url = await servers.http((_, response) => {
      response.writeHead(200, { 'content-length': `${100 * MEGABYTE.length}` });
      response.on('close', () => {
        wasCut = true;
      });
      const more = () => {
        while (sent < 100 && !response.destroyed) {
          sent += 1;
          if (!response.write(MEGABYTE)) {
            response.once('drain', more);
            return;
          }
        }
      };
      more();
    });
    expect(await asked(url)).to.include({ kind: 'pass', sentence: `${url} answered 200` });
    await untilValue(
      'the server notices',
      () => wasCut,
      (cut) => cut,
    );
    expect(sent).to.be.lessThan(20);
  });

  it('tells a hang-up, a reset and an answer that is not HTTP apart', async () => {
    const hangUp = await servers.listen(createServer((socket) => socket.resume().end()));
    const reset = await servers.listen(
      createServer((socket) => socket.once('data', () => socket.resetAndDestroy())),
    );
    const ssh = await servers.listen(
      createServer((socket) => socket.resume().end('SSH-2.0-OpenSSH_9.2\r\n')),
    );
    const sentences = await Promise.all(
      [hangUp, reset, ssh].map(async (port) => (await asked(`http://127.0.0.1:${port}/`)).sentence),
    );
    expect(sentences[0]).to.include('closed the connection before it had answered');
    expect(sentences[1]).to.include('reset the connection');
    expect(sentences[2]).to.match(/did not answer with HTTP$/);
  });

  it('fails, and does not throw, for what is no URL though it begins like one', async () => {
    for (const url of ['http://[::1', 'http://a b/', 'https://host:99999/']) {
      expect(await asked(url)).to.include({
        kind: 'fail',
        sentence: `${url} cannot be asked: it is not a URL`,
      });
    }
  });

  it('says that a name is not known', async () => {
    const { kind, sentence } = await asked('http://no-such-host.invalid/', 4000);
    expect(kind).to.equal('fail');
    expect(sentence).to.match(
      /^http:\/\/no-such-host\.invalid\/ (cannot be asked: DNS does not (know the name|answer)|did not accept a connection within 4 s)$/,
    );
  });

  it('says nothing and closes the socket when it is aborted', async () => {
    const port = await servers.listen(createServer((socket) => socket.resume()));
    const abort = new AbortController();
    const answers: unknown[] = [];
    nodeProbe(
      { kind: 'http', url: `http://127.0.0.1:${port}/` },
      { timeoutMs: 5000, signal: abort.signal, answer: (answer) => answers.push(answer) },
    );
    await untilValue(
      'it connects',
      () => servers.sockets.size,
      (size) => size === 1,
    );
    abort.abort();
    await untilValue(
      'it is gone',
      () => servers.sockets.size,
      (size) => size === 0,
    );
    expect(answers).to.deep.equal([]);
  });
});

describe('probeHttp over TLS', () => {
  const servers = new Servers();
  const authority = new TestAuthority('right authority');
  const other = new TestAuthority('other authority');
  const namesake = new TestAuthority('right authority');
  const good = authority.issue({ altNames: 'IP:127.0.0.1,DNS:localhost' });
  const pin = new X509Certificate(good.cert).fingerprint256.replaceAll(':', '').toLowerCase();
  const { caFile } = authority;
  let url = '';
  let requests = 0;

  before(async () => {
    url = await servers.https(good, (_, response) => {
      requests += 1;
      response.end('ok');
    });
  });
  after(() => {
    servers.close();
    for (const { directory } of [authority, other, namesake])
      rmSync(directory, { recursive: true });
  });
  afterEach('no socket stays open', async () => {
    await untilValue(
      'all sockets closed',
      () => servers.sockets.size,
      (size) => size === 0,
    );
  });

  const serve = (altNames: string, dates = {}) =>
    servers.https(authority.issue({ altNames, ...dates }), (_, response) => response.end('ok'));

  it('passes with the right authority: by address, by name, and with a pin beside it', async () => {
    const byName = url.replace('127.0.0.1', 'localhost');
    for (const target of [
      { kind: 'http', url, caFile },
      { kind: 'http', url: byName, caFile },
      { kind: 'http', url, caFile, pin },
      { kind: 'http', url, pin },
    ] as const) {
      expect(await probe(target)).to.include({
        kind: 'pass',
        sentence: `${target.url} answered 200`,
      });
    }
  });

  it('refuses another authority and says both names; nothing is asked of such a server', async () => {
    const before = requests;
    const answer = await probe({ kind: 'http', url, caFile: other.caFile });
    expect(answer.kind).to.equal('fail');
    expect(answer.sentence).to.include(
      `shows a certificate signed by 'CN=right authority', and the authority in ${other.caFile} is 'CN=other authority'`,
    );
    const same = await probe({ kind: 'http', url, caFile: namesake.caFile });
    expect(same.sentence).to.include('(another key, if the names agree)');
    expect(requests).to.equal(before);
  });

  it('refuses a private authority when none was named, and says what to do', async () => {
    expect((await probe({ kind: 'http', url })).sentence).to.include(
      'which this machine does not trust; name its CA file, or pin the certificate',
    );
  });

  it('refuses an expired certificate and one from the future, with the days', async () => {
    const expired = await serve('IP:127.0.0.1', { fromDay: -30, toDay: -2 });
    const expiredDay = new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10);
    const future = await serve('IP:127.0.0.1', { fromDay: 5, toDay: 30 });
    expect((await probe({ kind: 'http', url: expired, caFile })).sentence).to.include(
      `${expired} shows a certificate that expired on ${expiredDay}; today is `,
    );
    expect((await probe({ kind: 'http', url: future, caFile })).sentence).to.include(
      'shows a certificate that is not valid before ',
    );
  });

  it('refuses a certificate for another address and says for which it is', async () => {
    const elsewhere = await serve('IP:192.0.2.1,DNS:api.example.net');
    expect((await probe({ kind: 'http', url: elsewhere, caFile })).sentence).to.equal(
      `${elsewhere} shows a certificate for IP Address:192.0.2.1, DNS:api.example.net, not for 127.0.0.1`,
    );
  });

  it('refuses another certificate than the pinned one, even of the right authority', async () => {
    const before = requests;
    const wrong = 'ab'.repeat(32);
    for (const trust of [{ pin: wrong }, { pin: wrong, caFile }]) {
      expect(await probe({ kind: 'http', url, ...trust })).to.include({
        kind: 'fail',
        sentence: `${url} shows a certificate with SHA-256 ${pin}, and the pinned one is ${wrong}`,
      });
    }
    expect(requests).to.equal(before);
  });

  it('refuses the pinned certificate when an authority is named too and did not sign it', async () => {
    const answer = await probe({ kind: 'http', url, pin, caFile: other.caFile });
    expect(answer.sentence).to.include("shows a certificate signed by 'CN=right authority'");
  });

  it('reads the CA file at every attempt: late, garbled, right', async () => {
    const late = join(authority.directory, 'late.pem');
    const target = { kind: 'http', url, caFile: late } as const;
    expect((await probe(target)).sentence).to.equal(
      `${url} cannot be trusted: the CA file ${late}: no such file`,
    );
    writeFileSync(late, 'nothing yet');
    expect((await probe(target)).sentence).to.include('holds no PEM certificate');
    writeFileSync(late, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    expect((await probe(target)).sentence).to.include('holds no PEM certificate');
    copyFileSync(caFile, late);
    expect((await probe(target)).kind).to.equal('pass');
  });

  it('says so where a server does not speak TLS, or accepts and does not finish the handshake', async () => {
    const plain = await servers.http((_, response) => response.end('ok'));
    const mute = await servers.listen(createServer((socket) => socket.resume()));
    const plainUrl = plain.replace('http:', 'https:');
    expect((await probe({ kind: 'http', url: plainUrl, caFile })).sentence).to.include(
      'does not speak TLS as it should',
    );
    const muteTarget = { kind: 'http', url: `https://127.0.0.1:${mute}/`, caFile } as const;
    expect((await probe(muteTarget, SILENT_MS)).sentence).to.include(
      'accepted the connection but did not finish the TLS handshake within 1 s',
    );
  });
});
