/**
 * `herald router` as the load balancer of a site: real sessions, real kernel routes, in namespaces. Three machines announce
 * one address; what counts is what the kernel of the router's machine has.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithoutLab } from '../interop/require-lab.ts';
import { createRouter } from '../interop/routers/create.ts';
import { createLab, type Host, type Lab } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import type { Running } from '../support/process.ts';
import { heraldProgram } from './support/herald-program.ts';

const VIP = '198.51.100.7';
const VIP6 = '2001:db8:ffff::7';
const TABLE = '4242';
const KEY = 'a key of the range';

interface Node {
  readonly host: Host;
  readonly address: string;
  readonly address6: string;
  /** of the router, on this link */
  readonly router: string;
}

interface Site {
  readonly lab: Lab;
  readonly router: Host;
  readonly nodes: readonly Node[];
  /** of the router, link by link */
  readonly linkLocals: readonly string[];
}

async function createSite(): Promise<Site> {
  const lab = createLab('rt');
  const router = await lab.host('router', { forward: true });
  const nodes: Node[] = [];
  const linkLocals: string[] = [];
  for (const number of [1, 2, 3]) {
    const host = await lab.host(`n${number}`, { forward: false });
    const [net, net6] = [`10.77.${number}`, `fd77:${number}:`];
    const a = [`${net}.1/24`, `${net6}:1/64`];
    const b = [`${net}.2/24`, `${net6}:2/64`];
    linkLocals.push((await lab.link(router, host, { a, b })).a.linkLocal);
    nodes.push({ host, address: `${net}.2`, address6: `${net6}:2`, router: `${net}.1` });
  }
  return { lab, router, nodes, linkLocals };
}

const ROUTER_FLAGS = [
  '--asn',
  '64500',
  '--router-id',
  '10.77.0.1',
  '--neighbor-range',
  '10.77.0.0/16',
];

/** starts it and waits for its ready line */
async function startRouter({ router }: Site, ...more: string[]): Promise<Running> {
  const args = ['router', '--http', '127.0.0.1:8080', ...ROUTER_FLAGS, ...more];
  const name = `router-${performance.now()}`;
  const child = router.spawn(name, heraldProgram(), args);
  await untilValue(
    'the router listens',
    () => child.log(),
    (log) => /^listening on \[::\]:179, AS 64500$/m.test(log),
  );
  return child;
}

function announce(node: Node, prefixes: readonly string[], ...more: string[]): Running {
  const args = ['announce', '--peer', node.router, '--peer-asn', '64500', '--asn', '64512'];
  const name = `announce-${performance.now()}`;
  return node.host.spawn(name, heraldProgram(), [...args, ...more, ...prefixes]);
}

/** what the kernel has of ours in the table, by prefix: gateways in order */
async function kernelRoutes({ router }: Site, table = TABLE): Promise<Record<string, string[]>> {
  const found: Record<string, string[]> = {};
  for (const family of ['-4', '-6']) {
    const show = [family, '-j', 'route', 'show', 'table', table, 'proto', '72'];
    const { stdout } = await router.exec('ip', show, { anyStatus: true });
    for (const route of stdout.trim() === '' ? [] : JSON.parse(stdout)) {
      const hops: { gateway: string }[] = route.nexthops ?? [route];
      found[route.dst] = hops.map(({ gateway }) => gateway).toSorted();
    }
  }
  return found;
}

async function untilKernel(site: Site, wanted: Record<string, string[]>, timeoutMs = 30_000) {
  const text = JSON.stringify(wanted);
  await untilValue(
    `the kernel has ${text}`,
    () => kernelRoutes(site),
    (found) => JSON.stringify(sorted(found)) === JSON.stringify(sorted(wanted)),
    { timeoutMs },
  );
}

function sorted(routes: Record<string, string[]>): [string, string[]][] {
  return Object.entries(routes).toSorted(([a], [b]) => (a < b ? -1 : 1));
}

async function get({ router }: Site, path: string): Promise<string> {
  return (await router.exec('curl', ['-s', `http://127.0.0.1:8080${path}`])).stdout;
}

/** segments dropped by the router's kernel: signed with another key, and not signed at all */
async function md5Counters({ router }: Site): Promise<number[]> {
  const { stdout } = await router.exec('cat', ['/proc/net/netstat']);
  const [names = [], values = []] = stdout
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'))
    .map((line) => line.split(' '));
  return ['TCPMD5Failure', 'TCPMD5NotFound'].map((name) => Number(values[names.indexOf(name)]));
}

const via = (...nodes: readonly (Node | undefined)[]) => nodes.map((node) => node?.address ?? '');
const via6 = (...nodes: readonly (Node | undefined)[]) => nodes.map((node) => node?.address6 ?? '');

describe('herald router on a machine', function () {
  this.timeout(180_000);
  let site: Site;

  before(async function () {
    skipWithoutLab(this, ['bird']);
    site = await createSite();
  });
  afterEach(async () => {
    for (const host of [site.router, ...site.nodes.map((node) => node.host)]) await host.stopAll();
    await site.router.ip(`route flush table ${TABLE}`).catch(() => undefined);
  });
  after(() => site?.lab.destroy());

  it('shares an address between three machines in the kernel, both families; one is killed, one drained', async () => {
    const [a, b, c] = site.nodes;
    await startRouter(site, '--install', '--table', TABLE, '--hold', '3');
    const children = site.nodes.map((node) => announce(node, [VIP, VIP6], '--hold', '3'));
    await untilKernel(site, { [VIP]: via(a, b, c), [VIP6]: via6(a, b, c) });
    const routes = JSON.parse(await get(site, '/routes'));
    expect(routes.routes[0]).to.deep.equal({
      prefix: `${VIP}/32`,
      nextHops: site.nodes.map(({ address }) => ({ address, peer: address, best: true })),
    });
    expect(JSON.parse(await get(site, '/peers')).peers).to.have.length(3);
    children[0]?.signal('SIGKILL');
    await untilKernel(site, { [VIP]: via(b, c), [VIP6]: via6(b, c) });
    await children[1]?.stop();
    await untilKernel(site, { [VIP]: via(c), [VIP6]: via6(c) });
    if (b === undefined) throw new Error('no node');
    announce(b, [VIP, VIP6], '--community', 'graceful-shutdown');
    await untilValue(
      'the drained path is known and not used',
      async () => JSON.parse(await get(site, '/routes')).routes[0].nextHops,
      (hops: { address: string; best: boolean }[]) =>
        hops.length === 2 && hops.every((hop) => hop.best === (hop.address === c?.address)),
    );
    expect(await kernelRoutes(site)).to.deep.equal({ [VIP]: via(c), [VIP6]: via6(c) });
  });

  it('loses a frozen neighbour by its hold time, and never with --hold 0', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    for (const hold of ['3', '0']) {
      const router = await startRouter(site, '--install', '--table', TABLE, '--hold', hold);
      // theirs is so long that only ours can be the one that ends it
      const long = ['--hold', '90'];
      const [frozen, other] = [announce(a, [VIP], ...long), announce(b, [VIP], ...long)];
      await untilKernel(site, { [VIP]: via(a, b) });
      frozen.freeze();
      if (hold === '3') await untilKernel(site, { [VIP]: via(b) });
      else {
        await new Promise((resolve) => setTimeout(resolve, 6000));
        expect(await kernelRoutes(site), 'hold time 0').to.deep.equal({ [VIP]: via(a, b) });
      }
      await frozen.kill();
      await other.kill();
      expect(await router.stop()).to.equal(0);
    }
  });

  it("removes its routes on SIGTERM, those of a crash at the next start, and nobody else's", async () => {
    const [a] = site.nodes;
    if (a === undefined) throw new Error('no node');
    await site.router.ip(`route add 203.0.113.0/24 via ${a.address} table ${TABLE}`);
    const install = ['--install', '--table', TABLE];
    const first = await startRouter(site, ...install);
    const node = announce(a, [VIP, VIP6]);
    await untilKernel(site, { [VIP]: via(a), [VIP6]: via6(a) });
    await first.kill();
    await node.kill();
    expect(await kernelRoutes(site), 'a crash leaves them').to.deep.equal({
      [VIP]: via(a),
      [VIP6]: via6(a),
    });
    const second = await startRouter(site, ...install);
    await untilKernel(site, {});
    announce(a, [VIP]);
    await untilKernel(site, { [VIP]: via(a) });
    expect(await second.stop()).to.equal(0);
    expect(await kernelRoutes(site)).to.deep.equal({});
    const { stdout } = await site.router.exec('ip', ['route', 'show', 'table', TABLE]);
    expect(stdout).to.match(/^203\.0\.113\.0\/24 via/);
  });

  it('does not start beside another: exit 1, and the routes of the other stay', async () => {
    const [a] = site.nodes;
    if (a === undefined) throw new Error('no node');
    await startRouter(site, '--install', '--table', TABLE);
    announce(a, [VIP]);
    await untilKernel(site, { [VIP]: via(a) });
    const args = ['router', ...ROUTER_FLAGS, '--install', '--table', TABLE];
    const second = await site.router.exec(heraldProgram(), args, { anyStatus: true });
    expect(second.status).to.equal(1);
    expect(second.stderr).to.match(/cannot listen on \[::\]:179: .* in use .*`ss -ltnp`/);
    expect(await kernelRoutes(site)).to.deep.equal({ [VIP]: via(a) });
  });

  it('cuts off a neighbour over --max-prefix with Cease 6/1, and the others stay', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    await startRouter(site, '--install', '--table', TABLE, '--max-prefix', '2');
    announce(a, [VIP]);
    await untilKernel(site, { [VIP]: via(a) });
    const greedy = announce(b, [VIP, '198.51.100.8', '198.51.100.9'], '--json');
    await untilValue(
      'the neighbour has heard why',
      () => greedy.log(),
      (log) => /Maximum Number of Prefixes/i.test(log),
    );
    await untilKernel(site, { [VIP]: via(a) });
  });

  it('asks for the key of the range: the right one comes in, wrong ones and none do not', async () => {
    const [a, b, c] = site.nodes;
    if (a === undefined || b === undefined || c === undefined) throw new Error('no node');
    const file = (host: Host, key: string) => {
      const path = join(host.folder, 'key');
      writeFileSync(path, `${key}\n`, { mode: 0o600 });
      return ['--password-file', path];
    };
    const router = await startRouter(
      site,
      '--install',
      '--table',
      TABLE,
      ...file(site.router, KEY),
    );
    announce(b, [VIP], ...file(b.host, 'another key'));
    announce(c, [VIP]);
    announce(a, [VIP], ...file(a.host, KEY));
    await untilKernel(site, { [VIP]: via(a) });
    await untilValue(
      'the kernel has turned away a wrong key and no key',
      () => md5Counters(site),
      ([wrong = 0, none = 0]) => wrong > 0 && none > 0,
    );
    const { peers } = JSON.parse(await get(site, '/peers'));
    expect(peers.map(({ peer }: { peer: string }) => peer)).to.deep.equal([a.address]);
    expect(router.log()).to.not.include('can announce routes');
    expect(router.log()).to.not.include(KEY);
  });

  it('says what the kernel refuses, uses the rest, and tries again when a link comes up', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    await startRouter(site, '--install', '--table', TABLE);
    announce(a, [VIP]);
    announce(b, [VIP], '--next-hop', '10.99.0.2');
    await untilValue(
      'both paths are known',
      async () => JSON.parse(await get(site, '/routes')).routes[0],
      (route) => route?.nextHops.length === 2 && /10\.99\.0\.2/.test(route.problem),
    );
    await untilKernel(site, { [VIP]: via(a) });
    await site.router.ip('address add 10.99.0.1/24 dev eth1');
    await untilKernel(site, { [VIP]: [a.address, '10.99.0.2'] });
    await untilValue(
      'no problem any more',
      async () => JSON.parse(await get(site, '/routes')).routes[0],
      (route) => route !== undefined && !('problem' in route),
    );
    await site.router.ip('address del 10.99.0.1/24 dev eth1');
  });

  it('says which routes it drops and why, in few lines however often they come', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    const router = await startRouter(site);
    announce(b, [VIP], '--next-hop', a.router);
    const bird = createRouter('bird');
    await bird.start(a.host, {
      localAsn: 64512,
      routerId: a.address,
      neighbours: [
        { address: a.router, asn: 64500, families: ['ipv4', 'ipv6'], localAddress: a.address },
      ],
      announce: Array.from({ length: 200 }, (_, at) => ({
        prefix: `198.51.100.${at}/32`,
        // an attribute of its own each, so an UPDATE each
        communities: [`64512:${at}`],
        prepend: [64500],
      })),
    });
    await untilValue(
      'all are dropped',
      async () => JSON.parse(await get(site, '/peers')).peers,
      (peers: readonly { readonly rejected: number }[]) =>
        peers
          .map(({ rejected }) => rejected)
          .toSorted((x, y) => x - y)
          .join() === '1,200',
    );
    const log = router.log();
    expect(log).to.match(
      /^herald router: 198\.51\.100\.7\/32 of 10\.77\.2\.2 is dropped: its next hop 10\.77\.1\.1 is our own address$/m,
    );
    const ofBird =
      /^herald router: 198\.51\.100\.\d+\/32 of 10\.77\.1\.2 is dropped: our AS 64500 is in its path already/gm;
    expect(log.match(ofBird)).to.have.length(5);
    await bird.stop();
    expect(await router.stop()).to.equal(0);
    expect(router.log(), 'what was left out is said at the end').to.match(
      /of 10\.77\.1\.2 is dropped: .* \(194 lines like this were left out\)$/m,
    );
  });

  it('gets its routes back after a link was down', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    await startRouter(site, '--install', '--table', TABLE, '--hold', '3');
    for (const node of [a, b]) announce(node, [VIP, VIP6]);
    const both = { [VIP]: via(a, b), [VIP6]: via6(a, b) };
    await untilKernel(site, both);
    await site.router.ip('link set eth0 down');
    await untilValue(
      'the kernel took the IPv6 next hop away',
      () => kernelRoutes(site),
      (found) => found[VIP6]?.length === 1,
    );
    await site.router.ip('link set eth0 up', 'address add fd77:1::1/64 dev eth0 nodad');
    await untilKernel(site, both);
  });

  it('takes neighbours over IPv6, link-local ones too', async () => {
    const [a, b] = site.nodes;
    if (a === undefined || b === undefined) throw new Error('no node');
    const ranges = ['--neighbor-range', 'fd77::/16', '--neighbor-range', 'fe80::/10'];
    await startRouter(site, '--install', '--table', TABLE, ...ranges);
    announce({ ...a, router: 'fd77:1::1' }, [VIP, VIP6]);
    const [linkLocal = ''] = site.linkLocals.slice(1);
    announce({ ...b, router: `${linkLocal}%eth0` }, [VIP, VIP6]);
    await untilKernel(site, { [VIP]: via(a, b), [VIP6]: via6(a, b) });
    const { peers } = JSON.parse(await get(site, '/peers'));
    expect(peers.map(({ peer }: { peer: string }) => peer)).to.include(a.address6);
    expect(JSON.stringify(peers)).to.match(/"fe80::[^"]*%eth1"/);
  });

  it('takes BIRD as a neighbour like any other', async () => {
    const [a] = site.nodes;
    if (a === undefined) throw new Error('no node');
    await startRouter(site, '--install', '--table', TABLE, '--neighbor-asn', '64512');
    const bird = createRouter('bird');
    await bird.start(a.host, {
      localAsn: 64512,
      routerId: a.address,
      neighbours: [
        { address: a.router, asn: 64500, families: ['ipv4', 'ipv6'], localAddress: a.address },
      ],
      announce: [{ prefix: `${VIP}/32` }, { prefix: '198.51.100.0/25' }],
    });
    await untilKernel(site, { [VIP]: via(a), '198.51.100.0/25': via(a) });
    await bird.stop();
    await untilKernel(site, {});
  });
});
