/** Can a TCP connection be made? Nothing is sent, and it is closed at once. */

import { connect, isIP, type Socket } from 'node:net';
import { nameLookups } from '../names/name-lookups.ts';
import { formatTarget } from './parse-target.ts';
import { type Ask, fail, pass, runBounded, type TargetOf } from './probe-bounds.ts';
import { describeSocketError, NO_ADDRESS, NO_CONNECTION } from './probe-failure.ts';

export function probeTcp(target: TargetOf<'tcp'>, ask: Ask): void {
  const name = formatTarget(target);
  runBounded(ask, (finish) => {
    const socket = connect({
      host: target.host,
      port: target.port,
      lookup: nameLookups.lookup,
    });
    socket.on('error', (error) => finish(fail(`${name} ${describeSocketError(error)}`)));
    socket.on('connect', () => {
      if (isSelf(socket)) finish(fail(`${name} refused the connection`));
      else finish(pass(`${name} accepted a connection`));
    });
    let awaited = isIP(target.host) === 0 ? NO_ADDRESS : NO_CONNECTION;
    socket.once('lookup', () => {
      awaited = NO_CONNECTION;
    });
    return { release: () => socket.destroy(), late: () => `${name} ${awaited}` };
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
