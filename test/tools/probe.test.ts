/** The clients of tools/probe, and what their logs say. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { Holding, Probing } from '../../lab/scenarios/client.ts';
import { eventually } from '../../lab/scenarios/poll.ts';
import { parseHeld } from '../../tools/probe/hold-log.ts';
import { analyse } from '../../tools/probe/probe-log.ts';

describe('the log of probes', () => {
  it('may be as long as one likes', () => {
    const probes = Array.from({ length: 200_000 }, (_, index) => ({
      sentMs: index * 2,
      latencyMs: 1,
      who: 'm1',
    }));
    expect(analyse(probes, 0, 400_000, 2).longestGapMs).to.equal(2);
  });
});

describe('the log of held connections', () => {
  it('says nothing before all were tried', () => {
    expect(parseHeld('')).to.equal(undefined);
    expect(parseHeld('open 10')).to.equal(undefined);
  });

  it('counts those that were cut, by reason, whole lines only', () => {
    const text = 'open 10\ncut 5.000 reset\ncut 6.000 closed\ncut 7.000 reset\ncut 8.0';
    expect(parseHeld(text)).to.deep.equal({ open: 10, cut: 3, reasons: { reset: 2, closed: 1 } });
  });
});

function addressOf(server: Server): { readonly address: string; readonly port: number } {
  const told = server.address();
  if (typeof told !== 'object' || told === null) throw new Error('the server does not listen');
  return { address: told.address, port: told.port };
}

describe('a client', function () {
  this.timeout(120_000);
  const sockets: Socket[] = [];
  const server = createServer((_, answer) => answer.setHeader('X-Node', 'm1').end('hello\n'));
  server.on('connection', (socket) => sockets.push(socket));

  before((done) => {
    server.listen(0, '127.0.0.1', done);
  });

  after((done) => {
    server.closeAllConnections();
    server.close(done);
  });

  const target = () => addressOf(server);

  it('tells which of the connections that it holds were cut, and by what', async () => {
    sockets.length = 0;
    const holding = new Holding([], { ...target(), connections: 5, everyMs: 10 });
    try {
      await holding.isUnderWay();
      expect(holding.read()).to.deep.equal({ open: 5, cut: 0, reasons: {} });
      const [first, second, third] = sockets;
      first?.resetAndDestroy();
      second?.resetAndDestroy();
      third?.end();
      await eventually(
        'three are cut',
        async () => holding.read(),
        (found) => (found?.cut === 3 ? undefined : JSON.stringify(found)),
      );
      expect(await holding.stop()).to.deep.equal({
        open: 5,
        cut: 3,
        reasons: { reset: 2, closed: 1 },
      });
    } finally {
      await holding.end();
    }
  });

  it('sees no outage where there is none', async () => {
    const probing = new Probing([], { ...target(), everyMs: 5, seconds: 20 });
    try {
      await probing.isUnderWay();
      await eventually(
        'fifty are answered',
        async () => probing.read().length,
        (found) => (found > 50 ? undefined : `${found} are`),
      );
      const outage = await probing.stop();
      expect(outage.lost + outage.resets).to.equal(0);
      expect(outage.answeredBy).to.have.all.keys('m1');
    } finally {
      await probing.end();
    }
  });

  it('ends what was answered, itself and in order: a reset would be remembered on the way', async () => {
    const ends: string[] = [];
    const answer = 'HTTP/1.1 200 OK\r\nX-Node: m1\r\nContent-Length: 0\r\n\r\n';
    // ends nothing by itself: whoever ends first waits for the port to be free again
    const patient = createTcpServer((socket) => {
      socket.once('data', () => socket.write(answer));
      socket.on('end', () => ends.push('in order'));
      socket.on('error', ({ message }) => ends.push(message));
    });
    await once(patient.listen(0, '127.0.0.1'), 'listening');
    const probing = new Probing([], { ...addressOf(patient), everyMs: 5, seconds: 20 });
    try {
      await eventually(
        'fifty have ended',
        async () => ends.length,
        (found) => (found > 50 ? undefined : `${found} have`),
      );
    } finally {
      await probing.end();
      patient.close();
    }
    expect(new Set(ends)).to.deep.equal(new Set(['in order']));
  });
});
