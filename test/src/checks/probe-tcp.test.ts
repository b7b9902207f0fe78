import { createServer } from 'node:net';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { probe, Servers } from './probing.ts';

describe('probeTcp', () => {
  const servers = new Servers();
  after(() => servers.close());

  it('passes where something accepts, by IPv4, IPv6 and name, and closes the connection', async () => {
    const received: string[] = [];
    const echo = () =>
      createServer((socket) => socket.on('data', (data) => received.push(`${data}`)));
    const port4 = await servers.listen(echo());
    const port6 = await servers.listen(echo(), '::1');
    for (const [host, port, name] of [
      ['127.0.0.1', port4, `tcp://127.0.0.1:${port4}`],
      ['localhost', port4, `tcp://localhost:${port4}`],
      ['::1', port6, `tcp://[::1]:${port6}`],
    ] as const) {
      expect(await probe({ kind: 'tcp', host, port })).to.include({
        kind: 'pass',
        sentence: `${name} accepted a connection`,
      });
    }
    await untilValue(
      'all sockets closed',
      () => servers.sockets.size,
      (size) => size === 0,
    );
    expect(received).to.deep.equal([]);
  });

  it('fails where nobody listens', async () => {
    const port = 1;
    expect(await probe({ kind: 'tcp', host: '127.0.0.1', port })).to.include({
      kind: 'fail',
      sentence: 'tcp://127.0.0.1:1 refused the connection',
    });
  });
});
