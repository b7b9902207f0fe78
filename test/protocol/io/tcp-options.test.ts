/**
 * What only a real kernel can show: TCP-MD5, GTSM, TTL, user timeout, interfaces, errors that a person can act on. All
 * on the loopback. A dial that the kernel must swallow gets a short time to be answered; the same dial with the one
 * thing put right connects, so a test cannot pass because nothing ever connects. That one has all the time of a busy machine.
 */

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { openTcpSocket } from '../../../protocol/io/libc.ts';
import { NodeTcpTransport } from '../../../protocol/io/node-tcp.ts';
import { setPathOptions } from '../../../protocol/io/tcp-options.ts';
import type {
  Connection,
  DialOptions,
  Endpoint,
  Listener,
  ListenOptions,
  SocketOptions,
} from '../../../protocol/io/transport.ts';
import { TransportError } from '../../../protocol/io/transport.ts';
import type { Address } from '../../../protocol/net/address.ts';
import { formatAddress, parseAddress } from '../../../protocol/net/address-text.ts';
import { prefix } from '../../../protocol/net/literal.ts';
import { dial, Recorder } from '../../compliance/transport.ts';

const swallowedMs = 80;
const patientMs = 10_000;
const transport = new NodeTcpTransport({ closeTimeoutMs: 200 });

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`not an address: ${text}`);
  return parsed;
}

const v4 = { server: address('127.0.0.1'), client: address('127.0.0.9') };
const v6 = { server: address('::1'), client: address('::1') };

async function until(what: string, holds: () => boolean, boundMs = patientMs): Promise<void> {
  const end = performance.now() + boundMs;
  while (!holds()) {
    if (performance.now() > end) throw new Error(`not within ${boundMs} ms: ${what}`);
    await delay(1);
  }
}

/** with the reason in the report */
function skip(context: Mocha.Context, reason: string): never {
  if (context.test !== undefined) context.test.title += ` (skipped: ${reason})`;
  return context.skip();
}

describe('TCP options of the kernel', () => {
  const listeners: Listener[] = [];
  const connections: Connection[] = [];
  let accepted: { connection: Connection; recorder: Recorder }[] = [];
  let dropped: TransportError[] = [];

  afterEach(async () => {
    for (const connection of connections.splice(0)) connection.abort();
    for (const listener of listeners.splice(0)) await listener.close();
    accepted = [];
    dropped = [];
  });

  async function listen(options: Partial<ListenOptions> = {}): Promise<Listener> {
    const onError = (error: TransportError) => dropped.push(error);
    const listener = await transport.listen({ port: 0, onError, ...options }, (connection) => {
      const recorder = new Recorder();
      connections.push(connection);
      accepted.push({ connection, recorder });
      return recorder;
    });
    listeners.push(listener);
    return listener;
  }

  /** 'up' when bytes really cross, else the code of the error */
  async function attempt(remote: Endpoint, options: Partial<DialOptions> = {}): Promise<string> {
    const before = accepted.length;
    const { connection, recorder } = dial(transport, {
      remote,
      connectTimeoutMs: patientMs,
      ...options,
    });
    connections.push(connection);
    await until('an answer', () => recorder.events.length > 0, 2 * patientMs);
    if (recorder.events[0] === 'open') {
      connection.write(Uint8Array.of(1, 2, 3));
      const crossed = () => accepted.slice(before).some((end) => end.recorder.receivedBytes === 3);
      await until('bytes or an end', () => crossed() || recorder.closes > 0).catch(() => undefined);
      if (crossed()) return 'up';
      return recorder.closes > 0 ? (recorder.error?.code ?? 'closed') : 'silent';
    }
    return recorder.error?.code ?? 'closed';
  }

  /** The same where no answer may come, for which nobody waits long. */
  function unanswered(remote: Endpoint, options: Partial<DialOptions> = {}): Promise<string> {
    return attempt(remote, { connectTimeoutMs: swallowedMs, ...options });
  }

  describe('TCP-MD5 (RFC 2385)', () => {
    for (const [name, pair, listenAddress] of [
      ['IPv4', v4, v4.server],
      ['IPv6', v6, v6.server],
      ['IPv4 on a dual-stack listener', v4, undefined],
      ['IPv6 on a dual-stack listener', v6, undefined],
    ] as const) {
      it(`connects with the right key; a wrong one and none get no answer: ${name}`, async () => {
        const listener = await listen(
          listenAddress === undefined ? {} : { address: listenAddress },
        );
        listener.setPeerOptions(pair.client, { password: 'right key' });
        const remote = { address: pair.server, port: listener.local.port };
        const localAddress = pair.client;
        const answers = await Promise.all([
          unanswered(remote, { localAddress, password: 'wrong key' }),
          unanswered(remote, { localAddress }),
        ]);
        expect(answers).to.deep.equal(['TIMEOUT', 'TIMEOUT']);
        expect(await attempt(remote, { localAddress, password: 'right key' })).to.equal('up');
        expect(accepted[0]?.connection.remote.address).to.deep.equal(pair.client);
      });
    }

    for (const [name, pair, range] of [
      ['IPv4', v4, '127.0.0.8/29'],
      ['IPv6', v6, '::/96'],
    ] as const) {
      it(`has keys for ranges on a dual-stack listener: ${name}`, async () => {
        const listener = await listen();
        listener.setRangeOptions(prefix(range), { password: 'right key' });
        const remote = { address: pair.server, port: listener.local.port };
        const localAddress = pair.client;
        const answers = await Promise.all([
          unanswered(remote, { localAddress, password: 'wrong key' }),
          unanswered(remote, { localAddress }),
        ]);
        expect(answers).to.deep.equal(['TIMEOUT', 'TIMEOUT']);
        expect(await attempt(remote, { localAddress, password: 'right key' })).to.equal('up');
        if (pair === v6) return;
        const outside = { localAddress: address('127.0.0.16') };
        expect(await attempt(remote, outside), 'outside').to.equal('up');
        expect(await unanswered(remote, { ...outside, password: 'right key' })).to.equal('TIMEOUT');
      });
    }

    it('asks nothing of other neighbours, and follows changes while it listens', async () => {
      const listener = await listen();
      const remote = { address: v4.server, port: listener.local.port };
      listener.setPeerOptions(v4.client, { password: 'first' });
      const other = address('127.0.0.8');
      expect(await attempt(remote, { localAddress: other })).to.equal('up');
      const localAddress = v4.client;
      expect(await attempt(remote, { localAddress, password: 'first' })).to.equal('up');
      listener.setPeerOptions(v4.client, { password: 'second' });
      expect(await unanswered(remote, { localAddress, password: 'first' })).to.equal('TIMEOUT');
      expect(await attempt(remote, { localAddress, password: 'second' })).to.equal('up');
      listener.clearPeerOptions(v4.client);
      listener.clearPeerOptions(v4.client);
      expect(await attempt(remote, { localAddress })).to.equal('up');
    });

    it('silences a connection that was made unsigned before its key was set', async () => {
      const listener = await listen({ address: v4.server });
      const remote = { address: v4.server, port: listener.local.port };
      const { connection, recorder } = dial(transport, {
        remote,
        localAddress: v4.client,
        connectTimeoutMs: patientMs,
      });
      connections.push(connection);
      // The kernel completes the handshake by itself. Waiting here without the event loop leaves it in the accept queue.
      execFileSync('sleep', ['0.02']);
      await new Promise<void>((resolve) => process.nextTick(resolve));
      execFileSync('sleep', ['0.02']);
      listener.setPeerOptions(v4.client, { password: 'too late for it' });
      await until('the dialler thinks it is up', () => recorder.events.includes('open'));
      connection.write(Uint8Array.of(1, 2, 3));
      await until('it is accepted', () => accepted.length === 1);
      await delay(50);
      expect(accepted, 'it was accepted').to.have.length(1);
      expect(accepted[0]?.recorder.receivedBytes, 'and says nothing').to.equal(0);
    });

    it('takes keys of 1 to 80 octets and names the length of others, never the key', async () => {
      const listener = await listen({ address: v4.server });
      const remote = { address: v4.server, port: listener.local.port };
      const longest = 'k'.repeat(80);
      listener.setPeerOptions(v4.client, { password: longest });
      expect(await attempt(remote, { localAddress: v4.client, password: longest })).to.equal('up');
      for (const password of ['', 'secret-'.repeat(12), 'é'.repeat(41)]) {
        expect(() => listener.setPeerOptions(v4.client, { password }))
          .to.throw(TransportError, /1 to 80 octets, this one \d+$/)
          .with.property('code', 'INVALID_OPTION');
        expect(await attempt(remote, { password })).to.equal('INVALID_OPTION');
      }
    });

    it('shows the key in no object and no error', async () => {
      const listener = await listen({ address: v4.server });
      const password = 'do-not-show-me';
      listener.setPeerOptions(v4.client, { password });
      const remote = { address: v4.server, port: listener.local.port };
      const good = dial(transport, {
        remote,
        localAddress: v4.client,
        password,
        connectTimeoutMs: patientMs,
      });
      connections.push(good.connection);
      await until('it is up', () => accepted.length > 0);
      const bad = dial(transport, {
        remote,
        password: `${password}!`,
        localAddress: v4.client,
        connectTimeoutMs: 50,
      });
      await until('it fails', () => bad.recorder.closes > 0);
      const things = [listener, good.connection, accepted[0]?.connection, bad.recorder.error];
      const shown = things
        .map((thing) => inspect(thing, { depth: 20, showHidden: true }) + JSON.stringify(thing))
        .join('\n');
      expect(shown).to.not.include(password);
    });
  });

  describe('GTSM (RFC 5082) and TTL', () => {
    const gtsm: SocketOptions = { ttl: { kind: 'gtsm', hops: 1 } };

    for (const [name, pair, listenAddress] of [
      ['IPv4', v4, v4.server],
      ['IPv6', v6, v6.server],
      ['IPv4 on a dual-stack listener', v4, undefined],
    ] as const) {
      it(`takes TTL 255 and drops less, accepting: ${name}`, async () => {
        const listener = await listen(
          listenAddress === undefined ? {} : { address: listenAddress },
        );
        listener.setPeerOptions(pair.client, gtsm);
        const remote = { address: pair.server, port: listener.local.port };
        const localAddress = pair.client;
        const ttl = { kind: 'hops', hops: 254 } as const;
        expect(await attempt(remote, { localAddress, ttl })).to.equal('RESET');
        expect(await attempt(remote, { localAddress })).to.equal('RESET');
        expect(accepted, 'nobody hears of them').to.have.length(0);
        expect(dropped[0]?.message).to.match(/arrived with TTL 254, GTSM asks for 255/);
        expect(await attempt(remote, { localAddress, ...gtsm })).to.equal('up');
      });

      it(`takes TTL 255 and drops less, dialling: ${name}`, async () => {
        const listener = await listen(
          listenAddress === undefined ? {} : { address: listenAddress },
        );
        const remote = { address: pair.server, port: listener.local.port };
        const options = { localAddress: pair.client, ...gtsm };
        expect(await unanswered(remote, options), 'SYN-ACK with TTL 64').to.equal('TIMEOUT');
        listener.setPeerOptions(pair.client, gtsm);
        expect(await attempt(remote, options)).to.equal('up');
      });
    }

    it('holds for a range', async () => {
      const listener = await listen();
      listener.setRangeOptions(prefix('127.0.0.8/29'), gtsm);
      const remote = { address: v4.server, port: listener.local.port };
      const localAddress = v4.client;
      expect(await attempt(remote, { localAddress })).to.equal('RESET');
      expect(dropped[0]?.message).to.match(/GTSM asks for 255/);
      expect(await attempt(remote, { localAddress, ...gtsm })).to.equal('up');
      expect(await attempt(remote, { localAddress: v4.server }), 'outside').to.equal('up');
    });

    it('drops later packets with a lower TTL on a connection that began with 255', async () => {
      const listener = await listen({ address: v4.server });
      listener.setPeerOptions(v4.server, gtsm);
      const fd = openTcpSocket('ipv4');
      setPathOptions(fd, 'ipv4', gtsm);
      const socket = new Socket({ fd });
      socket.on('error', () => undefined);
      socket.connect({ host: formatAddress(v4.server), port: listener.local.port });
      await until('it is accepted', () => accepted.length === 1);
      const heard = () => accepted[0]?.recorder.receivedBytes;
      socket.write('near');
      await until('it is heard', () => heard() === 4);
      setPathOptions(fd, 'ipv4', { ttl: { kind: 'hops', hops: 254 } });
      socket.write('far');
      await delay(40);
      expect(heard(), 'TTL 254 is not').to.equal(4);
      setPathOptions(fd, 'ipv4', gtsm);
      await until('sent again with 255 it is', () => heard() === 7);
      socket.destroy();
    });

    it('counts hops: 3 lets TTL 253 in and 252 not', async () => {
      const listener = await listen({ address: v4.server });
      listener.setPeerOptions(v4.client, { ttl: { kind: 'gtsm', hops: 3 } });
      const remote = { address: v4.server, port: listener.local.port };
      const localAddress = v4.client;
      const from = (hops: number) => attempt(remote, { localAddress, ttl: { kind: 'hops', hops } });
      expect([await from(253), await from(252)]).to.deep.equal(['up', 'RESET']);
    });

    it('gives neighbours without GTSM their usual TTL back', async () => {
      const listener = await listen();
      listener.setPeerOptions(v4.client, gtsm);
      const remote = { address: v4.server, port: listener.local.port };
      const localAddress = address('127.0.0.8');
      expect(await attempt(remote, { localAddress })).to.equal('up');
      // Who dials with a minimum finds out what arrives.
      const ttl = { kind: 'gtsm', hops: 100 } as const;
      const { connection, recorder } = dial(transport, {
        remote,
        localAddress,
        ttl,
        connectTimeoutMs: patientMs,
      });
      connections.push(connection);
      await until('the SYN-ACK has TTL 255', () => recorder.events.includes('open'));
      await until('it is accepted', () => accepted.length === 2);
      accepted[1]?.connection.write(Uint8Array.of(9));
      await delay(40);
      expect(recorder.receivedBytes, 'data with TTL 64 is below 156').to.equal(0);
    });
  });

  it('cuts a connection whose data stays unacknowledged (TCP_USER_TIMEOUT)', async () => {
    const listener = await listen({ address: v4.server });
    const remote = { address: v4.server, port: listener.local.port };
    const options = { localAddress: v4.client, userTimeoutMs: 150 };
    const { connection, recorder } = dial(transport, {
      remote,
      connectTimeoutMs: patientMs,
      ...options,
    });
    connections.push(connection);
    await until('it is up', () => accepted.length > 0 && recorder.events.includes('open'));
    // The reader stops: its window closes, and what is sent then is never taken.
    accepted[0]?.connection.pauseReading();
    await delay(10);
    const chunk = new Uint8Array(65_536);
    recorder.onEvent = (event) => {
      if (event === 'drain') while (connection.write(chunk));
    };
    while (connection.write(chunk));
    await until('it is cut', () => recorder.closes > 0);
    expect(recorder.error?.code).to.equal('TIMEOUT');
  });

  it('ends a connection whose neighbour sent FIN and reads no more, with bytes unsent', async () => {
    const listener = await listen({ address: v4.server });
    const socket = new Socket({ allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.connect({ host: formatAddress(v4.server), port: listener.local.port });
    await until('it is accepted', () => accepted.length > 0);
    const [end] = accepted;
    if (end === undefined) throw new Error('not accepted');
    const chunk = new Uint8Array(65_536);
    const fill = () => {
      while (end.connection.write(chunk));
    };
    end.recorder.onEvent = (event) => {
      if (event === 'drain') fill();
    };
    socket.pause();
    fill();
    let seen = -1;
    while (seen !== end.recorder.progress) {
      seen = end.recorder.progress;
      await delay(20);
    }
    expect(end.connection.bufferedBytes).to.be.above(0);
    socket.end();
    await until('it ends', () => end.recorder.closes > 0);
    expect(end.recorder.error).to.equal(undefined);
    socket.destroy();
  });

  describe('errors that a person can act on', () => {
    it('names an interface that does not exist, dialling and listening', async () => {
      const remote = { address: v4.server, port: 1 };
      const { recorder } = dial(transport, {
        remote,
        localInterface: 'nothere0',
        connectTimeoutMs: patientMs,
      });
      await until('it fails', () => recorder.closes > 0);
      expect(recorder.error?.message).to.match(/interface nothere0: there is no such interface/);
      const error = await listen({ interface: 'nothere0' }).catch((reason: Error) => reason);
      expect(error).to.be.instanceOf(TransportError);
      expect(inspect(error)).to.include('interface nothere0: there is no such interface');
    });

    it('listens on an interface and takes what arrives there', async () => {
      const listener = await listen({ interface: 'lo' });
      const remote = { address: v4.server, port: listener.local.port };
      expect(await attempt(remote, { localInterface: 'lo' })).to.equal('up');
      expect(accepted[0]?.connection.remote.address).to.deep.equal(v4.server);
      const again = await listen({ interface: 'lo', port: listener.local.port }).catch(
        (reason: TransportError) => reason.code,
      );
      expect(again).to.equal('ADDRESS_IN_USE');
    });

    it('says that a low port needs CAP_NET_BIND_SERVICE', async function () {
      if (process.getuid?.() !== 0) skip(this, 'only root can become nobody');
      const low = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'));
      if (low <= 179) skip(this, `this kernel gives ports from ${low} on to everybody`);
      const script = `
        import { NodeTcpTransport } from './protocol/io/node-tcp.ts';
        process.setgroups([]); process.setgid(65534); process.setuid(65534);
        await new NodeTcpTransport().listen({ port: 179 }, () => undefined).catch((error) =>
          process.stdout.write(error.code + ' ' + error.message));`;
      const args = ['--conditions=bgp-ts-source', '--input-type=module', '-e', script];
      const said = execFileSync(process.execPath, args, { encoding: 'utf8' });
      expect(said).to.match(/^PERMISSION cannot listen on \[::\]:179: .*CAP_NET_BIND_SERVICE/);
    });

    it('refuses a link-local neighbour without an interface, or on one that is not there', async () => {
      const linkLocal = { address: address('fe80::1'), port: 1 };
      expect(await attempt(linkLocal, {})).to.equal('INVALID_OPTION');
      const code = await attempt({ ...linkLocal, zone: 'nothere0' }, {});
      expect(code).to.equal('ADDRESS_NOT_AVAILABLE');
    });

    it('refuses a source of the other family in a sentence', async () => {
      const code = await attempt({ address: v6.server, port: 1 }, { localAddress: v4.client });
      expect(code).to.equal('INVALID_OPTION');
    });
  });

  it('leaks no descriptor over dials that fail', async () => {
    const count = () => readdirSync('/proc/self/fd').length;
    const remote = { address: v4.server, port: 1 };
    const round = async () => {
      // Refused without a signature, and so not believed: a dial with a key times out where nobody listens.
      const password = 'x';
      await attempt(remote, { password, connectTimeoutMs: 20 });
      await attempt(remote, { password, localInterface: 'nothere0' });
      await attempt(remote, { password, localAddress: address('198.51.100.1') });
      await attempt(remote, { ttl: { kind: 'hops', hops: 1 } });
    };
    await round();
    await delay(10);
    const before = count();
    for (let at = 0; at < 5; at += 1) await round();
    await until('those of the dials are closed', () => count() <= before);
  });

  it('speaks to a link-local address with its zone, and tells it of the one who came', async function () {
    const own = Object.entries(networkInterfaces())
      .flatMap(([zone, entries]) => (entries ?? []).map((entry) => ({ zone, ...entry })))
      .find((entry) => entry.address.startsWith('fe80:'));
    if (own === undefined) return skip(this, 'no interface has a link-local address');
    const listener = await listen();
    const remote = { address: address(own.address), port: listener.local.port, zone: own.zone };
    expect(await attempt(remote)).to.equal('up');
    const far = accepted[0]?.connection.remote;
    expect(far?.zone).to.equal(own.zone);
    expect(far === undefined ? '' : formatAddress(far.address)).to.equal(own.address);
  });
});
