/** `herald announce` as a process in front of the scripted neighbour: exit status, what it says, and what is on the wire. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { NodeTcpTransport } from '../../protocol/io/node-tcp.ts';
import { itConcurrently } from '../support/concurrently.ts';
import { HeraldProcess } from '../support/herald-process.ts';
import { HostRouteTable } from '../support/host-route-table.ts';
import { untilValue } from '../support/poll.ts';
import { type NeighbourConnection, NeighbourPort } from '../support/scripted-neighbour.ts';
import { address } from '../support/speaker-under-test.ts';
import {
  KEEPALIVE,
  notification,
  OUR_ASN,
  open,
  shutdownText,
  Type,
  toHex,
} from '../support/wire-bytes.ts';

/** a dozen of these processes start at the same time */
const SLOW = { timeoutMs: 40_000 };
/** below the ports that the kernel gives out: nobody listens there by chance */
const NOBODY = 1;
const asns = ['--peer-asn', '65001', '--asn', String(OUR_ASN)];

function announce(port: number, ...more: readonly string[]): HeraldProcess {
  return new HeraldProcess(['announce', '--peer', `127.0.0.1:${port}`, ...asns, ...more]);
}

async function withPort(test: (port: NeighbourPort) => Promise<void>): Promise<void> {
  const port = await NeighbourPort.listen();
  try {
    await test(port);
  } finally {
    await port.close();
  }
}

async function withFile(text: string, test: (file: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'herald-wire-'));
  try {
    const file = join(folder, 'file');
    writeFileSync(file, text, { mode: 0o600 });
    await test(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function established(port: NeighbourPort): Promise<NeighbourConnection> {
  const neighbour = await port.accept(SLOW);
  await neighbour.establish();
  return neighbour;
}

async function stopsBySignal(signal: 'SIGTERM' | 'SIGINT'): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '--json', '--community', '65000:7', '10.1.0.0/16');
    const neighbour = await established(port);
    const all = neighbour.messages.map(({ body }) => toHex(body)).join(' ');
    expect(all).to.contain('100a01').and.contain('c00804fde80007');
    await untilArrived(herald);
    herald.kill(signal);
    expect(toHex((await neighbour.expectMessage(Type.update)).body)).to.equal('0003100a010000');
    const { body } = await neighbour.expectMessage(Type.notification);
    expect(toHex(body.subarray(0, 2))).to.equal('0602');
    expect(body[2]).to.equal(body.length - 3);
    const text = new TextDecoder().decode(body.subarray(3));
    expect(text).to.contain('herald').and.contain(signal);
    expect(await neighbour.expectEnd()).to.equal('fin');
    expect(await herald.exit()).to.deep.equal({ status: 0, signal: null });
    expectFacts(herald, text);
  });
}

function syncedFact(herald: HeraldProcess): object | undefined {
  return herald.facts.find((fact) => fact['event'] === 'synced');
}

/** An acknowledgement may come 40 ms after the octets, and a stop before it leaves one fact for both changes. */
async function untilArrived(herald: HeraldProcess): Promise<void> {
  await untilValue(
    'the routes have arrived, says herald',
    () => syncedFact(herald),
    (fact) => fact !== undefined,
    SLOW,
  );
}

/** every line of --json is one of the four events, with a time, in the order in which things happened */
function expectFacts(herald: HeraldProcess, text: string): void {
  const facts = herald.facts;
  for (const fact of facts) {
    expect(fact['event']).to.be.oneOf(['session', 'synced', 'notification', 'stopped']);
    expect(new Date(String(fact['time'])).toISOString()).to.equal(fact['time']);
  }
  const up = facts.findIndex((fact) => fact['state'] === 'established');
  const synced = facts.findIndex((fact) => fact['event'] === 'synced');
  const told = facts.findIndex((fact) => fact['event'] === 'notification');
  expect(up).to.be.within(0, synced - 1);
  expect(facts[synced]).to.include({ routes: 1, ipv4: 1, ipv6: 0 });
  expect(facts[told]).to.include({ direction: 'sent', code: 6, subcode: 2, text });
  expect(synced).to.be.below(told);
  expect(facts.at(-1)).to.include({ event: 'stopped', exitCode: 0 });
}

async function refusedByNotification(): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '--json', '10.1.0.0/16');
    const neighbour = await port.accept(SLOW);
    await neighbour.expectMessage(Type.open);
    neighbour.send(notification(2, 2));
    expect((await herald.exit()).status).to.equal(1);
    expect(herald.stderr).to.match(/refused our OPEN/);
    expect(herald.facts.at(-1)).to.include({ event: 'stopped', exitCode: 1 });
  });
}

async function refusesTheirOpen(): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '10.1.0.0/16');
    const neighbour = await port.accept(SLOW);
    await neighbour.expectMessage(Type.open);
    neighbour.send(open({ asn: 65099 }));
    expect(await neighbour.expectNotification()).to.match(/^2\/2/);
    expect((await herald.exit()).status).to.equal(1);
    expect(herald.stderr).to.contain('65099');
  });
}

/** Cease is no refusal of the OPEN: the router may be ready later. */
async function triesOnAfterCease(): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '10.1.0.0/16');
    const first = await port.accept(SLOW);
    await first.expectMessage(Type.open);
    first.send(notification(6, 5, shutdownText('')));
    const second = await port.accept(SLOW);
    await second.establish();
    herald.kill('SIGTERM');
    expect((await herald.exit()).status).to.equal(0);
  });
}

async function connectTimeout(): Promise<void> {
  const started = performance.now();
  const herald = announce(NOBODY, '--connect-timeout', '1', '10.1.0.0/16');
  expect((await herald.exit()).status).to.equal(1);
  expect(performance.now() - started).to.be.at.least(900);
  expect(herald.stderr).to.contain('no session within 1 s');
  expect(herald.stdout).to.equal('');
}

async function silentRouter(): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '--connect-timeout', '4', '10.1.0.0/16');
    const neighbour = await port.accept(SLOW);
    await neighbour.expectMessage(Type.open);
    expect((await herald.exit()).status).to.equal(1);
    expect(await neighbour.expectNotification()).to.match(/^6\/2/);
  });
}

async function secondSignal(): Promise<void> {
  await withPort(async (port) => {
    const list = Array.from({ length: 60_000 }, (_, index) => {
      return `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}/32`;
    });
    await withFile(list.join('\n'), async (file) => {
      const busy = announce(port.port, '--from', file, '--prepend', '100');
      const neighbour = await port.accept(SLOW);
      await neighbour.expectMessage(Type.open);
      neighbour.send(open(), KEEPALIVE);
      await neighbour.expectKeepalive();
      neighbour.pauseReading();
      // two signals that come before the process runs are one to it: the first that it takes begins the stop, the next one ends it
      const signals = setInterval(() => busy.kill('SIGTERM'), 100);
      try {
        // a stop that was not cut short would end with 0, or wait for the neighbour
        const { status } = await busy.exit();
        expect(status, 'as a shell tells SIGTERM').to.equal(143);
      } finally {
        clearInterval(signals);
      }
    });
  });
}

async function passwordStaysSecret(): Promise<void> {
  // a letter of two octets: the kernel must get those of the file
  const secret = 'h1dden-wörd';
  const listener = await new NodeTcpTransport().listen(
    { port: 0, address: address('127.0.0.1') },
    (connection) => ({
      onOpen() {},
      onData() {
        connection.write(open());
        connection.write(KEEPALIVE);
      },
      onProgress() {},
      onDrain() {},
      onClose() {},
    }),
  );
  listener.setPeerOptions(address('127.0.0.1'), { password: secret });
  try {
    await withFile(`${secret}\n`, async (file) => {
      const herald = announce(
        listener.local.port,
        '--json',
        '--password-file',
        file,
        '10.1.0.0/16',
      );
      await untilValue(
        'the key is right',
        () => herald.stderr,
        (text) => text.includes('is up'),
        SLOW,
      );
      expect(herald.visible).to.not.contain(secret);
      herald.kill('SIGTERM');
      await herald.exit();
      expect(herald.stdout + herald.stderr).to.not.contain(secret);
    });
  } finally {
    await listener.close();
  }
}

async function manyFromFile(): Promise<void> {
  const count = 100_000;
  const list = Array.from({ length: count }, (_, index) => {
    return `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}`;
  });
  await withPort((port) =>
    withFile(`# hosts\n\n${list.join('\n')}\n`, async (file) => {
      const herald = announce(port.port, '--json', '--from', file);
      const table = new HostRouteTable();
      const neighbour = await port.accept(SLOW);
      await neighbour.expectMessage(Type.open);
      neighbour.onMessage = ({ type, body }) => {
        if (type === Type.update && !toHex(body).startsWith('00000006800f')) table.read(body);
        return type !== Type.update;
      };
      neighbour.send(open(), KEEPALIVE);
      await neighbour.until('all routes', () => table.routes.size === count, SLOW);
      await untilArrived(herald);
      expect(table.updates, 'full messages').to.be.below(200);
      herald.kill('SIGTERM');
      await neighbour.until('all withdrawn', () => table.routes.size === 0, SLOW);
      expect((await herald.exit()).status).to.equal(0);
      expect(syncedFact(herald)).to.include({ routes: count });
    }),
  );
}

/** an internal session, so that LOCAL_PREF goes out */
async function flagsOnTheWire(): Promise<void> {
  await withPort(async (port) => {
    const inside = ['--peer', `127.0.0.1:${port.port}`, '--peer-asn', 'internal', '--asn', '65001'];
    const session = ['--source', '127.0.0.9', '--router-id', '192.0.2.77', '--hold', '33'];
    const hops = ['--next-hop', '192.0.2.99', '--next-hop', '2001:db8::99'];
    const others = ['--local-pref', '250', '--med', '7', '--community', '65000:1:2'];
    const routes = ['10.1.0.0/16', '2001:db8:5::/48'];
    const herald = new HeraldProcess([
      'announce',
      ...[...inside, ...session, ...hops, ...others, ...routes],
    ]);
    try {
      const neighbour = await port.accept(SLOW);
      expect(neighbour.remoteAddress).to.equal('127.0.0.9');
      await neighbour.establish();
      const [opened] = neighbour.messages;
      // version, AS, hold time 33, identifier
      expect(toHex(opened?.body.subarray(0, 9) ?? new Uint8Array())).to.equal('04fde90021c000024d');
      const updates = neighbour.messages.filter(({ type }) => type === Type.update);
      const [ipv4, ipv6] = ['100a01', '3020010db80005'].map((nlri) =>
        updates.map(({ body }) => toHex(body)).find((body) => body.includes(nlri)),
      );
      const common = ['80040400000007', '400504000000fa', 'c0200c0000fde80000000100000002'];
      for (const attribute of [...common, '400200', '400304c0000263']) {
        expect(ipv4).to.contain(attribute);
      }
      const hop6 = '0002011020010db8000000000000000000000099003020010db80005';
      for (const attribute of [...common, '400200', hop6]) expect(ipv6).to.contain(attribute);
      herald.kill('SIGTERM');
      expect((await herald.exit()).status).to.equal(0);
    } finally {
      herald.kill('SIGKILL');
    }
  });
}

/** The kernel of the scripted neighbour sends with its usual TTL, which GTSM takes for a stranger's (RFC 5082 §3). */
async function ttlSecurity(): Promise<void> {
  await withPort(async (port) => {
    const herald = announce(port.port, '--ttl-security', '--connect-timeout', '2', '10.1.0.0/16');
    expect((await herald.exit()).status).to.equal(1);
    expect(herald.stderr).to.contain('no session within 2 s').and.not.contain('is up');
    expect(port.count, 'no handshake was finished').to.equal(0);
  });
}

/** exactly one sentence on stderr, nothing on stdout, status 2 */
const USAGE: readonly (readonly [string, readonly string[]])[] = [
  ['no prefix', asns.concat('--peer', '127.0.0.1:1')],
  ['no --peer', asns.concat('10.0.0.0/8')],
  ['no --asn', ['--peer', '127.0.0.1:1', '--peer-asn', '65001', '10.0.0.0/8']],
  ['a host name as peer', asns.concat('--peer', 'router.example', '10.0.0.0/8')],
  ['a port that is none', asns.concat('--peer', '127.0.0.1:70000', '10.0.0.0/8')],
  ['AS 0', ['--peer', '127.0.0.1:1', '--peer-asn', '65001', '--asn', '0', '10.0.0.0/8']],
  ['hold time 2', asns.concat('--peer', '127.0.0.1:1', '--hold', '2', '10.0.0.0/8')],
  ['a prefix that is none', asns.concat('--peer', '127.0.0.1:1', '10.0.0.0/33')],
  [
    'a community that is none',
    asns.concat('--peer', '127.0.0.1:1', '--community', 'x', '10.0.0.0/8'),
  ],
  ['an unknown flag', asns.concat('--peer', '127.0.0.1:1', '--frobnicate', '10.0.0.0/8')],
  ['a flag without its value', asns.concat('10.0.0.0/8', '--peer')],
  ['a file that is not there', asns.concat('--peer', '127.0.0.1:1', '--from', '/no/such/file')],
  [
    'a password file that is not there',
    asns.concat('--peer', '127.0.0.1:1', '--password-file', '/no/such', '10.0.0.0/8'),
  ],
];

async function wrongUsage(args: readonly string[]): Promise<void> {
  const herald = new HeraldProcess(['announce', ...args]);
  expect((await herald.exit()).status).to.equal(2);
  expect(herald.stdout).to.equal('');
  expect(herald.stderr).to.match(/^herald announce: [^\n]+\n$/);
}

describe('herald announce', () => {
  itConcurrently([
    {
      name: 'SIGTERM: withdraws, sends Cease with a text, exits 0; --json tells it',
      run: () => stopsBySignal('SIGTERM'),
    },
    { name: 'SIGINT does the same', run: () => stopsBySignal('SIGINT') },
    { name: 'a router that refuses our OPEN: exit 1, with its reason', run: refusedByNotification },
    { name: 'a router whose OPEN is not acceptable: 2/2 and exit 1', run: refusesTheirOpen },
    { name: 'a router that says Cease is tried again', run: triesOnAfterCease },
    {
      name: 'source, identifier, hold time, next hops, LOCAL_PREF, MED and communities arrive as given',
      run: flagsOnTheWire,
    },
    { name: '--ttl-security keeps a neighbour with a lower TTL out', run: ttlSecurity },
    { name: '--connect-timeout with nobody there: exit 1', run: connectTimeout },
    {
      name: '--connect-timeout with a router that never answers: Cease, exit 1',
      run: silentRouter,
    },
  ]);
});

describe('herald announce, heavier', () => {
  itConcurrently([
    { name: 'a second signal ends it at once', run: secondSignal },
    { name: 'the password is nowhere to be seen', run: passwordStaysSecret },
    { name: '100,000 prefixes from a file, in full messages, and back', run: manyFromFile },
  ]);
});

describe('herald announce, wrong usage: one sentence on stderr, exit 2', () => {
  itConcurrently(USAGE.map(([name, args]) => ({ name, run: () => wrongUsage(args) })));
});
