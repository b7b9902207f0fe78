import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Address, formatAddress } from 'bgp-ts';
import { expect } from 'chai';
import type { ClaimStatus, DrainAnswer, StatusDocument } from '../../../src/agent/status.ts';
import { ControlClient } from '../../../src/control/client.ts';
import { ControlServer } from '../../../src/control/server.ts';
import { untilValue } from '../../support/poll.ts';
import { claim, claimPeer, gates, sampleStatus } from './sample-status.ts';

class Rig {
  readonly orders: string[] = [];
  readonly failures: string[] = [];
  readonly listeners = new Set<() => void>();
  current: StatusDocument = sampleStatus();
  built = 0;
  mistake: Error | undefined;
  buildMs = 0;
  answer: DrainAnswer = { ok: true, sentence: 'draining' };
  readonly server: ControlServer;

  constructor(path: string, watchPatienceMs = 10_000) {
    const act = (verb: string) => (address: Address | undefined, reason: string) => {
      this.orders.push(
        `${verb} ${address === undefined ? 'node' : formatAddress(address)}: ${reason}`,
      );
      return this.answer;
    };
    this.server = new ControlServer({
      path,
      watchPatienceMs,
      identity: { pid: 4711, version: '0.1.0', node: 'master-1' },
      onFailed: (error) => this.failures.push(String(error)),
      status: () => {
        this.built += 1;
        if (this.mistake !== undefined) throw this.mistake;
        for (const startMs = performance.now(); performance.now() - startMs < this.buildMs; );
        return this.current;
      },
      subscribe: (onChange) => {
        this.listeners.add(onChange);
        return () => this.listeners.delete(onChange);
      },
      drain: act('drain'),
      undrain: act('undrain'),
    });
  }

  change(over: Partial<StatusDocument>): void {
    this.current = { ...this.current, ...over };
    for (const listener of this.listeners) listener();
  }
}

/** Claims of some 5 KB, and how many of them were put into text in each turn of the main thread. */
class CountedClaims implements Iterable<ClaimStatus> {
  readonly #length: number;
  readonly #turns = new Map<number, number>();
  #turn = 0;
  #next: NodeJS.Immediate | undefined;

  constructor(length: number) {
    this.#length = length;
    const count = () => {
      this.#turn += 1;
      this.#next = setImmediate(count);
    };
    count();
  }

  get count(): number {
    return this.perTurn.reduce((sum, each) => sum + each, 0);
  }

  get perTurn(): readonly number[] {
    return [...this.#turns.values()];
  }

  stop(): void {
    clearImmediate(this.#next);
  }

  *[Symbol.iterator](): Iterator<ClaimStatus> {
    const peers = Array.from({ length: 8 }, (_, n) => claimPeer({ peer: `tor-${n}` }));
    for (let n = 0; n < this.#length; n += 1) {
      const toJSON = () => {
        this.#turns.set(this.#turn, (this.#turns.get(this.#turn) ?? 0) + 1);
        return { ...one, toJSON: undefined };
      };
      const one = claim(`192.0.2.${n % 256}`, { peers, ...{ toJSON } });
      yield one;
    }
  }
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('it is not there');
  return value;
}

function raw(
  path: string,
  options: { path: string; method?: string },
  body = '',
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { socketPath: path, agent: false, ...options },
      (response: IncomingMessage) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      },
    );
    asked.on('error', reject);
    asked.end(body);
  });
}

describe('ControlServer', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-control-'));
  const path = join(directory, 'run', 'agent.sock');
  const client = new ControlClient(path);
  const servers: ControlServer[] = [];

  async function serve(at = path, patienceMs?: number): Promise<Rig> {
    const rig = new Rig(at, patienceMs);
    servers.push(rig.server);
    expect(await rig.server.start()).to.deep.equal({ kind: 'listening' });
    return rig;
  }

  async function refusal(at = path): Promise<string> {
    const rig = new Rig(at);
    servers.push(rig.server);
    const started = await rig.server.start();
    return started.kind === 'refused' ? started.sentence : 'it listens';
  }

  afterEach(async () => {
    for (const server of servers.splice(0)) await server.stop();
  });
  after(() => rmSync(directory, { recursive: true }));

  describe('its socket', () => {
    it('is 0600 in a directory of 0755 that it makes, and leaves nothing else there', async () => {
      await serve();
      expect(statSync(path).mode & 0o777).to.equal(0o600);
      expect(statSync(path).isSocket()).to.equal(true);
      expect(statSync(join(directory, 'run')).mode & 0o777).to.equal(0o755);
      expect(readdirSync(join(directory, 'run'))).to.deep.equal(['agent.sock']);
    });

    it('needs nothing but its own directory: not the one above', async () => {
      mkdirSync(join(path, '..'), { recursive: true });
      const seen: (string | null)[] = [];
      const watcher = watch(directory, (_event, name) => seen.push(name));
      try {
        await serve();
        // notices come in order: when this one is here, earlier ones would be
        mkdirSync(join(directory, 'last'));
        await untilValue(
          'the notice of our own',
          async () => seen.at(-1),
          (name) => name === 'last',
        );
        expect(seen).to.deep.equal(['last']);
      } finally {
        watcher.close();
        rmSync(join(directory, 'last'), { recursive: true });
      }
    });

    it('is gone after stop, and can be made again', async () => {
      const rig = await serve();
      await rig.server.stop();
      expect(readdirSync(join(directory, 'run'))).to.deep.equal([]);
      await serve();
      expect((await client.status()).ok).to.equal(true);
    });

    it('takes over from a process that was killed', async () => {
      const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.send('up'))`;
      const child = spawn(process.execPath, ['-e', script], {
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      await new Promise((resolve) => child.once('message', resolve));
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
      expect(existsSync(path)).to.equal(true);
      await serve();
      expect((await client.status()).ok).to.equal(true);
      expect(readdirSync(join(directory, 'run'))).to.deep.equal(['agent.sock']);
    });

    it('refuses to be the second agent, says who the first is, and leaves that one alone', async () => {
      await serve();
      expect(await refusal()).to.equal(
        `another agent (pid 4711, version 0.1.0) runs on this host and answers at ${path}; there is one per host: stop that one, or give this one another --socket`,
      );
      expect((await client.status()).ok).to.equal(true);
      expect(readdirSync(join(directory, 'run'))).to.deep.equal(['agent.sock']);
    });

    it('takes one that accepts and is mute for a living agent too', async () => {
      const mute = createServer((socket) => socket.resume());
      await new Promise<void>((resolve) => mute.listen(path, resolve));
      expect(await refusal()).to.match(/^another agent runs on this host/);
      await new Promise((resolve) => mute.close(resolve));
    });

    it('lets exactly one of many start, also over a dead socket', async () => {
      for (let round = 0; round < 10; round += 1) {
        const at = join(directory, `race-${round}`, 's');
        mkdirSync(join(directory, `race-${round}`));
        const dead = createServer();
        await new Promise<void>((resolve) => dead.listen(`${at}0`, resolve));
        const { renameSync } = await import('node:fs');
        renameSync(`${at}0`, at);
        await new Promise((resolve) => dead.close(resolve));
        expect(existsSync(at)).to.equal(true);
        const rigs = Array.from({ length: 6 }, () => new Rig(at));
        const kinds = await Promise.all(
          rigs.map(async ({ server }) => (await server.start()).kind),
        );
        expect(
          kinds.filter((kind) => kind === 'listening'),
          `round ${round}`,
        ).to.have.length(1);
        expect((await new ControlClient(at).status()).ok).to.equal(true);
        for (const { server } of rigs) await server.stop();
        expect(readdirSync(join(directory, `race-${round}`))).to.deep.equal([]);
      }
    });

    it('never removes what is not a socket', async () => {
      const file = join(directory, 'a-file');
      writeFileSync(file, 'precious');
      expect(await refusal(file)).to.include('something that is not a socket has this name');
      expect(statSync(file).size).to.equal(8);
      expect(await refusal(join(file, 'below'))).to.include('a part of its path is a file');
      expect(await refusal(join(directory, 'x'.repeat(120)))).to.include('too long for a socket');
    });

    it('does not remove the socket of a successor', async () => {
      const first = await serve();
      rmSync(path);
      await serve();
      await first.server.stop();
      expect((await client.status()).ok).to.equal(true);
    });

    it('cannot be opened by another user', async function () {
      if (process.getuid?.() !== 0) this.skip();
      await serve();
      // reachable but for the mode of the socket itself
      const { chmodSync } = await import('node:fs');
      chmodSync(directory, 0o755);
      // started as root: another user may not have the way to this checkout's Node
      const script = `process.setgroups([]); process.setgid(65534); process.setuid(65534);
        require('node:net').connect(${JSON.stringify(path)}).on('error', (e) => process.exit(e.code === 'EACCES' ? 13 : 1)).on('connect', () => process.exit(0))`;
      const child = spawn('/usr/bin/env', ['-i', process.execPath, '-e', script], {
        stdio: 'ignore',
        cwd: '/',
      });
      const status = await new Promise((resolve) => child.once('exit', resolve));
      expect(status).to.equal(13);
    });
  });

  describe('what it answers', () => {
    it('the status', async () => {
      const rig = await serve();
      expect(await client.status()).to.deep.equal({ ok: true, value: rig.current });
    });

    it('the status to a client that has closed its half; a watcher that does so is gone', async () => {
      const rig = await serve();
      const ask = async (what: string) => {
        const socket = connect({ path, allowHalfOpen: true });
        let text = '';
        socket.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        socket.end(`GET ${what} HTTP/1.0\r\n\r\n`);
        await once(socket, 'end');
        return text;
      };
      // the second has to wait for its turn
      rig.buildMs = 50;
      for (const answer of [await ask('/status'), await ask('/status')]) {
        const [, body = ''] = answer.split('\r\n\r\n');
        expect(JSON.parse(body)).to.deep.equal(rig.current);
      }
      expect(await ask('/watch')).to.match(/^HTTP\/1.1 200/);
    });

    it('the status to many at once: built for all who wait together, and not all of the time', async () => {
      const rig = await serve();
      rig.buildMs = 50;
      const startedMs = performance.now();
      const asked = Array.from({ length: 20 }, () => raw(path, { path: '/status' }));
      for (const { status } of await Promise.all(asked)) expect(status).to.equal(200);
      expect(rig.built).to.be.below(10);
      expect(rig.built * 50).to.be.below((performance.now() - startedMs) * 0.8 + 50);
    });

    describe('of thousands of claims (A11)', () => {
      it('in pieces: no turn of the main thread has more than a few hundred kilobytes of it', async () => {
        const rig = await serve();
        const claims = new CountedClaims(2000);
        rig.current = { ...rig.current, claims: [...claims] };
        const { status, text } = await raw(path, { path: '/status' });
        claims.stop();
        expect(status).to.equal(200);
        expect(JSON.parse(text).claims).to.have.length(2000);
        // some 5 KB each
        expect(Math.max(...claims.perTurn), 'claims in one turn').to.be.below(200);
        expect(claims.perTurn.length, 'turns').to.be.above(10);
      });

      it('as its reader takes it: who does not read costs a piece, not the whole', async () => {
        const rig = await serve();
        const claims = new CountedClaims(2000);
        rig.current = { ...rig.current, claims: [...claims] };
        const sockets = ['/status', '/watch'].map((each) => {
          const socket = connect(path);
          socket.pause();
          socket.write(`GET ${each} HTTP/1.1\r\nhost: agent\r\n\r\n`);
          return socket;
        });
        await untilValue(
          'both are served',
          () => claims.count,
          (count) => count > 50,
        );
        // somebody who reads is served meanwhile, to the end
        expect((await raw(path, { path: '/status' })).status).to.equal(200);
        claims.stop();
        expect(claims.count, 'claims that were told').to.be.within(2000, 3000);
        for (const socket of sockets) socket.destroy();
      });

      it('to watchers in pieces, too', async () => {
        const rig = await serve();
        const claims = new CountedClaims(2000);
        rig.current = { ...rig.current, claims: [...claims] };
        const abort = new AbortController();
        const seen: number[] = [];
        const watching = client.watch((status) => seen.push(status.claims.length), abort.signal);
        await untilValue(
          'the first',
          () => seen.length,
          (length) => length === 1,
        );
        rig.change({ pid: 2 });
        await untilValue(
          'the second',
          () => seen.length,
          (length) => length === 2,
        );
        claims.stop();
        abort.abort();
        await watching;
        expect(seen).to.deep.equal([2000, 2000]);
        expect(Math.max(...claims.perTurn), 'claims in one turn').to.be.below(200);
      });

      it('with the gates of a claim once for a reader who asks for that, and the reader has them all', async () => {
        const rig = await serve();
        const own = gates();
        const allowed = { ...present(own[4]), sentence: 'an advertisement selects this peer' };
        const peer = claimPeer({
          gates: own.map((gate) => (gate.name === 'allowed' ? allowed : gate)),
        });
        const one = claim('192.0.2.7', { gates: own, peers: [peer, { ...peer, peer: 'tor-b' }] });
        rig.change({ claims: [one] });
        const all = JSON.parse((await raw(path, { path: '/status' })).text);
        const once = JSON.parse((await raw(path, { path: '/status?gates=once' })).text);
        expect(all.claims[0].peers[1].gates).to.have.length(6);
        expect(once.claims[0].peers[1].gates).to.deep.equal([allowed]);
        expect(await client.status()).to.deep.equal({ ok: true, value: all });
      });
    });

    it('who it is without looking at anything', async () => {
      const rig = await serve();
      const { text } = await raw(path, { path: '/identity' });
      expect(JSON.parse(text)).to.deep.equal({ pid: 4711, version: '0.1.0', node: 'master-1' });
      expect(await client.isAgent()).to.equal(true);
      expect(rig.built).to.equal(0);
    });

    it('500 where an answer cannot be made, and goes on', async () => {
      const rig = await serve();
      rig.mistake = new RangeError('Invalid string length');
      for (const each of ['/status', '/watch']) {
        const { status, text } = await raw(path, { path: each });
        expect(status).to.equal(500);
        expect(JSON.parse(text).sentence).to.include('the log of the agent says why');
      }
      // three who wait for one that is built later
      const late = await Promise.all([1, 2, 3].map(() => raw(path, { path: '/status' })));
      expect(late.map(({ status }) => status)).to.deep.equal([500, 500, 500]);
      rig.mistake = undefined;
      rig.answer = new Proxy(rig.answer, {
        get: () => {
          throw new Error('a mistake in a drain');
        },
      });
      expect((await raw(path, { path: '/drain', method: 'POST' }, '{}')).status).to.equal(500);
      expect(rig.failures).to.have.length(6);
      expect((await client.status()).ok).to.equal(true);
    });

    it('a mistake in the middle of a long answer ends that one, seen by its reader, and no other', async () => {
      const rig = await serve();
      rig.current = {
        ...rig.current,
        claims: {
          *[Symbol.iterator]() {
            for (let n = 0; n < 500; n += 1) yield claim('192.0.2.7');
            throw new RangeError('Invalid string length');
          },
        },
      };
      const answer = await client.status();
      expect(answer.ok ? '' : answer.sentence).to.include('closed the connection');
      expect(rig.failures).to.deep.equal(['RangeError: Invalid string length']);
      rig.current = sampleStatus();
      expect((await client.status()).ok).to.equal(true);
    });

    it('drain and undrain, of an address or the node', async () => {
      const rig = await serve();
      expect(await client.drain()).to.deep.equal({ ok: true, value: rig.answer });
      await client.drain({ address: '2001:DB8::7', reason: 'disk change' });
      await client.undrain({ address: '192.0.2.7' });
      expect(rig.orders).to.deep.equal([
        'drain node: asked for by a person',
        'drain 2001:db8::7: disk change',
        'undrain 192.0.2.7: asked for by a person',
      ]);
      rig.answer = { ok: false, sentence: 'not claimed' };
      expect(await client.drain()).to.deep.equal({ ok: true, value: rig.answer });
    });

    it('a sentence for an order that cannot be read, and does nothing', async () => {
      const rig = await serve();
      for (const [body, why] of [
        ['{', 'not a JSON object'],
        ['[]', 'not a JSON object'],
        ['null', 'not a JSON object'],
        ['{"address":"192.0.2.300"}', '\\"192.0.2.300\\" is not an address'],
        ['{"address":7}', '7 is not an address'],
        ['{"adress":"192.0.2.7"}', "'adress' is not known here"],
        [`{"reason":"${'x'.repeat(300)}"}`, 'the reason is not a text'],
        ['{"reason":1}', 'the reason is not a text'],
      ] as const) {
        const { status, text } = await raw(path, { path: '/drain', method: 'POST' }, body);
        expect(status, body).to.equal(400);
        expect(text).to.include(why);
      }
      const big = await raw(path, { path: '/drain', method: 'POST' }, 'x'.repeat(9000));
      expect(big.status).to.equal(413);
      expect(rig.orders).to.deep.equal([]);
    });

    it('404 and 405 for the rest; looking by POST is not draining by GET', async () => {
      const rig = await serve();
      expect((await raw(path, { path: '/nothing' })).status).to.equal(404);
      expect((await raw(path, { path: '/constructor' })).status).to.equal(404);
      for (const odd of ['//', 'http://[/', '*', '/%']) {
        expect((await raw(path, { path: odd })).status, odd).to.equal(404);
      }
      expect((await raw(path, { path: '/drain' })).status).to.equal(405);
      expect((await raw(path, { path: '/status', method: 'POST' })).status).to.equal(405);
      expect(rig.orders).to.deep.equal([]);
    });

    it('at most 32 at a time, and others after them', async () => {
      await serve();
      const idle = await Promise.all(
        Array.from(
          { length: 32 },
          () =>
            new Promise<Socket>((resolve) => {
              const socket = connect(path, () => resolve(socket));
              socket.on('error', () => {});
            }),
        ),
      );
      const refused = await client.status();
      expect(refused.ok ? '' : refused.sentence).to.include('closed the connection');
      for (const socket of idle) socket.destroy();
      await untilValue(
        'it answers again',
        () => client.status(),
        ({ ok }) => ok,
      );
    });
  });

  describe('those who watch', () => {
    it('get the status at once, after a change, and the last of many', async () => {
      const rig = await serve();
      const seen: string[] = [];
      const abort = new AbortController();
      const watching = client.watch((status) => seen.push(status.node.name), abort.signal);
      await untilValue(
        'the first',
        () => seen,
        (names) => names.length === 1,
      );
      for (let i = 0; i <= 500; i += 1) rig.change({ node: { name: `n${i}`, labels: {} } });
      await untilValue(
        'the last',
        () => seen,
        (names) => names.at(-1) === 'n500',
      );
      expect(seen.length).to.be.lessThan(6);
      abort.abort();
      expect(await watching).to.equal(undefined);
      await untilValue(
        'nobody listens',
        () => rig.listeners.size,
        (size) => size === 0,
      );
    });

    it('get at most five a second, built once for all of them', async () => {
      const rig = await serve();
      const counts = [0, 0, 0];
      const abort = new AbortController();
      const watching = counts.map((_, index) =>
        client.watch(() => {
          counts[index] = (counts[index] ?? 0) + 1;
        }, abort.signal),
      );
      await untilValue(
        'all have one',
        () => [...counts],
        (all) => all.every((count) => count === 1),
      );
      const before = rig.built;
      const started = performance.now();
      let changes = 0;
      const { elapsedMs, built } = await untilValue(
        'a second of changes, and more where the machine was busy with others',
        () => {
          changes += 1;
          rig.change({ pid: changes });
          return { elapsedMs: performance.now() - started, built: rig.built - before };
        },
        (seen) => seen.elapsedMs > 1000 && changes > 50 && seen.built >= 3,
        { everyMs: 5 },
      );
      // one at once, and then one every fifth of a second
      expect(built).to.be.at.most(1 + elapsedMs / 200);
      // nor so seldom that a person would wait: by the turns of this process, some 170
      expect(changes, 'changes until three were told').to.be.below(800);
      abort.abort();
      await Promise.all(watching);
    });

    it('are dropped when they read nothing for too long', async () => {
      const rig = await serve(path, 300);
      const warnings = Array.from({ length: 20_000 }, () => 'x'.repeat(100));
      rig.current = sampleStatus({ warnings });
      const socket = connect(path);
      socket.on('error', () => {});
      socket.pause();
      socket.write('GET /watch HTTP/1.1\r\nhost: agent\r\n\r\n');
      await untilValue(
        'it watches',
        () => rig.listeners.size,
        (size) => size === 1,
      );
      await untilValue(
        'it is dropped',
        () => rig.listeners.size,
        (size) => size === 0,
      );
      socket.destroy();
    });

    it('are told when the agent stops', async () => {
      const rig = await serve();
      let got = 0;
      const watching = client.watch(() => {
        got += 1;
      }, new AbortController().signal);
      await untilValue(
        'the first',
        () => got,
        (count) => count === 1,
      );
      await rig.server.stop();
      expect(await watching).to.equal(`the agent at ${path} has stopped`);
    });

    it('cost one document when they do not read, and miss what is between when they read late', async () => {
      const rig = await serve();
      rig.current = sampleStatus({
        warnings: Array.from({ length: 20_000 }, () => 'x'.repeat(100)),
      });
      const socket = connect(path);
      socket.pause();
      socket.write('GET /watch HTTP/1.1\r\nhost: agent\r\n\r\n');
      await untilValue(
        'it watches',
        () => rig.listeners.size,
        (size) => size === 1,
      );
      const before = rig.built;
      const started = performance.now();
      await untilValue(
        'changes for a while',
        () => {
          rig.change({ pid: rig.current.pid + 1 });
          return performance.now() - started;
        },
        (elapsed) => elapsed > 700,
      );
      // nobody is ready to take one, so none is made
      expect(rig.built - before).to.equal(0);
      const last = rig.current.pid;
      let text = '';
      socket.setEncoding('latin1').on('data', (chunk: string) => {
        text = (text + chunk).slice(-3_000_000);
      });
      socket.resume();
      await untilValue(
        'the last',
        () => text.includes(`"pid":${last},`),
        (is) => is,
      );
      socket.destroy();
      await untilValue(
        'nobody listens',
        () => rig.listeners.size,
        (size) => size === 0,
      );
    });
  });
});

describe('ControlClient', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-client-'));
  after(() => rmSync(directory, { recursive: true }));

  it('says plainly that there is no agent', async () => {
    const path = join(directory, 'none.sock');
    const answer = await new ControlClient(path).status();
    expect(answer).to.deep.equal({
      ok: false,
      sentence: `no agent answers at ${path}: is it running? --socket names another path`,
    });
    expect(await new ControlClient(path).watch(() => {}, new AbortController().signal)).to.include(
      'is it running?',
    );
    const drained = await new ControlClient(path).drain();
    expect(drained.ok).to.equal(false);
  });

  it('is not confused by something else that listens there', async () => {
    const path = join(directory, 'other.sock');
    const texts = ['{}', 'null', 'hello', '[1]', '{"sessions":[]}'];
    const other = createServer((socket) => {
      const text = texts.shift() ?? '';
      socket.resume();
      socket.end(
        `HTTP/1.1 200 OK\r\ncontent-length: ${text.length}\r\nconnection: close\r\n\r\n${text}`,
      );
    });
    await new Promise<void>((resolve) => other.listen(path, resolve));
    while (texts.length > 0) {
      const answer = await new ControlClient(path).status();
      expect(answer.ok ? '' : answer.sentence).to.include(
        'is not a Herald agent, or one of another version',
      );
    }
    await new Promise((resolve) => other.close(resolve));
  });
});
