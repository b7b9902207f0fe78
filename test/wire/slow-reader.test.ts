/**
 * A neighbour whose window stays closed for 20 seconds while 100,000 routes change 50 times. Our side must hold one table and not
 * a queue of messages: newer state replaces unsent state, and what the neighbour gets in the end is the newest set.
 */

import { type ChildProcess, fork } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { expectedTable, TABLE_SIZE } from '../support/churning-table.ts';
import { HostRouteTable } from '../support/host-route-table.ts';
import { NeighbourPort } from '../support/scripted-neighbour.ts';
import { KEEPALIVE, open, Type } from '../support/wire-bytes.ts';
import type { Measured, Order } from './slow-reader-subject.ts';

const CLOSED_MS = 20_000;
const CHANGES = 50;
const MEGABYTE = 1024 * 1024;
/** what the collector leaves lying about, and the octets of one write */
const SLACK_BYTES = 12 * MEGABYTE;

class Child {
  readonly #process: ChildProcess;

  constructor() {
    const script = new URL('./slow-reader-subject.ts', import.meta.url);
    this.#process = fork(script, { execArgv: ['--conditions=bgp-ts-source'] });
  }

  /** sends an order and waits for its answer */
  ask(order: Order, timeoutMs = 60_000): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${order.kind}`)), timeoutMs);
      this.#process.once('message', (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.#process.send(order);
    });
  }

  async measure(): Promise<Measured> {
    const answer = await this.ask({ kind: 'measure' });
    if (!isMeasured(answer)) throw new Error(`no measurement: ${JSON.stringify(answer)}`);
    return answer;
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }
}

function isMeasured(value: unknown): value is Measured {
  return typeof value === 'object' && value !== null && 'heapBytes' in value;
}

function difference(actual: Map<number, number>, expected: Map<number, number>): number {
  let count = 0;
  for (const [bits, med] of expected) if (actual.get(bits) !== med) count += 1;
  for (const bits of actual.keys()) if (!expected.has(bits)) count += 1;
  return count;
}

describe('a neighbour that does not read for 20 s while 100,000 routes change 50 times', () => {
  it('costs no more memory than the table, keeps its session and ends with the newest set', async function () {
    this.timeout(240_000);
    const port = await NeighbourPort.listen({ receiveBufferBytes: 256 * 1024 });
    const child = new Child();
    const table = new HostRouteTable();
    try {
      await child.ask({ kind: 'apply', port: port.port, generation: 0 });
      const neighbour = await port.accept();
      await neighbour.expectMessage(Type.open);
      neighbour.onMessage = ({ type, body }) => {
        if (type === Type.update) table.read(body);
        return type === Type.notification;
      };
      neighbour.send(open({ holdTime: 9 }), KEEPALIVE);
      neighbour.keepAlive(1000);
      const has = (generation: number) => () =>
        table.routes.size === TABLE_SIZE &&
        difference(table.routes, expectedTable(generation)) === 0;
      await neighbour.until('the first set', has(0), { timeoutMs: 60_000 });
      const settled = await child.measure();
      expect(settled).to.include({ state: 'established', pending: 0, advertised: TABLE_SIZE });
      const setBytes = table.bytes;

      neighbour.pauseReading();
      const closedAt = performance.now();
      const during: Measured[] = [];
      for (let generation = 1; generation <= CHANGES; generation += 1) {
        await child.ask({ kind: 'apply', port: port.port, generation });
        if (generation % 10 === 0) during.push(await child.measure());
        const dueMs = (CLOSED_MS / CHANGES) * generation;
        // timers of the event loop take whole milliseconds, and may be one early
        await delay(Math.ceil(Math.max(0, closedAt + dueMs - performance.now())) + 2);
      }
      expect(performance.now() - closedAt).to.be.at.least(CLOSED_MS);
      const last = during.at(-1);
      for (const measured of during) {
        expect(measured.state).to.equal('established');
        expect(measured.pending, 'the window is closed').to.be.above(1000);
        expect(measured.heapBytes).to.be.below(settled.heapBytes + SLACK_BYTES);
        expect(measured.bufferBytes).to.be.below(settled.bufferBytes + SLACK_BYTES);
      }
      const [early] = during;
      if (early === undefined || last === undefined) throw new Error('nothing was measured');
      expect(last.heapBytes - early.heapBytes, 'growth over 40 changes').to.be.below(6 * MEGABYTE);
      expect(last.rssBytes - early.rssBytes, 'growth of RSS').to.be.below(100 * MEGABYTE);

      neighbour.resumeReading();
      await neighbour.until('the newest set', has(CHANGES), { timeoutMs: 60_000 });
      const afterwards = await child.measure();
      expect(afterwards).to.include({ state: 'established', downs: 0, advertised: TABLE_SIZE });
      expect(afterwards.heapBytes - settled.heapBytes, 'afterwards').to.be.below(SLACK_BYTES);
      expect(table.endOfRibs, 'End-of-RIB only once').to.equal(1);
      const resent = table.bytes - setBytes;
      expect(resent, 'octets sent, not those of 50 sets').to.be.below((CHANGES / 3) * setBytes);
      expect(neighbour.messages.map(({ type }) => type)).to.not.include(Type.notification);
      const megabytes = (bytes: number) => `${(bytes / MEGABYTE).toFixed(1)} MB`;
      process.stdout.write(
        `      heap ${megabytes(settled.heapBytes)} settled, ${during.map(({ heapBytes }) => megabytes(heapBytes)).join(', ')} with the window closed, ${megabytes(afterwards.heapBytes)} after; RSS ${megabytes(settled.rssBytes)}, ${during.map(({ rssBytes }) => megabytes(rssBytes)).join(', ')}; sent ${megabytes(resent)}, a set is ${megabytes(setBytes)}\n`,
      );
    } finally {
      child.kill();
      await port.close();
    }
  });
});
