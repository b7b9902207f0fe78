/** The demo's page server with real requests; the demo behind it is a scene that the test changes. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect } from 'chai';
import type { Verb } from '../../../src/demo/verbs.ts';
import { DemoServer } from '../../../src/web/server.ts';
import { untilValue } from '../../support/poll.ts';
import { sceneOf } from '../demo/scenes.ts';

interface Asked {
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

describe("the demo's page server", () => {
  const acts: (readonly [Verb, number])[] = [];
  let scene = sceneOf();
  let onChange: () => void = () => undefined;
  let server: DemoServer;
  let url: URL;

  beforeEach(async () => {
    acts.length = 0;
    server = new DemoServer({
      scene: () => scene,
      subscribe: (listener) => {
        onChange = listener;
        return () => undefined;
      },
      act: async (verb, id) => {
        acts.push([verb, id]);
        return 'done';
      },
      skip: async () => 'skipped',
    });
    url = new URL(await server.start({ host: '127.0.0.1', port: 0 }));
  });

  afterEach(() => server.stop());

  async function open({
    path = '/',
    method = 'GET',
    headers = {},
    body,
  }: Asked): Promise<IncomingMessage> {
    const request = httpRequest({
      host: '127.0.0.1',
      port: url.port,
      path,
      method,
      headers,
      agent: false,
    });
    request.end(body);
    const [response] = await once(request, 'response');
    return response;
  }

  async function ask(asked: Asked) {
    const response = await open(asked);
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    return { status: response.statusCode, headers: response.headers, text };
  }

  async function token(): Promise<string> {
    return /name="herald-token" content="([0-9a-f]{32})"/.exec((await ask({})).text)?.[1] ?? '';
  }

  it('serves one document whose style and script are allowed by hash, and nothing else is', async () => {
    const { status, headers, text } = await ask({});
    expect(status).to.equal(200);
    const policy = String(headers['content-security-policy']);
    expect(policy)
      .to.match(/^default-src 'none'/)
      .and.not.include('unsafe');
    const inside = (tag: string) =>
      new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`).exec(text)?.[1] ?? '';
    for (const tag of ['style', 'script']) {
      expect(inside(tag).length, tag).to.be.greaterThan(1000);
      const hash = createHash('sha256').update(inside(tag)).digest('base64');
      expect(policy).to.include(`${tag}-src 'sha256-${hash}'`);
    }
    expect(text).not.to.match(/(src|href)="?https?:/);
  });

  it('has another token in each run', async () => {
    const first = await token();
    await server.stop();
    server = new DemoServer({
      scene: () => scene,
      subscribe: () => () => undefined,
      act: async () => '',
      skip: async () => '',
    });
    url = new URL(await server.start({ host: '127.0.0.1', port: 0 }));
    expect(first).to.have.length(32);
    expect(await token()).not.to.equal(first);
  });

  it('acts for who has the token', async () => {
    const headers = { 'x-herald-token': await token() };
    const body = JSON.stringify({ verb: 'freeze', node: 2 });
    const { status, text } = await ask({ path: '/act', method: 'POST', headers, body });
    expect([status, JSON.parse(text)]).to.deep.equal([200, { sentence: 'done' }]);
    expect(acts).to.deep.equal([['freeze', 2]]);
    const skip = { path: '/act', method: 'POST', headers, body: '{"verb":"skip"}' };
    expect(JSON.parse((await ask(skip)).text)).to.deep.equal({ sentence: 'skipped' });
  });

  it('does not act without the token, for another Host, or on what is no verb', async () => {
    const body = JSON.stringify({ verb: 'kill', node: 1 });
    const right = { 'x-herald-token': await token() };
    const post = { path: '/act', method: 'POST' };
    expect((await ask({ ...post, body })).status).to.equal(403);
    expect(
      (await ask({ ...post, body, headers: { 'x-herald-token': 'f'.repeat(32) } })).status,
    ).to.equal(403);
    expect(
      (await ask({ ...post, body, headers: { ...right, host: 'attacker.example' } })).status,
    ).to.equal(421);
    for (const wrong of [
      '{"verb":"reboot","node":1}',
      '{"verb":"kill"}',
      'null',
      '{',
      'x'.repeat(5000),
    ]) {
      expect(
        (await ask({ ...post, body: wrong, headers: right })).status,
        wrong.slice(0, 30),
      ).to.equal(400);
    }
    expect((await ask({ path: '/act', headers: right })).status).to.equal(404);
    expect(acts).to.deep.equal([]);
  });

  it('sends the scene at once, again when it has changed, and says goodbye', async () => {
    const response = await open({ path: '/events' });
    let text = '';
    response.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    await untilValue(
      'a first scene',
      () => text,
      (seen) => seen.includes('"step":0'),
    );
    scene = sceneOf({ step: 5 });
    onChange();
    await untilValue(
      'the next scene',
      () => text,
      (seen) => seen.includes('"step":5'),
    );
    const ended = once(response, 'end');
    await server.stop();
    await ended;
    expect(text).to.match(/event: bye\ndata: \{\}\n\n$/);
    scene = sceneOf();
  });
});
