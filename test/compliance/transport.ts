/**
 * What every Transport must do. TCP on the loopback and the in-memory network run the same suite, so that a speaker
 * that was tested on one behaves on the other.
 */

import { expect } from 'chai';
import type {
  Connection,
  ConnectionHandlers,
  DialOptions,
  Endpoint,
  Listener,
  Transport,
  TransportError,
} from '../../protocol/io/transport.ts';
import { type Address, hostPrefix, maskPrefix } from '../../protocol/net/address.ts';
import { SeededRandom } from '../support/seeded-random.ts';

export interface TransportWorld {
  readonly server: Transport;
  readonly client: Transport;
  readonly serverAddress: Address;
  readonly clientAddress: Address;
  /** of the same family, and nobody's */
  readonly foreignAddress: Address;
  /** most that a sender may get rid of while the other side reads nothing: windows, kernel buffers */
  readonly windowLimitBytes: number;
  /** milliseconds of this world */
  now(): number;
  /** a place from which no answer ever comes */
  blackHole(): Promise<Endpoint>;
  /** lets the world run until this holds; throws when it does not in a bounded time */
  until(what: string, holds: () => boolean): Promise<void>;
  /** lets the world run so long that whatever was going to happen has happened */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** Everything a connection says, in order; what is read is kept as a copy. */
export class Recorder implements ConnectionHandlers {
  readonly events: string[] = [];
  receivedBytes = 0;
  readonly #parts: Uint8Array[] = [];
  progress = 0;
  drains = 0;
  error: TransportError | undefined;
  isInsideCall = false;
  onEvent: (event: string) => void = () => undefined;

  #say(event: string): void {
    if (this.isInsideCall) throw new Error(`${event} from inside the call that caused it`);
    this.events.push(event);
    this.onEvent(event);
  }

  onOpen(): void {
    this.#say('open');
  }

  onData(bytes: Uint8Array): void {
    this.#parts.push(bytes.slice());
    this.receivedBytes += bytes.length;
    if (bytes.constructor !== Uint8Array) throw new Error('not a plain Uint8Array');
    this.#say('data');
  }

  onProgress(): void {
    this.progress += 1;
    this.#say('progress');
  }

  onDrain(): void {
    this.drains += 1;
    this.#say('drain');
  }

  onClose(error?: TransportError): void {
    this.error = error;
    this.#say('close');
  }

  get received(): Uint8Array {
    return concat(this.#parts);
  }

  get closes(): number {
    return this.events.filter((event) => event === 'close').length;
  }
}

interface Both {
  readonly listener: Listener;
  readonly dialled: Connection;
  readonly accepted: Connection;
  readonly near: Recorder;
  readonly far: Recorder;
}

/** for a dial that is answered: a busy machine may take a while to tell of it */
const patientMs = 10_000;
/** for one that no answer may come to */
const swallowedMs = 80;

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
const bytes = (value: string) => new TextEncoder().encode(value);

/** a dial with handlers that check that nothing is said from inside */
export function dial(
  transport: Transport,
  options: DialOptions,
): { connection: Connection; recorder: Recorder } {
  const recorder = new Recorder();
  recorder.isInsideCall = true;
  const connection = transport.dial(options, recorder);
  recorder.isInsideCall = false;
  return { connection, recorder };
}

function inside(recorder: Recorder, call: () => void): void {
  recorder.isInsideCall = true;
  call();
  recorder.isInsideCall = false;
}

export async function connect(world: TransportWorld): Promise<Both> {
  const far = new Recorder();
  const found: { accepted?: Connection } = {};
  const listener = await world.server.listen(
    { port: 0, address: world.serverAddress },
    (connection) => {
      found.accepted = connection;
      return far;
    },
  );
  const remote = { address: world.serverAddress, port: listener.local.port };
  const { connection: dialled, recorder: near } = dial(world.client, {
    remote,
    localAddress: world.clientAddress,
    connectTimeoutMs: patientMs,
  });
  await world.until('both ends are up', () => near.events.length > 0 && 'accepted' in found);
  const { accepted } = found;
  if (accepted === undefined) throw new Error('not accepted');
  return { listener, dialled, accepted, near, far };
}

/** Writes until the connection says stop and does not say go on. Returns what was written. */
async function fill(world: TransportWorld, both: Both): Promise<Uint8Array[]> {
  const written: Uint8Array[] = [];
  const random = new SeededRandom(7);
  let hasRoom = true;
  let total = 0;
  const pump = () => {
    while (hasRoom && total <= world.windowLimitBytes * 2) {
      const chunk = new Uint8Array(1 + random.below(16_384)).fill(written.length);
      written.push(chunk);
      total += chunk.length;
      hasRoom = both.dialled.write(chunk);
    }
  };
  both.near.onEvent = (event) => {
    if (event === 'drain') {
      hasRoom = true;
      pump();
    }
  };
  pump();
  let before = -1;
  while (before !== total) {
    before = total;
    await world.settle();
  }
  both.near.onEvent = () => undefined;
  return written;
}

function concat(parts: readonly Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

export function describeTransport(
  name: string,
  createWorld: () => TransportWorld | Promise<TransportWorld>,
): void {
  describe(`a transport: ${name}`, () => {
    let world: TransportWorld;
    beforeEach(async () => {
      world = await createWorld();
    });
    afterEach(() => world.stop());
    openings(() => world);
    transfers(() => world);
    endings(() => world);
    failures(() => world);
    keys(() => world);
  });
}

function openings(world: () => TransportWorld): void {
  it('dials and accepts, and both ends agree on who they are', async () => {
    const { dialled, accepted, near, far } = await connect(world());
    expect(near.events).to.deep.equal(['open']);
    expect(far.events, 'onOpen is for dialled connections').to.deep.equal([]);
    expect(dialled.local.address).to.deep.equal(world().clientAddress);
    expect(dialled.remote.address).to.deep.equal(world().serverAddress);
    expect(accepted.remote).to.deep.equal(dialled.local);
    expect(accepted.local).to.deep.equal(dialled.remote);
  });

  it('resets a connection whose accept handler returns undefined', async () => {
    const listener = await world().server.listen(
      { port: 0, address: world().serverAddress },
      () => undefined,
    );
    const remote = { address: world().serverAddress, port: listener.local.port };
    const { recorder } = dial(world().client, { remote, connectTimeoutMs: patientMs });
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(recorder.error?.code).to.equal('RESET');
    await listener.close();
  });

  it('says ADDRESS_IN_USE for a port that is taken', async () => {
    const options = { port: 0, address: world().serverAddress };
    const first = await world().server.listen(options, () => undefined);
    const again = { ...options, port: first.local.port };
    const error = await world()
      .server.listen(again, () => undefined)
      .then(
        () => undefined,
        (reason: TransportError) => reason,
      );
    expect(error?.code).to.equal('ADDRESS_IN_USE');
    expect(error?.message).to.include(String(first.local.port));
    await first.close();
    const second = await world().server.listen(again, () => undefined);
    expect(second.local.port).to.equal(first.local.port);
    await second.close();
  });

  it('keeps accepted connections when the listener closes, and refuses new ones', async () => {
    const { listener, dialled, near, far } = await connect(world());
    await listener.close();
    await listener.close();
    dialled.write(bytes('still here'));
    await world().until('the bytes arrive', () => text(far.received) === 'still here');
    const { recorder } = dial(world().client, {
      remote: dialled.remote,
      connectTimeoutMs: patientMs,
    });
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(recorder.error?.code).to.equal('REFUSED');
    expect(near.closes).to.equal(0);
  });
}

function transfers(world: () => TransportWorld): void {
  it('takes nothing before it is open', async () => {
    const remote = await world().blackHole();
    const { connection } = dial(world().client, { remote, connectTimeoutMs: 60_000 });
    expect(connection.write(bytes('too early'))).to.equal(false);
    expect(connection.bufferedBytes).to.equal(0);
    connection.abort();
  });

  it('may be written to while it is being accepted', async () => {
    const options = { port: 0, address: world().serverAddress };
    const listener = await world().server.listen(options, (connection) => {
      connection.write(bytes('hello'));
      return new Recorder();
    });
    const remote = { address: world().serverAddress, port: listener.local.port };
    const { recorder } = dial(world().client, { remote, connectTimeoutMs: patientMs });
    await world().until('it is greeted', () => recorder.receivedBytes === 5);
    expect(recorder.events).to.deep.equal(['open', 'data']);
  });

  it('sends a view of a larger buffer as just that view', async () => {
    const { dialled, far } = await connect(world());
    dialled.write(bytes('..middle..').subarray(2, 8));
    await world().until('it has arrived', () => far.receivedBytes >= 6);
    await world().settle();
    expect(text(far.received)).to.equal('middle');
  });

  it('carries bytes both ways at once', async () => {
    const { dialled, accepted, near, far } = await connect(world());
    inside(near, () => dialled.write(bytes('from the dialler')));
    inside(far, () => accepted.write(bytes('from the listener')));
    await world().until('both have heard', () => {
      return near.receivedBytes >= 17 && far.receivedBytes >= 16;
    });
    expect(text(far.received)).to.equal('from the dialler');
    expect(text(near.received)).to.equal('from the listener');
    expect(near.progress).to.be.above(0);
  });

  it('keeps order and content over chunks of random sizes', async () => {
    const { dialled, far } = await connect(world());
    const random = new SeededRandom(20_261_116);
    const parts = Array.from({ length: 60 }, () => random.bytes(1 + random.below(3_000)));
    for (const part of parts) dialled.write(part);
    const expected = concat(parts);
    await world().until('all has arrived', () => far.receivedBytes >= expected.length);
    expect(Buffer.compare(far.received, expected)).to.equal(0);
  });

  it('stops a writer whose reader pauses, in bounded memory, and goes on when it reads again', async () => {
    const both = await connect(world());
    both.accepted.pauseReading();
    await world().settle();
    const written = await fill(world(), both);
    const total = written.reduce((sum, part) => sum + part.length, 0);
    expect(total, 'the window is bounded').to.be.below(world().windowLimitBytes);
    expect(both.far.receivedBytes, 'a paused reader hears nothing').to.equal(0);
    expect(both.dialled.bufferedBytes).to.be.within(1, 200_000);
    const progressBefore = both.near.progress;
    await world().settle();
    expect(both.near.progress, 'no progress without a reader').to.equal(progressBefore);
    const drainsBefore = both.near.drains;
    both.accepted.resumeReading();
    await world().until('all has arrived', () => both.far.receivedBytes >= total);
    expect(Buffer.compare(both.far.received, concat(written))).to.equal(0);
    await world().until('it drains', () => both.near.drains > drainsBefore);
    expect(both.near.progress).to.be.above(progressBefore);
    expect(both.dialled.bufferedBytes).to.equal(0);
  });

  it('tells what the kernel has taken from what has arrived', async () => {
    const both = await connect(world());
    both.accepted.pauseReading();
    await world().settle();
    await fill(world(), both);
    expect(both.dialled.isAcknowledged, 'nobody reads').to.equal(false);
    both.accepted.resumeReading();
    await world().until('all has arrived', () => {
      return both.dialled.bufferedBytes === 0 && both.dialled.isAcknowledged;
    });
  });

  it('says drain only after write has said false', async () => {
    const { dialled, near, far } = await connect(world());
    expect(dialled.write(bytes('little'))).to.equal(true);
    await world().until('it has arrived', () => far.receivedBytes === 6);
    await world().settle();
    expect(near.drains).to.equal(0);
    expect(near.progress).to.equal(1);
  });
}

function endings(world: () => TransportWorld): void {
  it('flushes on close, then both ends hear a clean close, once and last', async () => {
    const { dialled, near, far } = await connect(world());
    const parts = Array.from({ length: 40 }, (_, at) => new Uint8Array(4_096).fill(at));
    for (const part of parts) dialled.write(part);
    inside(near, () => dialled.close());
    expect(dialled.write(bytes('too late'))).to.equal(false);
    await world().until('both have closed', () => near.closes > 0 && far.closes > 0);
    await world().settle();
    expect(Buffer.compare(far.received, concat(parts))).to.equal(0);
    for (const recorder of [near, far]) {
      expect(recorder.closes).to.equal(1);
      expect(recorder.events.at(-1)).to.equal('close');
      expect(recorder.error).to.equal(undefined);
    }
    expect(near.events, 'nothing but the close after close()').to.deep.equal(['open', 'close']);
    expect(dialled.isAcknowledged, 'all of it has arrived').to.equal(true);
  });

  it('closes cleanly although the other side keeps sending: input after close is thrown away', async () => {
    const { dialled, accepted, near, far } = await connect(world());
    dialled.pauseReading();
    accepted.write(bytes('unread'));
    await world().settle();
    dialled.write(bytes('last words'));
    dialled.close();
    await world().until('both have closed', () => near.closes > 0 && far.closes > 0);
    expect(text(far.received)).to.equal('last words');
    expect(far.error, 'a FIN and not a reset').to.equal(undefined);
    expect(near.receivedBytes).to.equal(0);
  });

  it('drops what is buffered on abort, and the other side sees a reset', async () => {
    const both = await connect(world());
    both.accepted.pauseReading();
    await world().settle();
    const written = await fill(world(), both);
    inside(both.near, () => both.dialled.abort());
    await world().until('the near end closes', () => both.near.closes > 0);
    both.accepted.resumeReading();
    await world().until('the far end closes', () => both.far.closes > 0);
    await world().settle();
    const total = written.reduce((sum, part) => sum + part.length, 0);
    expect(both.far.receivedBytes).to.be.below(total);
    expect(both.near.error, 'our own abort is no error').to.equal(undefined);
    expect(both.far.error?.code).to.equal('RESET');
    expect([both.near.closes, both.far.closes]).to.deep.equal([1, 1]);
  });

  it('takes close and abort in any order and any number, and says close once', async () => {
    for (const calls of ['ca', 'cc', 'aa', 'ac', 'cac'] as const) {
      const { dialled, near, far } = await connect(world());
      for (const call of calls)
        inside(near, () => (call === 'c' ? dialled.close() : dialled.abort()));
      await world().until(`closed after ${calls}`, () => near.closes > 0 && far.closes > 0);
      await world().settle();
      expect([near.closes, far.closes], calls).to.deep.equal([1, 1]);
    }
  });

  it('ends both directions when the other side sends FIN, even with bytes unsent', async () => {
    const both = await connect(world());
    both.accepted.pauseReading();
    await world().settle();
    await fill(world(), both);
    both.accepted.close();
    await world().until('both have closed', () => both.near.closes > 0 && both.far.closes > 0);
    expect(both.dialled.write(bytes('nobody there'))).to.equal(false);
  });

  it('ends a close within its bound when the other side does not read', async () => {
    const both = await connect(world());
    both.accepted.pauseReading();
    await world().settle();
    await fill(world(), both);
    both.dialled.close();
    await world().until('the near end closes', () => both.near.closes > 0);
    expect(both.near.error).to.equal(undefined);
    expect(both.dialled.isAcknowledged, 'what nobody read has not arrived').to.equal(false);
  });

  it('can be closed from inside its own handlers', async () => {
    const { dialled, accepted, near, far } = await connect(world());
    near.onEvent = (event) => {
      if (event === 'data') dialled.abort();
    };
    accepted.write(bytes('go away'));
    await world().until('both have closed', () => near.closes > 0 && far.closes > 0);
    expect(near.events).to.deep.equal(['open', 'data', 'close']);
  });
}

function failures(world: () => TransportWorld): void {
  it('says REFUSED where nobody listens', async () => {
    const gone = await world().server.listen(
      { port: 0, address: world().serverAddress },
      () => undefined,
    );
    await gone.close();
    const remote = { address: world().serverAddress, port: gone.local.port };
    const { recorder } = dial(world().client, { remote, connectTimeoutMs: patientMs });
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(recorder.events).to.deep.equal(['close']);
    expect(recorder.error?.code).to.equal('REFUSED');
    expect(recorder.error?.message).to.include(String(gone.local.port));
  });

  it('says TIMEOUT where no answer comes, not before the time is up', async () => {
    const remote = await world().blackHole();
    const { recorder } = dial(world().client, { remote, connectTimeoutMs: swallowedMs });
    const start = world().now();
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(world().now() - start).to.be.at.least(swallowedMs - 5);
    expect(recorder.events).to.deep.equal(['close']);
    expect(recorder.error?.code).to.equal('TIMEOUT');
  });

  it('gives up a dial on abort without an error', async () => {
    const remote = await world().blackHole();
    const { connection, recorder } = dial(world().client, { remote, connectTimeoutMs: 60_000 });
    await world().settle();
    expect(recorder.events).to.deep.equal([]);
    inside(recorder, () => connection.abort());
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(recorder.error).to.equal(undefined);
  });

  it('says ADDRESS_NOT_AVAILABLE for a source address that is not ours', async () => {
    const remote = { address: world().serverAddress, port: 1 };
    const localAddress = world().foreignAddress;
    const { recorder } = dial(world().client, {
      remote,
      localAddress,
      connectTimeoutMs: patientMs,
    });
    await world().until('the dial ends', () => recorder.closes > 0);
    expect(recorder.error?.code).to.equal('ADDRESS_NOT_AVAILABLE');
  });
}

function keys(world: () => TransportWorld): void {
  /** 'open', or the code of what went wrong */
  async function knock(
    listener: Listener,
    password: string | undefined,
    connectTimeoutMs: number,
  ): Promise<string> {
    const { serverAddress, clientAddress } = world();
    const { recorder } = dial(world().client, {
      remote: { address: serverAddress, port: listener.local.port },
      localAddress: clientAddress,
      connectTimeoutMs,
      ...(password === undefined ? {} : { password }),
    });
    await world().until('an answer', () => recorder.events.length > 0);
    return recorder.events[0] === 'open' ? 'open' : (recorder.error?.code ?? 'closed');
  }

  /** this becomes of a dial with each of the keys, and with none */
  async function expectAnswers(
    listener: Listener,
    what: string,
    expected: readonly string[],
  ): Promise<void> {
    const answers: string[] = [];
    for (const [at, password] of ['wide', 'narrow', 'own', undefined].entries()) {
      const waitMs = expected[at] === 'open' ? patientMs : swallowedMs;
      answers.push(await knock(listener, password, waitMs));
    }
    expect(answers, what).to.deep.equal(expected);
  }

  it('asks the key of the longest range, and before that the key of the very address', async () => {
    const { clientAddress, serverAddress } = world();
    const [short, long] = clientAddress.family === 'ipv4' ? [24, 29] : [64, 120];
    const wide = maskPrefix(clientAddress, short);
    const narrow = maskPrefix(clientAddress, long);
    const listener = await world().server.listen(
      { port: 0, address: serverAddress },
      () => new Recorder(),
    );
    const [yes, no] = ['open', 'TIMEOUT'];
    listener.setRangeOptions(wide, { password: 'wide' });
    await expectAnswers(listener, 'wide', [yes, no, no, no]);
    listener.setRangeOptions(narrow, { password: 'narrow' });
    await expectAnswers(listener, 'narrow', [no, yes, no, no]);
    listener.setPeerOptions(clientAddress, { password: 'own' });
    await expectAnswers(listener, 'own', [no, no, yes, no]);
    listener.setPeerOptions(clientAddress, {});
    await expectAnswers(listener, 'own without a key', [no, yes, no, no]);
    listener.setRangeOptions(narrow, {});
    await expectAnswers(listener, 'narrow without a key', [yes, no, no, no]);
    listener.clearRangeOptions(wide);
    await expectAnswers(listener, 'no key', [no, no, no, yes]);
  });

  it('tells a range of one address from the neighbour there', async () => {
    const { clientAddress, serverAddress } = world();
    const host = hostPrefix(clientAddress);
    const listener = await world().server.listen(
      { port: 0, address: serverAddress },
      () => new Recorder(),
    );
    const [yes, no] = ['open', 'TIMEOUT'];
    listener.setPeerOptions(clientAddress, { password: 'own' });
    listener.setRangeOptions(host, { password: 'narrow' });
    await expectAnswers(listener, 'both', [no, no, yes, no]);
    listener.clearPeerOptions(clientAddress);
    await expectAnswers(listener, 'the range', [no, yes, no, no]);
    listener.clearRangeOptions(host);
    await expectAnswers(listener, 'none', [no, no, no, yes]);
  });
}
