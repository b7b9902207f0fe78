/** Can a TCP connection be made? Nothing is sent, and it is closed at once. */

import { connect, type Socket } from 'node:net';
import { formatTarget } from './parse-target.ts';
import { type Ask, fail, pass, runBounded, type TargetOf } from './probe-bounds.ts';
import { describeSocketError } from './probe-failure.ts';

export function probeTcp(target: TargetOf<'tcp'>, ask: Ask): void {
  const name = formatTarget(target);
  runBounded(ask, (finish) => {
    const socket = connect({ host: target.host, port: target.port });
    socket.on('error', (error) => finish(fail(`${name} ${describeSocketError(error)}`)));
    socket.on('connect', () => {
      if (isSelf(socket)) finish(fail(`${name} refused the connection`));
      else finish(pass(`${name} accepted a connection`));
    });
    return {
      release: () => socket.destroy(),
      late: () => `${name} did not accept a connection`,
    };
  });
}

/** Where nobody listens, a connection from a random port to that very port of this machine reaches itself (simultaneous open). */
function isSelf(socket: Socket): boolean {
  return (
    socket.localPort === socket.remotePort &&
    socket.localAddress !== undefined &&
    socket.localAddress === socket.remoteAddress
  );
}
