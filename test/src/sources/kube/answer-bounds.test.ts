/** Answers without an end, in the place of an API server's: none is read for longer than it takes to see what it is. */

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import type { WatchEnd } from '../../../../src/sources/kube/api.ts';
import { type ClosableKubeApi, createKubeApi } from '../../../../src/sources/kube/api-client.ts';
import { IP_CLAIMS } from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const HEAD = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
const MAX_OCTETS = 4 * 1024 * 1024;

describe('an answer of an API server', () => {
  let server: Server;
  let api: ClosableKubeApi;
  const sockets = new Set<Socket>();

  async function answersWith(head: string, piece: string): Promise<void> {
    const text = piece.repeat(10_000);
    server = createServer((socket) => {
      sockets.add(socket);
      const more = () => {
        while (socket.writable && socket.write(text));
      };
      socket.on('error', () => undefined).on('drain', more);
      socket.once('data', () => {
        socket.write(head);
        more();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const access = {
      servers: [new URL(`http://127.0.0.1:${port}`)],
      origin: 'a test',
      credentials: async () => ({ headers: {}, tls: {} }),
      renew: () => undefined,
      identity: { marks: [] },
    };
    const clock = new ManualClock();
    api = createKubeApi(access, { clock, log: SILENT_LOG, maxOctets: MAX_OCTETS });
  }

  afterEach(async () => {
    api.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  const listed = () => api.list(IP_CLAIMS).then(() => 'an answer', String);
  const watched = (): Promise<WatchEnd> =>
    api.watch(IP_CLAIMS, {
      resourceVersion: '1',
      timeoutSeconds: 300,
      signal: new AbortController().signal,
      onEvent: () => undefined,
    });

  it('in chunks of an octet is given up', async () => {
    await answersWith(HEAD, '1\r\na\r\n');
    expect(await listed()).to.include('chunks of a few octets');
  });

  it('in chunks of an octet is given up, of a watch too', async () => {
    await answersWith(HEAD, '1\r\n\n\r\n');
    const end = await watched();
    expect(end.kind === 'failed' && String(end.error)).to.include('chunks of a few octets');
  });

  it('behind interim answers without an end is given up', async () => {
    await answersWith('', 'HTTP/1.1 100 Continue\r\n\r\n');
    expect(await listed()).to.include('interim answers do not end');
  });

  it('that is longer than what can be held is given up', async () => {
    await answersWith('HTTP/1.1 200 OK\r\n\r\n', 'a');
    expect(await listed()).to.include(`longer than ${MAX_OCTETS} octets`);
  });
});
