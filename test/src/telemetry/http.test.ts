import { connect } from 'node:net';
import { expect } from 'chai';
import { type Health, TelemetryServer } from '../../../src/telemetry/http.ts';

describe('the HTTP server of metrics and probes', () => {
  let ready: Health = { ok: true, lines: ['standby'] };
  let server: TelemetryServer;
  let url = '';

  beforeEach(async () => {
    server = new TelemetryServer({
      metrics: () => Promise.resolve({ contentType: 'text/plain; version=0.0.4', text: 'x 1\n' }),
      live: () => ({ ok: true, lines: [] }),
      ready: () => ready,
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
});
