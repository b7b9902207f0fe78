/**
 * What `herald manifest router` prints, in the routers it is printed for. Every assertion is on the router's own table, session list
 * or kernel routes.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithoutLab } from '../interop/require-lab.ts';
import type { Family } from '../interop/routers/router.ts';
import { itConcurrently } from '../support/concurrently.ts';
import { claimDocument, peerDocument, poolDocument, runManifest } from '../support/manifest-run.ts';
import type { Host } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import type { LoadedKind } from './manifest-router-daemons.ts';
import { key, launcher, nodeAsn, RouterLab, routerAsn, routerFile } from './manifest-router-lab.ts';

const kinds: readonly LoadedKind[] = ['frr', 'bird', 'gobgp', 'openbgpd'];
/** OpenBGPD on Linux puts no key on its listening socket; what that means is a test of its own. */
const documentsFor = (kind: LoadedKind) => (kind === 'openbgpd' ? {} : { password: key });
const signs = (lab: RouterLab) => (lab.router.kind === 'openbgpd' ? [] : lab.signed(key));
const twoNeighbours = ['--neighbor', '10.0.0.11=node-1', '--neighbor', '10.0.0.12=node-2'];

describe('manifest router: the files in their routers', function () {
  this.timeout(240_000);

  before(function () {
    skipWithoutLab(this, kinds);
  });

  for (const kind of kinds) {
    describe(kind, () => {
      let lab: RouterLab;
      let second: Host;

      before(async () => {
        lab = await RouterLab.start(
          kind,
          await routerFile(kind, documentsFor(kind), ...twoNeighbours),
        );
      });

      after(async () => {
        await lab?.lab.destroy();
      });

      it('takes host routes of the pools and nothing else, in both families', async () => {
        const host = await lab.node(11);
        // one UPDATE per family holds them all: when the good one is in the table, the others have been judged
        const routes = [
          ...['192.0.2.8', '192.0.2.100', '192.0.2.101', '192.0.2.7', '198.51.100.1'],
          ...['192.0.2.8/31', '192.0.2.0/24', '0.0.0.0/0', '10.0.0.0/24'],
          ...['2001:db8:1::7', '2001:db8:1::/120', '2001:db8:1::/64', '2001:db8:2::1', '::/0'],
        ];
        lab.announce(host, 'node-1', ...signs(lab), ...routes);
        await lab.table('ipv4', ['192.0.2.100/32 10.0.0.11', '192.0.2.8/32 10.0.0.11']);
        await lab.table('ipv6', ['2001:db8:1::7/128 2001:db8::11']);
        expect(await lab.router.established()).to.deep.equal(['10.0.0.11']);
      });

      it('uses both nodes of an address', async () => {
        second = await lab.node(12);
        const node = lab.announce(second, 'node-2', ...signs(lab), '192.0.2.8', '2001:db8:1::7');
        await lab.table('ipv6', [
          '2001:db8:1::7/128 2001:db8::11',
          '2001:db8:1::7/128 2001:db8::12',
        ]);
        // GoBGP needs a zebra and OpenBGPD on Linux has no kernel routes: there the table is all
        if (kind === 'frr' || kind === 'bird') {
          const both = ['10.0.0.11', '10.0.0.12'].join();
          const hops = () => lab.kernelHops('192.0.2.8');
          await untilValue('ECMP in the kernel', hops, (found) => found.join() === both);
          const both6 = ['2001:db8::11', '2001:db8::12'].join();
          const hops6 = () => lab.kernelHops('2001:db8:1::7');
          await untilValue('the same in IPv6', hops6, (found) => found.join() === both6);
        }
        await node.stop();
        await lab.table('ipv6', ['2001:db8:1::7/128 2001:db8::11']);
      });

      it('prefers every other node to one that drains', async () => {
        const drain = ['--community', 'graceful-shutdown'];
        // a machine that is no neighbour stays outside
        lab.announce(await lab.node(13), 'stranger', ...signs(lab), '192.0.2.9');
        lab.announce(second, 'node-2', ...signs(lab), ...drain, '192.0.2.8', '2001:db8:1::7');
        const v4 = await preferences(lab, 'ipv4', '192.0.2.8/32');
        expect(v4.get('10.0.0.11')).to.equal(100);
        expect(v4.get('10.0.0.12')).to.be.below(2);
        const v6 = await preferences(lab, 'ipv6', '2001:db8:1::7/128');
        expect(v6.get('2001:db8::11')).to.equal(100);
        expect(v6.get('2001:db8::12')).to.be.below(2);
        if (kind === 'frr' || kind === 'bird') {
          const hops = () => lab.kernelHops('192.0.2.8');
          await untilValue('one way only', hops, (found) => found.join() === '10.0.0.11');
        }
        const table = await lab.router.paths('ipv4');
        expect(table.filter((path) => path.prefix === '192.0.2.9/32')).to.deep.equal([]);
      });
    });
  }
});

/** Local preference by next hop, once the router has both paths. GoBGP takes a neighbour back up to 30 s after it left. */
async function preferences(
  lab: RouterLab,
  family: Family,
  prefix: string,
): Promise<ReadonlyMap<string, number>> {
  const paths = await untilValue(
    'both paths',
    async () => (await lab.router.paths(family)).filter((path) => path.prefix === prefix),
    (found) => found.length === 2,
    { timeoutMs: 90_000 },
  );
  return new Map(paths.map((path) => [path.nextHop, path.localPref]));
}

describe('manifest router: limits and passwords', function () {
  this.timeout(300_000);

  before(function () {
    skipWithoutLab(this, kinds);
  });

  itConcurrently([
    ...kinds.map((kind) => ({
      name: `${kind}: too many prefixes close the session, and it comes back as the file says`,
      run: () => prefixLimit(kind),
    })),
    ...kinds
      .filter((kind) => kind !== 'openbgpd')
      .map((kind) => ({
        name: `${kind}: no session without the key or with another one`,
        run: () => wrongKey(kind),
      })),
    ...kinds.map((kind) => ({
      name: `${kind}: with ttlSecurity a neighbour that sends from far away stays outside`,
      run: () => ttlSecurity(kind),
    })),
    // FRR and BIRD have the agent as their node in every other test of this ring
    ...(['gobgp', 'openbgpd'] as const).map((kind) => ({
      name: `${kind}: \`herald agent\` with the same documents joins, announces and leaves`,
      run: () => agentAsNode(kind),
    })),
    {
      name: 'frr: a link that loses its carrier and has it again is a way of the kernel route again',
      run: carrierLost,
    },
    { name: 'frr: no more sessions from a range than --max-nodes', run: listenLimit },
    {
      name: 'gobgp before 3.21 takes an unsigned session of a range in spite of the key, which is why it is refused',
      run: unsignedRange,
    },
    {
      name: 'openbgpd on Linux takes an unsigned session in spite of the key, which is why the manifest warns',
      run: unsignedIsTaken,
    },
  ]);
});

/**
 * 20 routes and headroom 10 make 30; 35 are too many (FRR looks before it counts, and takes one more). All but FRR count what
 * the filter refuses as well.
 */
async function prefixLimit(kind: LoadedKind): Promise<void> {
  const file = await routerFile(
    kind,
    documentsFor(kind),
    ...twoNeighbours,
    '--restart-minutes',
    '1',
  );
  const lab = await RouterLab.start(kind, file);
  try {
    const [first, second] = [await lab.node(11), await lab.node(12)];
    lab.announce(second, 'other', ...signs(lab), '192.0.2.9');
    await lab.table('ipv4', ['192.0.2.9/32 10.0.0.12']);
    const list = join(first.folder, 'list');
    const range = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => `192.0.2.${from + index}`);
    // from 101 on they are outside the pool
    writeFileSync(list, range(kind === 'frr' ? 60 : 86, 35).join('\n'));
    const greedy = lab.announce(first, 'greedy', ...signs(lab), '--from', list);
    const isTold = () => /[Mm]aximum [Nn]umber of [Pp]refixes/.test(greedy.log());
    await untilValue('the node is told why', isTold, (told) => told, { timeoutMs: 90_000 });
    const closed = performance.now();
    await greedy.stop();
    await lab.table('ipv4', ['192.0.2.9/32 10.0.0.12']);

    lab.announce(first, 'modest', ...signs(lab), ...range(10, 20));
    const back = [...range(10, 20).map((each) => `${each}/32 10.0.0.11`), '192.0.2.9/32 10.0.0.12'];
    if (kind === 'gobgp') {
      // no restart timer: it stays down until a person says otherwise, as the file tells
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      expect(await lab.router.established()).to.deep.equal(['10.0.0.12']);
      const socket = `unix://${join(lab.host.folder, 'gobgp.sock')}`;
      await run('gobgp', ['--target', socket, 'neighbor', '10.0.0.11', 'enable']);
    }
    await lab.table('ipv4', back, 115_000);
    const downSeconds = (performance.now() - closed) / 1000;
    if (kind === 'frr') expect(downSeconds).to.be.within(45, 110);
    // their waits are seconds, or hold only what they dial themselves
    if (kind === 'bird' || kind === 'openbgpd') expect(downSeconds).to.be.below(45);
    expect(await lab.router.established()).to.have.members(['10.0.0.11', '10.0.0.12']);
  } finally {
    await lab.lab.destroy();
  }
}

async function wrongKey(kind: LoadedKind): Promise<void> {
  const lab = await RouterLab.start(
    kind,
    await routerFile(kind, { password: key }, ...twoNeighbours),
  );
  try {
    const wrong = lab.announce(await lab.node(11), 'wrong', ...lab.signed('another'), '192.0.2.8');
    const none = lab.announce(await lab.node(12), 'none', '192.0.2.8');
    for (const node of [wrong, none]) {
      // three attempts, each with all the time a connection needs
      const attempts = () => /attempt 4/.test(node.log());
      await untilValue('it has tried in vain', attempts, (tried) => tried, { timeoutMs: 120_000 });
    }
    expect(await lab.router.paths('ipv4')).to.deep.equal([]);
    expect(await lab.router.established()).to.deep.equal([]);
  } finally {
    await lab.lab.destroy();
  }
}

async function unsignedIsTaken(): Promise<void> {
  const file = await routerFile('openbgpd', { password: key }, ...twoNeighbours);
  expect(file).to.match(/On Linux it checks the key only on sessions that it dials/);
  const lab = await RouterLab.start('openbgpd', file);
  try {
    lab.announce(await lab.node(11), 'unsigned', '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
  } finally {
    await lab.lab.destroy();
  }
}

/** Without --ttl-security an announcer's packets have TTL 1, as those of a neighbour of old have. */
async function ttlSecurity(kind: LoadedKind): Promise<void> {
  const file = await routerFile(kind, { ttlSecurity: true }, ...twoNeighbours);
  const lab = await RouterLab.start(kind, file);
  try {
    lab.announce(await lab.node(12), 'far', '192.0.2.9');
    const startedMs = performance.now();
    lab.announce(await lab.node(11), 'near', '--ttl-security', '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
    // the far one began earlier and has had more time than the near one needed
    const more = { timeoutMs: 60_000, everyMs: 250 };
    const elapsed = () => performance.now() - startedMs;
    await untilValue('time for three attempts', elapsed, (ms) => ms > 10_000, more);
    expect(await lab.router.established()).to.deep.equal(['10.0.0.11']);
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
  } finally {
    await lab.lab.destroy();
  }
}

/** The router's file and the agent come from one folder of documents; no cluster, nothing else on the node. */
async function agentAsNode(kind: 'gobgp' | 'openbgpd'): Promise<void> {
  const lab = await RouterLab.create(kind);
  try {
    const host = await lab.node(11);
    const [folder, ready] = [join(host.folder, 'documents'), join(host.folder, 'ready')];
    mkdirSync(folder);
    const keyFile = join(folder, 'bgp.key');
    writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
    const peer = {
      ...{ address: '10.0.0.1', asn: routerAsn, localASN: nodeAsn, families: ['ipv4', 'ipv6'] },
      timers: { connectRetrySeconds: 1 },
      ...(kind === 'gobgp' ? { password: { file: keyFile } } : {}),
    };
    const pool = { addresses: ['192.0.2.8/29', '2001:db8:1::/120'], drain: { waitSeconds: 0 } };
    writeFileSync(
      join(folder, 'net.yaml'),
      peerDocument('tor', peer) +
        poolDocument('vips', pool) +
        claimDocument('192.0.2.8', { bind: { interface: 'lo' } }) +
        claimDocument('2001-0db8-0001-0000-0000-0000-0000-0007', { bind: { interface: 'lo' } }),
    );
    const source = ['--source', `files:${folder}`];
    const neighbour = ['--neighbor', '10.0.0.11=node-1'];
    const printed = await runManifest('router', '--for', kind, ...source, ...neighbour);
    expect(printed.status, printed.stderr).to.equal(0);
    await lab.router.start(lab.host, printed.stdout);
    const paths = { state: join(host.folder, 'state'), socket: join(host.folder, 'a.sock') };
    const agent = host.spawn('agent', launcher, [
      ...['agent', ...source, '--node-name', 'node-1', '--state-dir', paths.state],
      ...['--socket', paths.socket, '--join-check', `file:${ready}`, '--join-interval', '0.1'],
    ]);
    const sessions = () => lab.router.established();
    await untilValue('the session is up', sessions, (up) => up.join() === '10.0.0.11', {
      timeoutMs: 90_000,
    });
    // a session and no route: this machine has not joined
    await lab.table('ipv4', []);
    writeFileSync(ready, '');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
    await lab.table('ipv6', ['2001:db8:1::7/128 2001:db8::11']);
    expect(await agent.stop()).to.equal(0);
    await lab.table('ipv4', []);
    await lab.table('ipv6', []);
    await untilValue('the session is closed', sessions, (up) => up.length === 0);
  } finally {
    await lab.lab.destroy();
  }
}

/** With groups of next hops in the kernel the second way would stay missing, while every table of FRR shows it. */
async function carrierLost(): Promise<void> {
  const neighbours = ['--neighbor', '10.0.0.11', '--neighbor', '10.1.0.12'];
  const lab = await RouterLab.start('frr', await routerFile('frr', {}, ...neighbours));
  try {
    lab.announce(await lab.node(11), 'first', '192.0.2.8');
    const second = await lab.lab.host('n12', { forward: false });
    const ends = { a: ['10.1.0.1/24'], b: ['10.1.0.12/24'] };
    const link = await lab.lab.link(lab.host, second, ends);
    lab.announceTo('10.1.0.1', second, 'second', '192.0.2.8');
    const hops = () => lab.kernelHops('192.0.2.8');
    const are = (wanted: string) =>
      untilValue(`ways over ${wanted}`, hops, (found) => found.join() === wanted, {
        timeoutMs: 90_000,
      });
    await are('10.0.0.11,10.1.0.12');
    await second.ip(`link set ${link.b.name} down`);
    await are('10.0.0.11');
    await second.ip(`link set ${link.b.name} up`);
    await are('10.0.0.11,10.1.0.12');
  } finally {
    await lab.lab.destroy();
  }
}

async function listenLimit(): Promise<void> {
  const range = ['--neighbor-range', '10.0.0.0/24', '--max-nodes', '1'];
  const lab = await RouterLab.start('frr', await routerFile('frr', { password: key }, ...range));
  try {
    lab.announce(await lab.node(11), 'first', ...lab.signed(key), '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
    const second = lab.announce(await lab.node(12), 'second', ...lab.signed(key), '192.0.2.8');
    const isRefused = () => /attempt 2/.test(second.log());
    await untilValue('the second is refused', isRefused, (is) => is, { timeoutMs: 90_000 });
    expect(await lab.router.established()).to.deep.equal(['10.0.0.11']);
  } finally {
    await lab.lab.destroy();
  }
}

async function unsignedRange(): Promise<void> {
  const { stdout } = await run('gobgpd', ['--version']);
  const [, major = 0, minor = 0] = /version (\d+)\.(\d+)/.exec(stdout) ?? [];
  // a newer one does check: then there is nothing to show
  if (Number(major) > 3 || Number(minor) >= 21) return;
  const range = ['--neighbor-range', '10.0.0.0/24', '--insecure'];
  const lab = await RouterLab.start(
    'gobgp',
    await routerFile('gobgp', { password: key }, ...range),
  );
  try {
    lab.announce(await lab.node(11), 'unsigned', '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
  } finally {
    await lab.lab.destroy();
  }
}

describe('manifest router: nodes with AS numbers of their own', function () {
  this.timeout(240_000);

  before(function () {
    skipWithoutLab(this, kinds);
  });

  itConcurrently([
    {
      name: 'frr: one file for each AS number, both loaded, and all nodes are ways of one kernel route',
      run: twoAsnsInFrr,
    },
    {
      name: 'bird: a neighbour whose AS number was changed in the file is a way of the kernel route',
      run: twoAsnsInBird,
    },
  ]);
});

const otherAsn = 64513;

async function twoAsnsInFrr(): Promise<void> {
  const fileOf = (asn: number, neighbour: string) => {
    const flags = ['--asn', String(asn), '--neighbor', neighbour, '--max-nodes', '2'];
    return routerFile('frr', { otherAsns: [otherAsn] }, ...flags);
  };
  const files = [await fileOf(nodeAsn, '10.0.0.11'), await fileOf(otherAsn, '10.0.0.12')];
  await bothAreWays('frr', files.join(''));
}

/** A bird.conf is whole, two of them are none: the other AS number goes into its neighbour by hand. */
async function twoAsnsInBird(): Promise<void> {
  const file = await routerFile('bird', {}, ...twoNeighbours);
  const line = 'neighbor 10.0.0.12 as ';
  expect(file).to.include(`${line}${nodeAsn};`);
  await bothAreWays('bird', file.replace(`${line}${nodeAsn}`, `${line}${otherAsn}`));
}

async function bothAreWays(kind: 'frr' | 'bird', config: string): Promise<void> {
  const lab = await RouterLab.create(kind);
  try {
    await lab.router.start(lab.host, config);
    const addresses = ['192.0.2.8', '2001:db8:1::7'];
    lab.announce(await lab.node(11), 'first', ...addresses);
    lab.announce(await lab.node(12), 'second', '--asn', String(otherAsn), ...addresses);
    for (const [address, both] of [
      ['192.0.2.8', '10.0.0.11,10.0.0.12'],
      ['2001:db8:1::7', '2001:db8::11,2001:db8::12'],
    ] as const) {
      const hops = () => lab.kernelHops(address);
      const more = { timeoutMs: 90_000 };
      await untilValue(`ways over ${both}`, hops, (found) => found.join() === both, more);
    }
  } finally {
    await lab.lab.destroy();
  }
}

describe('manifest router: what is legal in the documents and not in every router', function () {
  this.timeout(240_000);

  before(function () {
    skipWithoutLab(this, kinds);
  });

  itConcurrently([
    // OpenBGPD is refused, see manifest.test.ts
    ...(['frr', 'bird', 'gobgp'] as const).map((kind) => ({
      name: `${kind}: holdSeconds: 0 is loaded, and a session is up`,
      run: () => noHoldTime(kind),
    })),
    { name: 'bird: names that are one word to it are loaded as several', run: sameNamesInBird },
  ]);
});

async function noHoldTime(kind: LoadedKind): Promise<void> {
  const file = await routerFile(kind, { holdSeconds: 0 }, ...twoNeighbours);
  const lab = await RouterLab.create(kind);
  try {
    await lab.router.start(lab.host, file);
    lab.announce(await lab.node(11), 'node-1', '--hold', '0', '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.11']);
  } finally {
    await lab.lab.destroy();
  }
}

async function sameNamesInBird(): Promise<void> {
  const long = 'x'.repeat(60);
  const names = ['', '=1', '=n-1', '=n_1', '=n.1', '=kernel4', '=in6', `=${long}a`, `=${long}b`];
  const neighbours = names.flatMap((name, at) => ['--neighbor', `10.0.0.${11 + at}${name}`]);
  const lab = await RouterLab.create('bird');
  try {
    await lab.router.start(lab.host, await routerFile('bird', {}, ...neighbours));
    lab.announce(await lab.node(12), 'second', '192.0.2.8');
    lab.announce(await lab.node(14), 'fourth', '192.0.2.8');
    await lab.table('ipv4', ['192.0.2.8/32 10.0.0.12', '192.0.2.8/32 10.0.0.14']);
  } finally {
    await lab.lab.destroy();
  }
}
