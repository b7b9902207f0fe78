/** From settings to what the socket needs. Pure. */

import type { DialOptions, SocketOptions } from '../io/transport.ts';
import { type PeerSettings, peerPort } from './settings.ts';

const DEAD_AFTER_MS = 60_000;
const PROBE_AFTER_SECONDS = 20;

/**
 * Kernel keepalives cost nothing and end a session that nobody else watches: hold time 0 may also be the neighbour's wish.
 * TCP_USER_TIMEOUT is for our own hold time 0 only. With a hold time it would cut a neighbour that merely closed its window for a
 * while (the kernel counts zero-window probes too), which is for the send hold timer to judge.
 */
export function socketOptions(
  settings: Pick<PeerSettings, 'password' | 'ttl' | 'timers'>,
): SocketOptions {
  return {
    ...(settings.password === undefined ? {} : { password: settings.password }),
    ...(settings.ttl === undefined ? {} : { ttl: settings.ttl }),
    keepAliveSeconds: PROBE_AFTER_SECONDS,
    ...(settings.timers?.holdSeconds === 0 ? { userTimeoutMs: DEAD_AFTER_MS } : {}),
  };
}

/** A dial that is not answered within the connect retry time is given up, and tried anew. */
export function dialOptions(settings: PeerSettings, connectRetrySeconds: number): DialOptions {
  const { address, zone, sourceAddress, sourceInterface } = settings;
  return {
    remote: { address, port: peerPort(settings), ...(zone === undefined ? {} : { zone }) },
    ...(sourceAddress === undefined ? {} : { localAddress: sourceAddress }),
    ...(sourceInterface === undefined ? {} : { localInterface: sourceInterface }),
    connectTimeoutMs: connectRetrySeconds * 1000,
    ...socketOptions(settings),
  };
}
