/** The faults of the in-memory network, step by step on a manual clock. What it shares with TCP is in the compliance suite. */

import { expect } from 'chai';
import fc from 'fast-check';
import { MemoryNetwork, type MemoryNetworkOptions } from '../../../protocol/io/memory-transport.ts';
import type { Connection, Listener } from '../../../protocol/io/transport.ts';
import { ipv4Address } from '../../../protocol/net/address.ts';
import { dial, Recorder } from '../../compliance/transport.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { SeededRandom } from '../../support/seeded-random.ts';

const a = ipv4Address(0x0a000001);
const b = ipv4Address(0x0a000002);
const nobody = ipv4Address(0x0a000063);

interface Pair {
  readonly clock: ManualClock;
  readonly network: MemoryNetwork;
  readonly listener: Listener;
  readonly dialled: Connection;
  readonly accepted: Connection;
  readonly near: Recorder;
  readonly far: Recorder;
}

async function pair(options: Partial<MemoryNetworkOptions> = {}): Promise<Pair> {
  const clock = new ManualClock();
  const network = new MemoryNetwork({ clock, latencyMs: 10, ...options });
  const far = new Recorder();
  const ends: Connection[] = [];
  const listener = await network.host(b).listen({ port: 179 }, (connection) => {
    ends.push(connection);
    return far;
  });
  const remote = { address: b, port: 179 };
  const dialling = dial(network.host(a), { remote, connectTimeoutMs: 1_000 });
  clock.advance(50);
  const [accepted] = ends;
  if (accepted === undefined) throw new Error('not accepted');
  const { connection: dialled, recorder: near } = dialling;
  return { clock, network, listener, dialled, accepted, near, far };
}

describe('the in-memory network', () => {
  it('takes one round trip to open and one latency to carry bytes', async () => {
    const clock = new ManualClock();
    const network = new MemoryNetwork({ clock, latencyMs: 10 });
    const far = new Recorder();
    await network.host(b).listen({ port: 179 }, () => far);
    const remote = { address: b, port: 179 };
    const { connection, recorder } = dial(network.host(a), { remote, connectTimeoutMs: 1_000 });
    clock.advance(19);
    expect(recorder.events).to.deep.equal([]);
    clock.advance(1);
    expect(recorder.events).to.deep.equal(['open']);
    connection.write(Uint8Array.of(1));
    clock.advance(9);
    expect(far.receivedBytes).to.equal(0);
    clock.advance(1);
    expect(far.receivedBytes).to.equal(1);
  });

  it('freezes one direction: silence there, the other still carries, nothing is lost', async () => {
    const { clock, network, dialled, accepted, near, far } = await pair();
    network.freeze(a, b);
    dialled.write(new Uint8Array(100).fill(7));
    accepted.write(new Uint8Array(50));
    clock.advance(60_000);
    expect(far.receivedBytes).to.equal(0);
    expect(near.receivedBytes).to.equal(50);
    expect(near.closes + far.closes).to.equal(0);
    network.thaw(a, b);
    clock.advance(10);
    expect(far.received).to.deep.equal(new Uint8Array(100).fill(7));
  });

  it('stops the writer of the free direction too when its acknowledgements are frozen', async () => {
    const { clock, network, accepted, near } = await pair({ windowBytes: 1_000 });
    network.freeze(a, b);
    accepted.write(new Uint8Array(5_000));
    clock.advance(60_000);
    expect(near.receivedBytes).to.equal(1_000);
    expect(accepted.bufferedBytes).to.equal(4_000);
    network.thaw(a, b);
    clock.advance(1_000);
    expect(near.receivedBytes).to.equal(5_000);
  });

  it('keeps a FIN and a reset from a frozen side to itself until it thaws', async () => {
    for (const end of ['close', 'abort'] as const) {
      const { clock, network, dialled, near, far } = await pair({ closeTimeoutMs: 3_000 });
      network.freeze(a, b);
      dialled[end]();
      clock.advance(5_000);
      expect(near.closes, 'bounded, although nobody answers').to.equal(1);
      expect(far.closes).to.equal(0);
      network.thaw(a, b);
      clock.advance(100);
      expect(far.closes).to.equal(1);
      expect(network.connectionCount).to.equal(0);
      expect(clock.pendingTimers).to.equal(0);
    }
  });

  it('resets every connection between two addresses, at both ends', async () => {
    const { clock, network, near, far } = await pair();
    expect(network.resetConnections(nobody, b)).to.equal(0);
    expect(network.resetConnections(b, a)).to.equal(1);
    expect(near.closes).to.equal(0);
    clock.advance(0);
    expect([near.error?.code, far.error?.code]).to.deep.equal(['RESET', 'RESET']);
    expect([near.closes, far.closes]).to.deep.equal([1, 1]);
    expect(network.connectionCount).to.equal(0);
    expect(clock.pendingTimers).to.equal(0);
  });

  it('refuses, swallows and lets through dials as it is told, and stands by its connections', async () => {
    const { clock, network, near } = await pair();
    const client = network.host(ipv4Address(0x0a000003));
    const remote = { address: b, port: 179 };
    const outcome = () => {
      const { recorder } = dial(client, { remote, connectTimeoutMs: 500 });
      clock.advance(1_000);
      return recorder.error?.code ?? recorder.events.join();
    };
    network.setDialFault(b, 'refuse');
    expect(outcome()).to.equal('REFUSED');
    network.setDialFault(b, 'black-hole');
    expect(outcome()).to.equal('TIMEOUT');
    network.setDialFault(b, undefined);
    expect(outcome()).to.equal('open');
    expect(near.closes).to.equal(0);
    const lost = dial(client, { remote: { address: nobody, port: 179 }, connectTimeoutMs: 500 });
    clock.advance(100);
    expect(lost.recorder.error?.code).to.equal('UNREACHABLE');
  });

  it('answers only the right password, like a kernel with TCP-MD5', async () => {
    const { clock, network, listener } = await pair();
    const client = network.host(ipv4Address(0x0a000003));
    const outcome = (password?: string) => {
      const { recorder } = dial(client, {
        remote: { address: b, port: 179 },
        connectTimeoutMs: 500,
        ...(password === undefined ? {} : { password }),
      });
      clock.advance(1_000);
      return recorder.error?.code ?? recorder.events.join();
    };
    listener.setPeerOptions(ipv4Address(0x0a000003), { password: 'right' });
    expect([outcome('right'), outcome('wrong'), outcome()]).to.deep.equal([
      'open',
      'TIMEOUT',
      'TIMEOUT',
    ]);
    listener.clearPeerOptions(ipv4Address(0x0a000003));
    expect([outcome('right'), outcome()]).to.deep.equal(['TIMEOUT', 'open']);
  });

  it('spoils what a receiver keeps without copying', async () => {
    const { clock, accepted, near } = await pair();
    const kept: Uint8Array[] = [];
    near.onData = (bytes) => void kept.push(bytes);
    accepted.write(Uint8Array.of(1, 2, 3));
    clock.advance(10);
    expect(kept).to.deep.equal([Uint8Array.of(0xdd, 0xdd, 0xdd)]);
  });

  it('keeps bytes, order and window under any sizes, pauses and seed, and repeats with its seed', async () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('write' as const), size: fc.integer({ min: 0, max: 3_000 }) }),
      fc.record({ kind: fc.constantFrom('pause' as const, 'resume' as const) }),
      fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 40 }) }),
    );
    const run = async (steps: readonly Steps[], seed: number) => {
      const windowBytes = 2_000;
      const world = await pair({ windowBytes, random: new SeededRandom(seed) });
      const { clock, dialled, accepted, far } = world;
      const sizes: number[] = [];
      const sent: number[] = [];
      far.onEvent = () => sizes.push(far.receivedBytes);
      for (const each of steps) {
        if (each.kind === 'write') {
          const chunk = Uint8Array.from({ length: each.size }, (_, at) => sent.length + at);
          sent.push(...chunk);
          dialled.write(chunk);
        } else otherStep(each, world);
        // what has left the queue and was not read fits the window
        expect(sent.length - dialled.bufferedBytes - far.receivedBytes).to.be.at.most(windowBytes);
      }
      accepted.resumeReading();
      dialled.close();
      clock.advance(30_000);
      expect(Buffer.compare(far.received, Uint8Array.from(sent))).to.equal(0);
      expect([far.closes, clock.pendingTimers]).to.deep.equal([1, 0]);
      return sizes;
    };
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.integer(), async (steps, seed) => {
        expect(await run(steps, seed)).to.deep.equal(await run(steps, seed));
      }),
      { numRuns: 30 },
    );
  });
});

function otherStep(step: Steps, { clock, accepted }: Pair): void {
  if (step.kind === 'wait') clock.advance(step.ms);
  if (step.kind === 'pause') accepted.pauseReading();
  if (step.kind === 'resume') accepted.resumeReading();
}

type Steps =
  | { readonly kind: 'write'; readonly size: number }
  | { readonly kind: 'pause' | 'resume' }
  | { readonly kind: 'wait'; readonly ms: number };
