/** Routes in the kernel, in namespaces: multipath of both families, seen by iproute2 and by packets. */

import { expect } from 'chai';
import type { Outcome } from '../../../src/linux/address-table.ts';
import { skipWithoutLab } from '../../interop/require-lab.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { run } from '../../support/process.ts';
import type { SubjectNextHop, SubjectStart } from './subject.ts';
import { LinuxSubject } from './subject-client.ts';

interface IpRoute {
  readonly dst: string;
  readonly type?: string;
  readonly protocol: string;
  readonly metric?: number;
  readonly gateway?: string;
  readonly dev?: string;
  readonly via?: { readonly host: string };
  readonly nexthops?: readonly {
    readonly gateway?: string;
    readonly via?: { readonly host: string };
    readonly dev: string;
  }[];
}

const table = 4711;
const done: Outcome = { kind: 'done', changed: true };
const unchanged: Outcome = { kind: 'done', changed: false };

/** for each family: a prefix and the three neighbours' addresses */
const families = [
  {
    family: '-4',
    prefix: '192.0.2.7/32',
    seen: '192.0.2.7',
    gateway: (n: number) => `10.9.${n}.2`,
  },
  {
    family: '-6',
    prefix: '2001:db8::7/128',
    seen: '2001:db8::7',
    gateway: (n: number) => `2001:db8:9:${n + 1}::2`,
  },
] as const;

describe('routes in the kernel', function () {
  this.timeout(180_000);
  let lab: Lab;
  let router: Host;
  let subjects: LinuxSubject[] = [];

  before(async function () {
    skipWithoutLab(this, []);
    lab = createLab('routes');
    router = await lab.host('router', { forward: true });
    for (const n of [0, 1, 2]) {
      const node = await lab.host(`node${n}`, { forward: false });
      await lab.link(router, node, {
        a: [`10.9.${n}.1/24`, `2001:db8:9:${n + 1}::1/64`],
        b: [`10.9.${n}.2/24`, `2001:db8:9:${n + 1}::2/64`],
      });
    }
  });

  after(async () => {
    await lab?.destroy();
  });

  afterEach(async () => {
    await Promise.all(subjects.map((subject) => subject.vanish()));
    subjects = [];
    for (const family of ['-4', '-6']) {
      const flush = [family, '-netns', router.namespace, 'route', 'flush', 'table', `${table}`];
      await run('ip', flush, { anyStatus: true });
    }
  });

  function open(routes: SubjectStart['routes'] = { table }): LinuxSubject {
    const subject = new LinuxSubject(router, routes === undefined ? {} : { routes });
    subjects.push(subject);
    return subject;
  }

  const replace = (subject: LinuxSubject, prefix: string, nextHops: readonly SubjectNextHop[]) =>
    subject.ask<Outcome>({ kind: 'route-replace', prefix, nextHops });
  const remove = (subject: LinuxSubject, prefix: string) =>
    subject.ask<Outcome>({ kind: 'route-remove', prefix });
  const list = (subject: LinuxSubject) => subject.ask<unknown[]>({ kind: 'route-list' });

  async function routes(family: string, of = `${table}`): Promise<readonly IpRoute[]> {
    const show = [family, '-netns', router.namespace, '-j', 'route', 'show', 'table', of];
    const { stdout } = await run('ip', show, { anyStatus: true });
    return JSON.parse(stdout.trim() || '[]');
  }

  const gatewaysOf = (route: IpRoute | undefined) =>
    (route?.nexthops ?? (route === undefined ? [] : [route])).map(
      (hop) => hop.gateway ?? hop.via?.host,
    );

  for (const { family, prefix, seen, gateway } of families) {
    describe(`of family ${family}`, () => {
      const hops = (...numbers: number[]) => numbers.map((n) => ({ gateway: gateway(n) }));
      const installed = async () => {
        const [first, ...more] = await routes(family);
        expect(more, 'one route for one prefix').to.deep.equal([]);
        return first;
      };

      it('go from one next hop to three, to two, to another one, and away', async () => {
        const subject = open();
        for (const wanted of [[0], [0, 1, 2], [1, 2], [0], [2, 0], [1]]) {
          expect(await replace(subject, prefix, hops(...wanted))).to.deep.equal(done);
          const route = await installed();
          expect(route).to.include({ dst: seen, protocol: '72', metric: 2048 });
          expect(gatewaysOf(route)).to.have.members(wanted.map(gateway));
          const [known] = await list(subject);
          expect(known).to.have.property('nextHops').with.length(wanted.length);
        }
        expect(await remove(subject, prefix)).to.deep.equal(done);
        expect(await routes(family)).to.deep.equal([]);
        expect(await remove(subject, prefix)).to.deep.equal(unchanged);
      });

      it('are removed whole when they have three next hops', async () => {
        const subject = open();
        await replace(subject, prefix, hops(0, 1, 2));
        expect(await remove(subject, prefix)).to.deep.equal(done);
        expect(await routes(family)).to.deep.equal([]);
      });

      it('turn unreachable and back', async () => {
        const subject = open();
        await replace(subject, prefix, hops(0, 1));
        expect(await replace(subject, prefix, [])).to.deep.equal(done);
        expect(await installed()).to.include({ type: 'unreachable', dst: seen });
        expect(await list(subject))
          .to.have.nested.property('[0].nextHops')
          .that.deep.equals([]);
        expect(await replace(subject, prefix, hops(2, 1))).to.deep.equal(done);
        expect(gatewaysOf(await installed())).to.have.members([gateway(2), gateway(1)]);
        await replace(subject, prefix, []);
        expect(await remove(subject, prefix)).to.deep.equal(done);
        expect(await routes(family)).to.deep.equal([]);
      });

      it('on the link itself are installed, listed and removed', async () => {
        const subject = open();
        expect(await replace(subject, prefix, [{ interface: 'eth1' }])).to.deep.equal(done);
        expect(await installed()).to.include({ dev: 'eth1' });
        const [known] = await list(subject);
        expect(known).to.have.deep.property('nextHops', [{ interface: 'eth1' }]);
        expect(await replace(subject, prefix, hops(0, 1))).to.deep.equal(done);
        expect(gatewaysOf(await installed())).to.have.members([gateway(0), gateway(1)]);
        expect(await replace(subject, prefix, [{ interface: 'eth1' }])).to.deep.equal(done);
        expect(await installed()).to.include({ dev: 'eth1' });
        expect(await remove(subject, prefix)).to.deep.equal(done);
        expect(await routes(family)).to.deep.equal([]);
      });

      it('with an interface use it, and say when there is none', async () => {
        const subject = open();
        const by = { gateway: gateway(1), interface: 'eth1' };
        expect(await replace(subject, prefix, [by])).to.deep.equal(done);
        expect(await installed()).to.include({ dev: 'eth1', gateway: gateway(1) });
        const outcome = await replace(subject, prefix, [{ ...by, interface: 'eth7' }]);
        expect(outcome.kind).to.equal('no-interface');
        expect(await installed()).to.include({ dev: 'eth1' });
      });

      it('by an unreachable gateway are refused in the kernel’s words, and the old one stays', async () => {
        const subject = open();
        await replace(subject, prefix, hops(0));
        const nowhere = family === '-4' ? '172.31.0.1' : '2001:db8:dead::1';
        const outcome = await replace(subject, prefix, [...hops(1), { gateway: nowhere }]);
        expect(outcome.kind).to.equal('failed');
        expect(outcome)
          .to.have.property('code')
          .that.matches(/^E(NETUNREACH|HOSTUNREACH|INVAL)$/);
        expect(gatewaysOf(await installed())).to.deep.equal([gateway(0)]);
      });

      it('left by a kill -9 are found by the next process, replaced, cleared', async () => {
        const first = open();
        const other = family === '-4' ? '192.0.2.0/24' : '2001:db8:1::/48';
        await replace(first, prefix, hops(0, 1));
        await replace(first, other, hops(1, 2));
        await first.vanish();
        await router.ip(
          `route add ${family === '-4' ? '0.0.0.0/0' : '::/0'} via ${gateway(0)} table ${table}`,
        );
        const next = open();
        expect(await list(next)).to.have.length(2);
        expect(await replace(next, prefix, hops(2))).to.deep.equal(done);
        expect(await next.ask<Outcome>({ kind: 'route-clear' })).to.deep.equal(done);
        expect((await routes(family)).map((route) => route.dst)).to.deep.equal(['default']);
        expect(await next.ask<Outcome>({ kind: 'route-clear' })).to.deep.equal(unchanged);
      });

      it('of somebody else at the same place are neither replaced nor removed', async () => {
        await router.ip(`route add ${prefix} via ${gateway(0)} metric 2048 table ${table}`);
        const subject = open();
        const outcome = await replace(subject, prefix, hops(1, 2));
        expect(outcome.kind).to.equal('foreign');
        expect(outcome).to.have.property('sentence').that.includes('Herald did not add');
        expect(await remove(subject, prefix)).to.deep.equal(unchanged);
        expect(await list(subject)).to.deep.equal([]);
        expect(gatewaysOf(await installed())).to.deep.equal([gateway(0)]);
      });

      it('of somebody else with another metric stay beside ours', async () => {
        await router.ip(`route add ${prefix} via ${gateway(0)} metric 5 table ${table}`);
        const subject = open();
        expect(await replace(subject, prefix, hops(1, 2))).to.deep.equal(done);
        expect(await remove(subject, prefix)).to.deep.equal(done);
        expect(gatewaysOf(await installed())).to.deep.equal([gateway(0)]);
      });

      it('removed by hand are installed again', async () => {
        const subject = open();
        await replace(subject, prefix, hops(0, 1));
        await router.ip(`route delete ${prefix} table ${table}`);
        expect(await replace(subject, prefix, hops(0, 1))).to.deep.equal(done);
        expect(gatewaysOf(await installed())).to.have.members([gateway(0), gateway(1)]);
      });
    });
  }

  it('of IPv4 go by IPv6 gateways', async () => {
    const subject = open();
    const gateways = ['2001:db8:9:1::2', '2001:db8:9:2::2'];
    for (const count of [1, 2]) {
      const nextHops = gateways.slice(0, count).map((gateway) => ({ gateway }));
      expect(await replace(subject, '192.0.2.7/32', nextHops)).to.deep.equal(done);
      const [route] = await routes('-4');
      expect(gatewaysOf(route)).to.have.members(gateways.slice(0, count));
      const [known] = await list(subject);
      expect(known).to.have.nested.property('nextHops[0].gateway.family', 'ipv6');
    }
  });

  it('go into the main table, where packets find them', async () => {
    const subject = open({ table: 254, metric: 20 });
    const nextHops = [0, 1].map((n) => ({ gateway: `10.9.${n}.2` }));
    expect(await replace(subject, '192.0.2.8/32', nextHops)).to.deep.equal(done);
    const { stdout } = await router.exec('ip', ['route', 'get', '192.0.2.8']);
    expect(stdout).to.match(/via 10\.9\.[01]\.2 dev eth[01]/);
    const before = (await routes('-4', 'main')).length;
    expect(await subject.ask<Outcome>({ kind: 'route-clear' })).to.deep.equal(done);
    expect(await routes('-4', 'main')).to.have.length(before - 1);
  });

  it('need CAP_NET_ADMIN, and a sentence says so', async () => {
    const drop = ['setpriv', '--bounding-set', '-net_admin', '--inh-caps', '-net_admin'];
    const subject = new LinuxSubject(router, { routes: { table } }, drop);
    subjects.push(subject);
    const outcome = await replace(subject, '192.0.2.7/32', [{ gateway: '10.9.0.2' }]);
    expect(outcome.kind).to.equal('not-permitted');
  });

  it('are thousands, listed whole', async () => {
    const subject = open();
    const prefixes = Array.from({ length: 1500 }, (_, at) => `100.64.${at >> 8}.${at & 255}/32`);
    const nextHops = [0, 1, 2].map((n) => ({ gateway: `10.9.${n}.2` }));
    const outcomes = await Promise.all(prefixes.map((each) => replace(subject, each, nextHops)));
    expect(outcomes.every((each) => each.kind === 'done')).to.equal(true);
    expect(await list(subject)).to.have.length(1500);
    expect(await routes('-4')).to.have.length(1500);
    expect(await subject.ask<Outcome>({ kind: 'route-clear' })).to.deep.equal(done);
    expect(await routes('-4')).to.deep.equal([]);
  });
});
