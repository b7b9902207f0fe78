/**
 * Aggregates against a real BIRD and a real FRR, with discard routes in a real kernel: what is in the router's table, and what becomes of a packet to an address inside
 * that nobody has.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Family } from 'bgp-ts';
import { expect } from 'chai';
import { createRouter } from '../../interop/routers/create.ts';
import type { Router } from '../../interop/routers/router.ts';
import { startCapture } from '../../support/capture.ts';
import { documentText } from '../../support/document.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { heraldProgram } from '../support/herald-program.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';

const LINK = {
  ipv4: ['10.61.0.1', '10.61.0.2'],
  ipv6: ['2001:db8:61::1', '2001:db8:61::2'],
} as const;
const CLAIMS = ['198.51.100.7', '198.51.100.8', '2001-0db8-0007-0000-0000-0000-0000-0001'];
const UNUSED = { ipv4: '198.51.100.33', ipv6: '2001:db8:7::33' } as const;
const AGGREGATES = { ipv4: '198.51.100.0/26', ipv6: '2001:db8:7::/80' } as const;
const HOST_ROUTES = {
  ipv4: ['198.51.100.7/32', '198.51.100.8/32'],
  ipv6: ['2001:db8:7::1/128'],
} as const;
const FAMILIES = ['ipv4', 'ipv6'] as const;
/** networks around and inside the aggregates */
const AROUND = { ipv4: '198.51.100.0/25', ipv6: '2001:db8:7::/72' } as const;
const INSIDE = { ipv4: '198.51.100.32/27', ipv6: '2001:db8:7:0:0:8000::/81' } as const;
const BOUND_MS = { timeoutMs: 60_000, everyMs: 50 };

for (const kind of ['bird', 'frr'] as const) {
  describe(`standalone: aggregates, ${kind}`, function () {
    this.timeout(240_000);
    let lab: Lab;
    let node: Host;
    let routerHost: Host;
    let client: Host;
    let router: Router;
    let agent: Running | undefined;
    let starts = 0;
    let device = '';

    before(async function () {
      skipWithoutStandalone(this);
      lab = createLab(`agg${kind}`);
      routerHost = await lab.host('router', { forward: true });
      // of its own: the router itself would drop what comes back to it with its own source
      client = await lab.host('client', { forward: false });
      await lab.link(client, routerHost, {
        a: ['10.62.0.2/24', '2001:db8:62::2/64'],
        b: ['10.62.0.1/24', '2001:db8:62::1/64'],
      });
      await client.ip('route add default via 10.62.0.1', 'route add default via 2001:db8:62::1');
      // as a machine with pods: what it does not know goes back to the router
      node = await lab.host('node', { forward: true });
      const link = await lab.link(routerHost, node, {
        a: [`${LINK.ipv4[0]}/24`, `${LINK.ipv6[0]}/64`],
        b: [`${LINK.ipv4[1]}/24`, `${LINK.ipv6[1]}/64`],
      });
      device = link.a.name;
      await node.ip(
        `route add default via ${LINK.ipv4[0]}`,
        `route add default via ${LINK.ipv6[0]}`,
      );
      await routerHost.ip(
        `route add 198.51.100.0/24 via ${LINK.ipv4[1]}`,
        `route add 2001:db8:7::/64 via ${LINK.ipv6[1]}`,
      );
      router = createRouter(kind);
      await router.start(routerHost, {
        localAsn: 64500,
        routerId: LINK.ipv4[0],
        neighbours: [
          {
            address: LINK.ipv4[1],
            asn: 64512,
            families: ['ipv4', 'ipv6'],
            localAddress: LINK.ipv4[0],
            isPassive: true,
            holdTimeSeconds: 9,
          },
        ],
      });
    });
    after(async () => await lab?.destroy());

    const folder = () => join(node.folder, 'documents');
    const socket = () => join(node.folder, 'agent.sock');

    function write(
      claims: readonly string[],
      spec: object = {},
      more: readonly string[] = [],
    ): void {
      const peer = {
        address: LINK.ipv4[0],
        asn: 64500,
        localASN: 64512,
        timers: { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 },
      };
      const pool = {
        addresses: ['198.51.100.0/24', '2001:db8:7::/64'],
        drain: { waitSeconds: 0 },
        advertisements: [
          {
            aggregationLength: { ipv4: 26, ipv6: 80 },
            discardRoute: true,
            communities: ['65000:7'],
          },
        ],
        ...spec,
      };
      const documents = [
        documentText('BGPPeer', 'tor', peer),
        documentText('IPPool', 'vips', pool),
        ...claims.map((name) => documentText('IPClaim', name, {})),
        ...more,
      ];
      writeFileSync(join(folder(), '.all'), documents.join('\n---\n'));
      writeFileSync(join(folder(), 'all.yaml'), documents.join('\n---\n'));
    }

    async function start(): Promise<void> {
      starts += 1;
      await node.exec('mkdir', ['-p', folder()]);
      const state = join(node.folder, 'state');
      const flags = ['--node-name', 'm1', '--join-check', 'none', '--metrics-address', 'off'];
      agent = node.spawn(`agent-${starts}`, heraldProgram(), [
        'agent',
        ...['--source', `files:${folder()}`, '--state-dir', state, '--socket', socket()],
        ...flags,
      ]);
    }

    const prefixes = async (family: Family) =>
      (await router.routes(family)).map(({ prefix }) => prefix).toSorted();

    async function has(family: Family, wanted: readonly string[]): Promise<void> {
      const label = `${wanted.join(', ') || 'nothing'} in ${kind} (${agent?.log().slice(-1500)})`;
      const isSame = (all: readonly string[]) => all.join() === wanted.toSorted().join();
      await untilValue(label, () => prefixes(family), isSame, BOUND_MS);
    }

    /** ours in the kernel, by their mark */
    async function discarded(): Promise<readonly string[]> {
      const lists = await Promise.all(
        ['-4', '-6'].map((family) => node.exec('ip', [family, 'route', 'show', 'proto', '73'])),
      );
      return lists.flatMap(({ stdout }) =>
        [...stdout.matchAll(/^unreachable (\S+)/gm)].map((match) => match[1] ?? ''),
      );
    }

    const discards = (wanted: readonly string[]) =>
      untilValue('discard routes', discarded, (all) => all.join() === wanted.join(), BOUND_MS);

    const announcesHosts = () =>
      Promise.all(FAMILIES.map((family) => has(family, HOST_ROUTES[family])));

    const announcesAggregates = async () => {
      await Promise.all(FAMILIES.map((family) => has(family, [AGGREGATES[family]])));
      await discards(Object.values(AGGREGATES));
    };

    /** a route to the router, as an administrator writes it */
    const byHand = (family: Family, prefix: string, more = '') =>
      `${prefix} via ${LINK[family][0]} proto static ${more}`;

    /** a change of an address: the agent looks at once, where a route alone waits ten seconds */
    const lookNow = ['add', 'del'].map((verb) => `address ${verb} 203.0.113.9/32 dev lo`);

    /** what others have at these places, in the kernel's words */
    async function others(places: Readonly<Record<Family, string>>): Promise<readonly string[]> {
      const lists = await Promise.all([
        node.exec('ip', ['-4', 'route', 'show', places.ipv4]),
        node.exec('ip', ['-6', 'route', 'show', places.ipv6]),
      ]);
      const lines = lists.flatMap(({ stdout }) => stdout.split('\n'));
      return lines
        .map((line) => line.trim())
        .filter((line) => line !== '' && !line.includes('proto 73'));
    }

    /** in `herald status`, and for an address inside in `herald explain` */
    async function refuses(family: Family, why: string): Promise<void> {
      const aggregate = AGGREGATES[family];
      const sentence = `an unreachable route for ${aggregate} would ${why}`;
      const ask = async (...args: readonly string[]) =>
        (await node.exec(heraldProgram(), [...args, '--socket', socket()])).stdout;
      await untilValue(
        `status says why ${aggregate} is not announced`,
        () => ask('status'),
        (text) => text.includes(`the aggregate ${aggregate} is not announced: ${sentence}`),
        BOUND_MS,
      );
      const [address = ''] = HOST_ROUTES[family][0].split('/');
      expect(await ask('explain', address)).to.include(
        `its host route is announced, not ${aggregate}: ${sentence}`,
      );
    }

    /** what the router's side of the link sees after one packet to an address that nobody has: who answers, and how */
    async function fate(family: Family): Promise<string> {
      const capture = await startCapture(routerHost, device);
      await client.exec('bash', ['-c', `echo x > /dev/udp/${UNUSED[family]}/9`]);
      const filter =
        family === 'ipv4'
          ? `(icmp.type == 3 || icmp.type == 11) && ip.dst == ${UNUSED.ipv4}`
          : `(icmpv6.type == 1 || icmpv6.type == 3) && ipv6.dst == ${UNUSED.ipv6}`;
      const fields =
        family === 'ipv4'
          ? (['ip.src', 'icmp.type'] as const)
          : (['ipv6.src', 'icmpv6.type'] as const);
      const frames = await untilValue(
        `an answer about ${UNUSED[family]}`,
        () => capture.frames(filter, [...fields]),
        (all) => all.length > 0,
        { timeoutMs: 20_000, everyMs: 200 },
      );
      await capture.stop();
      const [source = '', type = ''] = Object.values(frames[0] ?? {});
      const isOver = type === (family === 'ipv4' ? '11' : '3');
      return isOver ? 'it went round' : `unreachable, says ${source.split(',')[0]}`;
    }

    it('the table has the aggregates and no host route; what nobody has is unreachable and does not loop; all is gone with the last claim', async () => {
      await node.exec('mkdir', ['-p', folder()]);
      write([]);
      await start();
      expect(await fate('ipv4'), 'without a discard route').to.equal('it went round');
      write(CLAIMS);
      await has('ipv4', [AGGREGATES.ipv4]);
      await has('ipv6', [AGGREGATES.ipv6]);
      const [route] = await router.routes('ipv4');
      expect(JSON.stringify(route?.communities)).to.match(/65000.*7/);
      expect(await discarded()).to.deep.equal([AGGREGATES.ipv4, AGGREGATES.ipv6]);
      for (const family of ['ipv4', 'ipv6'] as const) {
        expect(await fate(family)).to.equal(`unreachable, says ${LINK[family][1]}`);
      }
      const { stdout } = await node.exec(heraldProgram(), ['routes', '--socket', socket()]);
      expect(stdout).to.include(AGGREGATES.ipv4).and.not.include('198.51.100.7/32');
      write(CLAIMS.slice(1));
      await has('ipv4', [AGGREGATES.ipv4]);
      write(CLAIMS.slice(2));
      await has('ipv4', []);
      await discards([AGGREGATES.ipv6]);
      write(CLAIMS);
      await has('ipv4', [AGGREGATES.ipv4]);
    });

    it('a claim with a check has its host route beside the aggregate, which goes when the check fails', async () => {
      const ok = join(node.folder, 'ok');
      const quick = { intervalSeconds: 1, failures: 1, successes: 1 };
      const checked = documentText('IPClaim', '198.51.100.9', {
        checks: [{ file: { path: ok }, ...quick }],
      });
      writeFileSync(ok, '');
      write(CLAIMS, {}, [checked]);
      await has('ipv4', [AGGREGATES.ipv4, '198.51.100.9/32']);
      rmSync(ok);
      await has('ipv4', [AGGREGATES.ipv4]);
      write(CLAIMS);
    });

    it('put back when it is removed by hand; where it would hide a route of the machine it goes, and host routes come', async () => {
      await node.ip(`route del unreachable ${AGGREGATES.ipv4} proto 73`);
      await discards([AGGREGATES.ipv4, AGGREGATES.ipv6]);
      await node.ip(
        'link add office type veth peer name desk',
        'link set desk up',
        'link set office up',
        'address add 198.51.101.1/23 dev office',
      );
      await has('ipv4', ['198.51.100.7/32', '198.51.100.8/32']);
      await discards([AGGREGATES.ipv6]);
      const { stdout } = await node.exec(heraldProgram(), [
        'explain',
        '198.51.100.7',
        '--socket',
        socket(),
      ]);
      expect(stdout).to.include(
        `its host route is announced, not ${AGGREGATES.ipv4}: an unreachable route for ${AGGREGATES.ipv4} would hide 198.51.100.0/23, a network on a link`,
      );
      await node.ip('link del office');
      await has('ipv4', [AGGREGATES.ipv4]);
    });

    // the kernel's part is the same beside every router
    if (kind === 'bird') {
      it('where somebody has a route at its place or around it, host routes go out and that route stays; one inside hinders nothing', async () => {
        const whose = 'a route of this machine that Herald did not add';
        const equal = FAMILIES.map((family) => byHand(family, AGGREGATES[family]));
        await node.ip(...equal.map((route) => `route add ${route}`));
        const atPlace = await others(AGGREGATES);
        expect(atPlace).to.have.length(2);
        await announcesHosts();
        await discards([]);
        for (const family of FAMILIES) {
          await refuses(family, `take the place of ${AGGREGATES[family]}, ${whose}`);
        }
        expect(await others(AGGREGATES)).to.deep.equal(atPlace);

        const around = FAMILIES.map((family) => byHand(family, AROUND[family]));
        await node.ip(...around.map((route) => `route add ${route}`));
        await node.ip(...equal.map((route) => `route del ${route}`), ...lookNow);
        const isAround = await others(AROUND);
        expect(isAround).to.have.length(2);
        for (const family of FAMILIES) {
          await refuses(family, `hide ${AROUND[family]}, ${whose}`);
        }
        await announcesHosts();
        expect(await discarded()).to.deep.equal([]);
        expect(await others(AROUND)).to.deep.equal(isAround);

        const inside = FAMILIES.map((family) => byHand(family, INSIDE[family]));
        await node.ip(...inside.map((route) => `route add ${route}`));
        await node.ip(...around.map((route) => `route del ${route}`), ...lookNow);
        const isInside = await others(INSIDE);
        expect(isInside).to.have.length(2);
        await announcesAggregates();
        expect(await others(INSIDE)).to.deep.equal(isInside);

        await node.ip(
          'link add office type veth peer name desk',
          'link set desk up',
          'link set office up',
          'address add 2001:db8:7:0:ffff::1/64 dev office nodad',
        );
        await has('ipv6', HOST_ROUTES.ipv6);
        await discards([AGGREGATES.ipv4]);
        const network = 'a network on a link of this machine that Herald did not add';
        await refuses('ipv6', `hide 2001:db8:7::/64, ${network}`);
        await node.ip('link del office');
        await announcesAggregates();
        expect(await others(INSIDE)).to.deep.equal(isInside);
        await node.ip(...inside.map((route) => `route del ${route}`));
      });

      it('a route that is in the very place before the agent starts stays; with its end the aggregate comes', async () => {
        expect(await agent?.stop()).to.equal(0);
        // with our metric: the kernel would replace it by ours, and remove it as ours
        const theirs = FAMILIES.map((family) => byHand(family, AGGREGATES[family], 'metric 2048'));
        await node.ip(...theirs.map((route) => `route add ${route}`));
        const before = await others(AGGREGATES);
        expect(before).to.have.length(2);
        await start();
        await announcesHosts();
        for (const family of FAMILIES) {
          await refuses(family, `take the place of ${AGGREGATES[family]}`);
        }
        expect(await discarded()).to.deep.equal([]);
        expect(await others(AGGREGATES)).to.deep.equal(before);
        await node.ip(...theirs.map((route) => `route del ${route}`));
        await announcesAggregates();
      });
    }

    it('a crash leaves the discard routes; the next start removes those that nobody wants, and a stop all', async () => {
      await agent?.kill();
      expect(await discarded()).to.deep.equal([AGGREGATES.ipv4, AGGREGATES.ipv6]);
      write(CLAIMS.slice(0, 1));
      await start();
      await has('ipv4', [AGGREGATES.ipv4]);
      await discards([AGGREGATES.ipv4]);
      expect(await agent?.stop()).to.equal(0);
      await has('ipv4', []);
      expect(await discarded()).to.deep.equal([]);
    });

    it('without CAP_NET_ADMIN host routes go out, and the sentence says what is missing', async () => {
      rmSync(join(node.folder, 'state'), { recursive: true, force: true });
      starts += 1;
      const args = [
        'agent',
        ...['--source', `files:${folder()}`, '--state-dir', join(node.folder, 'state')],
        ...['--socket', socket(), '--node-name', 'm1', '--join-check', 'none'],
        ...['--metrics-address', 'off'],
      ];
      agent = node.spawn(`agent-${starts}`, 'setpriv', [
        '--bounding-set=-net_admin',
        '--inh-caps=-net_admin',
        heraldProgram(),
        ...args,
      ]);
      await has('ipv4', ['198.51.100.7/32']);
      const { stdout } = await node.exec(heraldProgram(), ['status', '--socket', socket()]);
      expect(stdout).to.include(`the aggregate ${AGGREGATES.ipv4} is not announced`);
      expect(stdout).to.include('CAP_NET_ADMIN');
      expect(await agent.stop()).to.equal(0);
    });
  });
}
