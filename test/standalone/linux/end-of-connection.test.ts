/**
 * What the kernel says of the last octets of a connection, whose packets a rule of the packet filter
 * loses: the FIN alone, or all that was written. A router that closes as soon as it has read a
 * NOTIFICATION answers before our FIN has reached it.
 */

import { createServer, type Server } from 'node:net';
import { expect } from 'chai';
import { NodeTcpTransport } from '../../../protocol/io/node-tcp.ts';
import type { Connection } from '../../../protocol/io/transport.ts';
import { ipv4 } from '../../../protocol/net/literal.ts';
import { skipWithoutLab } from '../../interop/require-lab.ts';
import { untilValue } from '../../support/poll.ts';
import { run } from '../../support/process.ts';

const TABLE = `herald_end_${process.pid}`;
const MESSAGE = new Uint8Array(21).fill(7);

describe('the end of a connection in the kernel', function () {
  this.timeout(60_000);
  let server: Server;
  let port = 0;

  before(async function () {
    skipWithoutLab(this, []);
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => socket.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const bound = server.address();
    port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  });

  afterEach(() => run('nft', ['delete', 'table', 'inet', TABLE], { anyStatus: true }));

  after(() => server?.close());

  async function lose(what: string): Promise<void> {
    const chain = `type filter hook output priority 0\ntcp dport ${port} ${what} drop`;
    const input = `table inet ${TABLE} {\nchain output {\n${chain}\n}\n}\n`;
    await run('nft', ['-f', '-'], { input });
  }

  /** once both ends of the handshake are there */
  async function dial(): Promise<{ connection: Connection; closed: () => boolean }> {
    let isOpen = false;
    let isClosed = false;
    const transport = new NodeTcpTransport({ closeTimeoutMs: 1000 });
    const connection = transport.dial(
      { remote: { address: ipv4('127.0.0.1'), port }, connectTimeoutMs: 5000 },
      {
        onOpen: () => {
          isOpen = true;
        },
        onData: () => undefined,
        onProgress: () => undefined,
        onDrain: () => undefined,
        onClose: () => {
          isClosed = true;
        },
      },
    );
    await untilValue('it is open', () => isOpen, Boolean);
    return { connection, closed: () => isClosed };
  }

  it('says that what was written has arrived, though our FIN has not', async () => {
    const { connection, closed } = await dial();
    await lose('tcp flags & fin == fin');
    connection.write(MESSAGE);
    connection.close();
    await untilValue('it is closed', closed, Boolean);
    expect(connection.isAcknowledged).to.equal(true);
  });

  it('says that it has not where it was lost', async () => {
    const { connection, closed } = await dial();
    await lose('tcp flags & ack == ack');
    connection.write(MESSAGE);
    connection.close();
    await untilValue('it is closed', closed, Boolean);
    expect(connection.isAcknowledged).to.equal(false);
  });
});
