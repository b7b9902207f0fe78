/** The API over HTTP/2, many watches on few connections: for a process that plays hundreds of clients. As admin; no retries. */

import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import type { Access } from '../../../tools/cluster/kubeconfig.ts';
import { field, text } from '../../interop/routers/json.ts';

/** the API server allows 100 streams per connection */
const MOST_STREAMS = 90;

export class MultiplexedApi {
  readonly #access: Access;
  readonly #calls: ClientHttp2Session;
  #watches: ClientHttp2Session | undefined;
  #opened = 0;
  #version: Promise<string> | undefined;

  constructor(access: Access) {
    this.#access = access;
    this.#calls = this.#connect();
  }

  async call(method: string, path: string, body?: object): Promise<unknown> {
    const stream = this.#calls.request({
      ':method': method,
      ':path': path,
      accept: 'application/json',
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    });
    stream.end(body === undefined ? undefined : JSON.stringify(body));
    const status = await statusOf(stream);
    const answer = await allOf(stream);
    if (status >= 400) throw new Error(`${method} ${path}: ${status} ${answer}`);
    return JSON.parse(answer);
  }

  /** Of a collection, asked once: where all watches begin. */
  resourceVersion(path: string): Promise<string> {
    this.#version ??= this.call('GET', `${path}?limit=1`).then((list) =>
      text(field(list, 'metadata', 'resourceVersion')),
    );
    return this.#version;
  }

  /** Resolves when it is open; ends with the process. */
  async watch(path: string, onEvent: (event: unknown) => void): Promise<void> {
    if (this.#watches === undefined || this.#opened % MOST_STREAMS === 0) {
      this.#watches = this.#connect();
    }
    this.#opened += 1;
    const stream = this.#watches.request({ ':path': path, accept: 'application/json' });
    stream.setEncoding('utf8');
    let rest = '';
    stream.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') onEvent(JSON.parse(line));
    });
    const status = await statusOf(stream);
    if (status !== 200) throw new Error(`watch ${path}: ${status}`);
  }

  #connect(): ClientHttp2Session {
    const { server, ca, credentials } = this.#access;
    if (credentials.kind !== 'certificate') throw new Error('it wants a certificate');
    const { cert, key } = credentials;
    return connect(server, { ca, cert, key });
  }
}

function statusOf(stream: ClientHttp2Stream): Promise<number> {
  return new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve(Number(headers[':status'])));
    stream.once('error', reject);
  });
}

async function allOf(stream: ClientHttp2Stream): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
