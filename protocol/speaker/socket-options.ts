/** From settings to what the socket needs. Pure. */

import type { DialOptions, SocketOptions } from '../io/transport.ts';
import { type PeerSettings, peerPort } from './settings.ts';

const DEAD_AFTER_MS = 60_000;
const PROBE_AFTER_SECONDS = 20;

/**
 * With a hold time the session watches itself, and TCP_USER_TIMEOUT would cut a neighbour that merely closed its window for
 * a while (the kernel counts zero-window probes too). Without one (hold time 0) only the kernel can notice a dead neighbour.
 */
export function socketOptions(settings: PeerSettings): SocketOptions {
  const isUnwatched = settings.timers?.holdSeconds === 0;
  return {
    ...(settings.password === undefined ? {} : { password: settings.password }),
    ...(settings.ttl === undefined ? {} : { ttl: settings.ttl }),
    ...(isUnwatched ? { userTimeoutMs: DEAD_AFTER_MS, keepAliveSeconds: PROBE_AFTER_SECONDS } : {}),
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
