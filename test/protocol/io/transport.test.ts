/** TCP on the loopback and the in-memory network, with a manual and a real clock, run the same suite. */

import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { MemoryNetwork } from '../../../protocol/io/memory-transport.ts';
import { nodeClock } from '../../../protocol/io/node-clock.ts';
import { NodeTcpTransport } from '../../../protocol/io/node-tcp.ts';
import type { Connection, Listener, Transport } from '../../../protocol/io/transport.ts';
import type { Address } from '../../../protocol/net/address.ts';
import { parseAddress } from '../../../protocol/net/address-text.ts';
import { describeTransport, type TransportWorld } from '../../compliance/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`not an address: ${text}`);
  return parsed;
}

const patientMs = 20_000;
/** Whoever closes has this long to get rid of what was written: a busy machine must not make it too short. */
const closeTimeoutMs = 500;

async function untilReal(what: string, holds: () => boolean): Promise<void> {
  const end = performance.now() + patientMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`not within ${patientMs} ms: ${what}`);
    await delay(1);
  }
}

/**
 * Some milliseconds, each of them with a turn in which sockets and timers are heard: of one long delay nothing may be left when the machine gives this process
 * its turn, and it would be over before any of them.
 */
async function settleReal(): Promise<void> {
  for (let passedMs = 0; passedMs < 12; passedMs += 1) {
    await delay(1);
    await turn();
  }
}

function tcpWorld(serverText: string, clientText: string): TransportWorld {
  const transport = new NodeTcpTransport({ closeTimeoutMs });
  const serverAddress = address(serverText);
  const clientAddress = address(clientText);
  const open: Listener[] = [];
  const connections: Connection[] = [];
  // the same transport, remembering what has to be closed: an open socket would hold the process up
  const tracked: Transport = {
    dial: (options, handlers) => {
      const connection = transport.dial(options, handlers);
      connections.push(connection);
      return connection;
    },
    listen: async (options, onAccept) => {
      const listener = await transport.listen(options, (connection) => {
        connections.push(connection);
        return onAccept(connection);
      });
      open.push(listener);
      return listener;
    },
  };
  return {
    server: tracked,
    client: tracked,
    serverAddress,
    clientAddress,
    foreignAddress: address(serverAddress.family === 'ipv4' ? '198.51.100.1' : '2001:db8::1'),
    windowLimitBytes: 40_000_000,
    // a listener that wants a signature: the kernel drops every SYN without one
    blackHole: async () => {
      const listener = await transport.listen({ port: 0, address: serverAddress }, () => undefined);
      open.push(listener);
      for (const client of [serverAddress, clientAddress])
        listener.setPeerOptions(client, { password: 'never told' });
      return { address: serverAddress, port: listener.local.port };
    },
    now: () => performance.now(),
    until: untilReal,
    settle: settleReal,
    stop: async () => {
      for (const connection of connections) connection.abort();
      for (const listener of open) await listener.close();
    },
  };
}

function memoryWorld(settings: { latencyMs: number; seed?: number }): TransportWorld {
  const clock = new ManualClock();
  const { latencyMs, seed } = settings;
  const network = new MemoryNetwork({
    clock,
    latencyMs,
    windowBytes: 100_000,
    ...(seed === undefined ? {} : { random: new SeededRandom(seed) }),
  });
  const serverAddress = address('192.0.2.1');
  const clientAddress = address('192.0.2.2');
  const hole = address('192.0.2.3');
  network.host(hole);
  network.setDialFault(hole, 'black-hole');
  return {
    server: network.host(serverAddress),
    client: network.host(clientAddress),
    serverAddress,
    clientAddress,
    foreignAddress: address('198.51.100.1'),
    windowLimitBytes: 400_000,
    blackHole: async () => ({ address: hole, port: 179 }),
    now: () => clock.now(),
    until: async (what, holds) => {
      for (let step = 0; !holds(); step += 1) {
        if (step > 20_000) throw new Error(`not within 20 s of its own time: ${what}`);
        clock.advance(1);
      }
    },
    settle: async () => clock.advance(1_000),
    stop: async () => {
      clock.advance(120_000);
      if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers are left`);
    },
  };
}

function memoryWorldInRealTime(): TransportWorld {
  const world = memoryWorld({ latencyMs: 0 });
  const network = new MemoryNetwork({ clock: nodeClock, latencyMs: 1, closeTimeoutMs });
  const hole = address('192.0.2.3');
  network.host(hole);
  network.setDialFault(hole, 'black-hole');
  return {
    ...world,
    server: network.host(world.serverAddress),
    client: network.host(world.clientAddress),
    now: () => performance.now(),
    until: untilReal,
    settle: settleReal,
    stop: async () => undefined,
  };
}

describeTransport('TCP over IPv4', () => tcpWorld('127.0.0.1', '127.0.0.9'));
describeTransport('TCP over IPv6', () => tcpWorld('::1', '::1'));
describeTransport('in memory, no latency', () => memoryWorld({ latencyMs: 0 }));
describeTransport('in memory, 20 ms, chunks split and merged', () =>
  memoryWorld({ latencyMs: 20, seed: 42 }),
);
describeTransport('in memory, real time', memoryWorldInRealTime);
