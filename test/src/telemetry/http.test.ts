import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { type Health, TelemetryServer } from '../../../src/telemetry/http.ts';

describe('the HTTP server of metrics and probes', () => {
  let ready: Health = { ok: true, lines: ['standby'] };
  let server: TelemetryServer;
  let url = '';
  let rendered = 0;
  let looked = 0;

  beforeEach(async () => {
    ready = { ok: true, lines: ['standby'] };
    rendered = 0;
    looked = 0;
    server = new TelemetryServer({
      metrics: () => {
        rendered += 1;
        return Promise.resolve({ contentType: 'text/plain; version=0.0.4', text: 'x 1\n' });
      },
      live: () => ({ ok: true, lines: [] }),
      ready: () => {
        looked += 1;
        return ready;
      },
    });
    url = `http://127.0.0.1:${await server.start({ host: '127.0.0.1', port: 0 })}`;
  });
  afterEach(() => server.stop());

  async function ask(path: string, method = 'GET') {
    const answer = await fetch(`${url}${path}`, { method });
    return `${answer.status} ${answer.headers.get('content-type')} ${await answer.text()}`;
  }

  it('answers metrics and probes', async () => {
    expect(await ask('/metrics')).to.equal('200 text/plain; version=0.0.4 x 1\n');
    expect(await ask('/livez')).to.equal('200 text/plain; charset=utf-8 ok\n');
    expect(await ask('/readyz?verbose')).to.equal('200 text/plain; charset=utf-8 ok\nstandby\n');
  });

  it('says what is missing where it is not ready', async () => {
    ready = { ok: false, lines: ['not listed yet: pools'] };
    expect(await ask('/readyz')).to.match(/^503 .* not ready\nnot listed yet: pools\n$/);
  });

  it('says what there is, and that it takes no orders', async () => {
    expect(await ask('/')).to.match(/^404 .*there are \/metrics, \/livez and \/readyz\n$/);
    expect(await ask('/metrics', 'POST')).to.match(/^405 .*read-only/);
  });

  it('says in a sentence that its port is taken', async () => {
    const second = new TelemetryServer({
      metrics: () => Promise.resolve({ contentType: '', text: '' }),
      live: () => ready,
      ready: () => ready,
    });
    const port = Number(new URL(url).port);
    expect(await second.start({ host: '127.0.0.1', port })).to.equal(
      `metrics and probes cannot be served on 127.0.0.1:${port}: address and port are in use by another program; give another --metrics-address`,
    );
    await second.stop();
  });

  it('stops though somebody keeps a connection open', async () => {
    const { port, hostname } = new URL(url);
    const reader = connect(Number(port), hostname);
    await new Promise((resolve) => reader.once('connect', resolve));
    reader.on('error', () => undefined);
    const closed = new Promise((resolve) => reader.once('close', resolve));
    await server.stop();
    await closed;
  });

  async function dial(localAddress = '127.0.0.1'): Promise<Socket> {
    const { port, hostname } = new URL(url);
    const socket = connect({ port: Number(port), host: hostname, localAddress });
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return socket;
  }

  async function readAll(socket: Socket): Promise<string> {
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await once(socket, 'close');
    return text;
  }

  const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

  it('answers one request of a connection, however many come in one piece', async () => {
    const socket = await dial();
    const answers = readAll(socket);
    socket.write(request('/metrics').repeat(1500));
    expect((await answers).split('HTTP/1.1 ').length - 1, 'answers').to.equal(1);
  });

  it('makes the text of the metrics once for all that ask within a second', async () => {
    const before = performance.now();
    for (const path of ['/metrics', '/readyz']) {
      for (let round = 0; round < 5; round += 1) {
        const sockets = await Promise.all(Array.from({ length: 12 }, () => dial()));
        const answers = sockets.map(readAll);
        for (const socket of sockets) socket.write(request(path).repeat(100));
        for (const text of await Promise.all(answers)) expect(text).to.include('200 OK');
      }
    }
    const most = Math.ceil((performance.now() - before) / 1000) + 1;
    expect(rendered, 'texts').to.be.within(1, most);
    expect(looked, 'looks at the work').to.be.within(1, most);
  });

  it('has a place for a probe while another address holds all it can get', async () => {
    const strangers = await Promise.all(Array.from({ length: 200 }, () => dial('127.0.0.2')));
    expect(await ask('/livez')).to.match(/^200 /);
    const kept = await openOf(server);
    expect(kept, 'connections that are kept').to.be.at.most(16);
    for (const socket of strangers) socket.destroy();
  });

  it('closes a connection that does not ask in time, and one that does not read its answer', async () => {
    const hasty = new TelemetryServer(
      {
        metrics: () => Promise.resolve({ contentType: 'text/plain', text: 'x'.repeat(50_000_000) }),
        live: () => ready,
        ready: () => ready,
      },
      { headMs: 50, answerMs: 50 },
    );
    url = `http://127.0.0.1:${await hasty.start({ host: '127.0.0.1', port: 0 })}`;
    const silent = await dial();
    silent.write('GET /metrics HTTP/1.1\r\n');
    await once(silent.resume(), 'close');
    const deaf = await dial();
    deaf.write(request('/metrics'));
    await until(async () => (await openOf(hasty)) === 0);
    deaf.destroy();
    await hasty.stop();
  });

  it('answers a client that has closed its half, and one that sends its request in pieces', async () => {
    const half = await dial();
    const answer = readAll(half);
    half.end(request('/livez'));
    expect(await answer).to.match(/^HTTP\/1.1 200 OK\r\n(.+\r\n)+\r\nok\n/);
    const slow = await dial();
    const late = readAll(slow);
    for (const letter of request('/livez')) {
      slow.write(letter);
      await new Promise(setImmediate);
    }
    expect(await late).to.match(/^HTTP\/1.1 200 OK/);
  });

  it('answers a client that has closed its half long before the answer is made', async () => {
    const slow = new TelemetryServer({
      metrics: async () => {
        await new Promise((resolve) => setTimeout(resolve, 100));
        return { contentType: 'text/plain', text: 'x 1\n' };
      },
      live: () => ready,
      ready: () => ready,
    });
    url = `http://127.0.0.1:${await slow.start({ host: '127.0.0.1', port: 0 })}`;
    for (const path of ['/metrics', '/readyz', '/livez']) {
      const half = await dial();
      const answer = readAll(half);
      half.end(`GET ${path} HTTP/1.0\r\n\r\n`);
      expect(await answer, path).to.match(/^HTTP\/1.1 200 OK\r\n(.+\r\n)+\r\n(x 1|ok)\n/);
    }
    await until(async () => (await openOf(slow)) === 0);
    await slow.stop();
  });

  it('refuses heads that are too long or no HTTP', async () => {
    const long = await dial();
    const answer = readAll(long);
    long.write(`GET /livez HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`);
    expect(await answer).to.match(/^(HTTP\/1.1 431 |$)/);
    const noise = await dial();
    const said = readAll(noise);
    noise.write('\u0000\u0001\r\n\r\n');
    expect(await said).to.match(/^HTTP\/1.1 400 /);
  });

  it('answers 500 where the text cannot be made, and goes on', async () => {
    const broken = new TelemetryServer({
      metrics: () => Promise.reject(new RangeError('Invalid string length')),
      live: () => ready,
      ready: () => {
        throw new RangeError('no');
      },
    });
    url = `http://127.0.0.1:${await broken.start({ host: '127.0.0.1', port: 0 })}`;
    expect(await ask('/metrics')).to.match(/^500 /);
    expect(await ask('/readyz')).to.match(/^500 /);
    ready = { ok: true, lines: [] };
    expect(await ask('/livez')).to.match(/^200 /);
    await broken.stop();
  });
});

async function openOf(server: TelemetryServer): Promise<number> {
  await new Promise(setImmediate);
  return server.connections;
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setTimeout(resolve, 10));
}
