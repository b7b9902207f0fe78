/** The client over real sockets, against servers of this process that answer as each test says. The real API server: test/cluster. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { type LogEvent, SILENT_LOG } from '../../../../src/log/log.ts';
import { ApiError, ApiUnreachable, type WatchEvent } from '../../../../src/sources/kube/api.ts';
import {
  type ClosableKubeApi,
  createKubeApi,
  longestAnswer,
} from '../../../../src/sources/kube/api-client.ts';
import type { KubeAccess } from '../../../../src/sources/kube/kube-access.ts';
import { IP_CLAIMS } from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { untilValue } from '../../../support/poll.ts';

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

const claim = (name: string, version = '1') => ({
  metadata: { name, uid: 'u', resourceVersion: version },
});

class TestServer {
  readonly requests: string[] = [];
  readonly headers: IncomingMessage['headers'][] = [];
  readonly sockets = new Set<Socket>();
  handler: Handler = (_request, response) => answer(response, 200, claim('a'));
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        this.requests.push(`${request.method} ${request.url}${body === '' ? '' : ` ${body}`}`);
        this.headers.push(request.headers);
        this.handler(request, response, body);
      });
    });
    this.#server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  async start(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('it does not listen');
    return new URL(`http://127.0.0.1:${address.port}`);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it should have failed');
}

describe('the client of the API', () => {
  const clock = new ManualClock();
  let one: TestServer;
  let two: TestServer;
  let urls: URL[];
  let api: ClosableKubeApi;
  let tokens: string[];
  let warnings: LogEvent[];

  const access = (servers: readonly URL[]): KubeAccess => ({
    servers,
    origin: 'a test',
    credentials: async () => ({ headers: { Authorization: `Bearer ${tokens[0]}` }, tls: NO_TLS }),
    renew: () => void (tokens.length > 1 && tokens.shift()),
    identity: { marks: [] },
  });
  const NO_TLS = {};
  const log = { ...SILENT_LOG, warn: (event: LogEvent) => void warnings.push(event) };
  const client = (servers: readonly URL[]) =>
    createKubeApi(access(servers), { clock, log, version: '1.2.3' });

  beforeEach(async () => {
    one = new TestServer();
    two = new TestServer();
    urls = [await one.start(), await two.start()];
    tokens = ['secret'];
    warnings = [];
    api = client(urls);
  });
  afterEach(async () => {
    api.close();
    await one.stop();
    await two.stop();
    expect(clock.pendingTimers, 'no timer is left').to.equal(0);
  });

  it('sends what it is asked to, as whom', async () => {
    expect(await api.get(IP_CLAIMS, 'a')).to.deep.equal(claim('a'));
    await api.create(IP_CLAIMS, { spec: 'Käse' });
    await api.update(IP_CLAIMS, 'a', { x: 1 }, { subresource: 'status' });
    await api.patch(IP_CLAIMS, 'a', { kind: 'merge', body: { y: 2 } });
    await api.patch(
      IP_CLAIMS,
      'a',
      { kind: 'apply', body: {} },
      { fieldManager: 'herald', force: true },
    );
    await api.delete(IP_CLAIMS, 'a', { uid: 'u' });
    const base = '/apis/herald.dev/v1alpha1/ipclaims';
    expect(one.requests).to.deep.equal([
      `GET ${base}/a`,
      `POST ${base} {"spec":"Käse"}`,
      `PUT ${base}/a/status {"x":1}`,
      `PATCH ${base}/a {"y":2}`,
      `PATCH ${base}/a?fieldManager=herald&force=true {}`,
      `DELETE ${base}/a {"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"u"}}`,
    ]);
    expect(one.headers[0]).to.include({
      authorization: 'Bearer secret',
      'user-agent': 'herald/1.2.3',
      accept: 'application/json',
    });
    expect(one.headers.map((each) => each['content-type'])).to.deep.equal([
      undefined,
      'application/json',
      'application/json',
      'application/merge-patch+json',
      'application/apply-patch+yaml',
      'application/json',
    ]);
    expect(one.sockets.size, 'one connection for all').to.equal(1);
  });

  it('asks below the path of its server', async () => {
    const [url] = urls;
    const below = client([new URL('/k8s/clusters/c-1/', url)]);
    await below.get(IP_CLAIMS, 'a');
    expect(one.requests).to.deep.equal([
      'GET /k8s/clusters/c-1/apis/herald.dev/v1alpha1/ipclaims/a',
    ]);
    below.close();
  });

  it('lists', async () => {
    one.handler = (_request, response) =>
      answer(response, 200, {
        metadata: { resourceVersion: '7', continue: 'c' },
        items: [claim('a'), { odd: true }],
      });
    expect(await api.list(IP_CLAIMS, { resourceVersion: '0' })).to.deep.equal({
      resourceVersion: '7',
      continueToken: 'c',
      items: [claim('a')],
    });
    one.handler = (_request, response) =>
      answer(response, 200, { metadata: { resourceVersion: '8' }, items: null });
    expect((await api.list(IP_CLAIMS)).items).to.deep.equal([]);
  });

  it('throws what the server says', async () => {
    one.handler = (_request, response) =>
      answer(
        response,
        429,
        { kind: 'Status', reason: 'TooManyRequests', message: 'slow down', code: 429 },
        { 'retry-after': '2' },
      );
    const error = await failure(api.get(IP_CLAIMS, 'a'));
    expect(error).to.be.instanceOf(ApiError);
    expect(error).to.include({
      status: 429,
      reason: 'TooManyRequests',
      message: 'slow down',
      retryAfterMs: 2000,
    });
    expect(two.requests).to.deep.equal([]);
  });

  it('says that it is no API server that answers', async () => {
    one.handler = (_request, response) => response.end('<html>');
    expect(await failure(api.get(IP_CLAIMS, 'a'))).to.be.instanceOf(ApiUnreachable);
    expect(await failure(api.list(IP_CLAIMS))).to.be.instanceOf(ApiUnreachable);
  });

  it('reads the token anew when it is refused, once', async () => {
    tokens = ['old', 'new'];
    one.handler = (request, response) => {
      const isGood = request.headers.authorization === 'Bearer new';
      answer(
        response,
        isGood ? 200 : 401,
        isGood ? claim('a') : { reason: 'Unauthorized', code: 401 },
      );
    };
    expect(await api.get(IP_CLAIMS, 'a')).to.deep.equal(claim('a'));
    tokens = ['bad', 'bad too'];
    expect(await failure(api.get(IP_CLAIMS, 'a'))).to.include({ status: 401 });
    expect(one.requests).to.have.length(4);
  });

  it('goes on to the next server within the call when one refuses connections, and stays there', async () => {
    await one.stop();
    await api.create(IP_CLAIMS, {});
    await api.create(IP_CLAIMS, {});
    expect(two.requests).to.have.length(2);
    expect(warnings).to.deep.equal(['kube.server']);
    one = new TestServer();
  });

  it('tells when no server is there', async () => {
    await one.stop();
    await two.stop();
    const error = await failure(api.get(IP_CLAIMS, 'a'));
    expect(error).to.be.instanceOf(ApiUnreachable);
    expect(error)
      .to.have.property('message')
      .that.includes('ECONNREFUSED')
      .and.does.not.include('secret');
    [one, two] = [new TestServer(), new TestServer()];
  });

  it('does not do twice what may have been done', async () => {
    one.handler = (request) => request.socket.destroy();
    expect(await failure(api.create(IP_CLAIMS, {}))).to.be.instanceOf(ApiUnreachable);
    expect(one.requests).to.have.length(1);
    expect(two.requests, 'the next call goes to the other one').to.have.length(0);
    await api.create(IP_CLAIMS, {});
    expect(two.requests).to.have.length(1);
  });

  it('asks again on a new connection where an idle one was closed under it, if it only reads', async () => {
    await api.get(IP_CLAIMS, 'a');
    let broken = 0;
    one.handler = (request, response) => {
      broken += 1;
      if (broken === 1) request.socket.resetAndDestroy();
      else answer(response, 200, claim('b'));
    };
    expect(await api.get(IP_CLAIMS, 'b')).to.deep.equal(claim('b'));
    expect(one.requests).to.have.length(3);
    expect(two.requests).to.have.length(0);
  });

  it('gives up at the deadline of the call, and asks the other server next', async () => {
    one.handler = () => undefined;
    const asked = failure(api.get(IP_CLAIMS, 'a', { timeoutMs: 4000 }));
    await untilValue(
      'the request has arrived',
      () => one.requests.length,
      (count) => count === 1,
    );
    clock.advance(3999);
    await turn();
    clock.advance(1);
    expect(await asked)
      .to.have.property('message')
      .that.includes('no answer within 4000 ms');
    await api.get(IP_CLAIMS, 'a');
    expect(two.requests).to.have.length(1);
  });

  it('ends a call by its signal', async () => {
    one.handler = () => undefined;
    const ending = new AbortController();
    const asked = failure(api.get(IP_CLAIMS, 'a', { signal: ending.signal }));
    await untilValue(
      'the request has arrived',
      () => one.requests.length,
      (count) => count === 1,
    );
    ending.abort();
    expect(await asked).to.be.instanceOf(ApiUnreachable);
    expect(warnings, 'it is not the fault of the server').to.deep.equal([]);
  });

  it('leaves a server that answers with errors of its own, after three', async () => {
    one.handler = (_request, response) => answer(response, 500, { message: 'etcd is away' });
    for (let count = 0; count < 3; count += 1) {
      expect(await failure(api.get(IP_CLAIMS, 'a'))).to.include({ status: 500 });
    }
    await api.get(IP_CLAIMS, 'a');
    expect(two.requests).to.have.length(1);
  });

  it('has a bounded number of calls under way', async () => {
    const waiting: ServerResponse[] = [];
    one.handler = (_request, response) => void waiting.push(response);
    const all = Array.from({ length: 40 }, (_, index) => api.get(IP_CLAIMS, `n${index}`));
    await untilValue(
      'sixteen are there',
      () => waiting.length,
      (count) => count === 16,
    );
    expect(one.sockets.size).to.equal(16);
    one.handler = (_request, response) => answer(response, 200, claim('a'));
    for (const response of waiting) answer(response, 200, claim('a'));
    expect(await Promise.all(all)).to.have.length(40);
    expect(one.sockets.size).to.be.at.most(16);
  });

  it('takes answers as long as its memory allows, and never more than 256 MB', () => {
    const mb = 1024 * 1024;
    expect(longestAnswer(512 * mb)).to.be.within(100 * mb, 103 * mb);
    // no bound is known, and two ways in which kernels say that there is none
    for (const none of [0, 2 ** 63, 2 ** 64]) expect(longestAnswer(none)).to.equal(256 * mb);
  });

  describe('a watch', () => {
    const watching = (
      options: { readonly signal?: AbortSignal; readonly onEvent?: () => void } = {},
    ) => {
      const events: WatchEvent[] = [];
      let opened = 0;
      const end = api.watch(IP_CLAIMS, {
        resourceVersion: '5',
        timeoutSeconds: 240,
        signal: options.signal ?? new AbortController().signal,
        onEvent: (event) => {
          events.push(event);
          options.onEvent?.();
        },
        onOpen: () => {
          opened += 1;
        },
      });
      return { events, end, opened: () => opened };
    };
    const line = (type: string, object: object) => `${JSON.stringify({ type, object })}\n`;

    it('tells events as they come, also cut into pieces, until the server ends it', async () => {
      let stream: ServerResponse | undefined;
      one.handler = (_request, response) => {
        stream = response;
        response.writeHead(200);
        response.flushHeaders();
      };
      const { events, end, opened } = watching();
      await untilValue('it is open', opened, (count) => count === 1);
      const bytes = Buffer.from(
        line('ADDED', { ...claim('ä', '6'), note: 'ü' }) +
          line('BOOKMARK', { metadata: { resourceVersion: '9' } }),
      );
      for (const byte of bytes) stream?.write(Buffer.of(byte));
      await untilValue(
        'both',
        () => events.length,
        (count) => count === 2,
      );
      stream?.end('{"type":"ADD');
      expect(await end).to.deep.equal({ kind: 'closed' });
      expect(events).to.deep.equal([
        { kind: 'added', object: { ...claim('ä', '6'), note: 'ü' } },
        { kind: 'bookmark', resourceVersion: '9' },
      ]);
      expect(one.requests[0]).to.include(
        'watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=240',
      );
    });

    it('leaves timers and sockets their turns while thousands of events come together', async () => {
      const count = 300;
      one.handler = (_request, response) => {
        const bodies = Array.from({ length: count }, (_, index) => claim('a', `${index + 6}`));
        response.end(bodies.map((body) => line('MODIFIED', body)).join(''));
      };
      let turns = 0;
      const inTurn = new Map<number, number>();
      const { end } = watching({
        onEvent: () => {
          inTurn.set(turns, (inTurn.get(turns) ?? 0) + 1);
          const untilMs = performance.now() + 1;
          while (performance.now() < untilMs);
        },
      });
      let isOver = false;
      void end.then(() => {
        isOver = true;
      });
      while (!isOver) {
        await turn();
        turns += 1;
      }
      const handled = [...inTurn.values()];
      expect(handled.reduce((sum, each) => sum + each, 0)).to.equal(count);
      // 10 ms of each turn, and 1 ms for each event
      expect(Math.max(...handled)).to.be.below(30);
    });

    it('has a connection of its own beside the calls', async () => {
      one.handler = (request, response) => {
        if (request.url?.includes('watch') === true) response.writeHead(200).flushHeaders();
        else answer(response, 200, claim('a'));
      };
      const ending = new AbortController();
      const all = Array.from({ length: 20 }, () => watching({ signal: ending.signal }));
      for (const each of all) await untilValue('it is open', each.opened, (count) => count === 1);
      await api.get(IP_CLAIMS, 'a');
      expect(one.sockets.size).to.equal(21);
      ending.abort();
      for (const each of all) expect(await each.end).to.deep.equal({ kind: 'closed' });
      await untilValue(
        'they are closed',
        () => one.sockets.size,
        (count) => count <= 1,
      );
    });

    it('is gone when its version is, told by the status or by an event', async () => {
      const gone = { kind: 'Status', code: 410, reason: 'Expired' };
      one.handler = (_request, response) => answer(response, 410, gone);
      expect(await watching().end).to.deep.equal({ kind: 'gone' });
      one.handler = (_request, response) => response.end(line('ERROR', gone));
      expect(await watching().end).to.deep.equal({ kind: 'gone' });
    });

    it('fails with what the server says', async () => {
      one.handler = (_request, response) =>
        answer(response, 403, { code: 403, reason: 'Forbidden', message: 'no' });
      expect(await watching().end).to.have.nested.property('error.reason', 'Forbidden');
    });

    it('renews a token that is refused', async () => {
      tokens = ['old', 'new'];
      one.handler = (_request, response) => answer(response, 401, { code: 401 });
      expect(await watching().end).to.have.nested.property('error.status', 401);
      expect(tokens).to.deep.equal(['new']);
    });

    it('is silent when no byte has come for 90 s, and the other server is asked next', async () => {
      let stream: ServerResponse | undefined;
      one.handler = (_request, response) => {
        stream = response.writeHead(200);
        response.flushHeaders();
      };
      const { end, events, opened } = watching();
      await untilValue('it is open', opened, (count) => count === 1);
      clock.advance(80_000);
      stream?.write(line('BOOKMARK', { metadata: { resourceVersion: '9' } }));
      await untilValue(
        'it is heard',
        () => events.length,
        (count) => count === 1,
      );
      clock.advance(89_999);
      await turn();
      expect(clock.pendingTimers).to.equal(1);
      clock.advance(1);
      expect(await end).to.deep.equal({ kind: 'silent' });
      await api.get(IP_CLAIMS, 'a');
      expect(two.requests).to.have.length(1);
    });

    it('fails when the connection breaks, and when nobody answers', async () => {
      one.handler = (request, response) => {
        response.writeHead(200).flushHeaders();
        setImmediate(() => request.socket.resetAndDestroy());
      };
      expect(await watching().end).to.have.property('kind', 'failed');
      two.handler = () => undefined;
      const { end } = watching();
      await untilValue(
        'the request has arrived',
        () => two.requests.length,
        (count) => count === 1,
      );
      clock.advance(10_000);
      expect(await end)
        .to.have.nested.property('error')
        .that.is.instanceOf(ApiUnreachable);
    });

    it('is closed by its signal, also before it has begun', async () => {
      const ending = new AbortController();
      ending.abort();
      expect(await watching({ signal: ending.signal }).end).to.deep.equal({ kind: 'closed' });
      expect(one.requests).to.deep.equal([]);
    });
  });
});
