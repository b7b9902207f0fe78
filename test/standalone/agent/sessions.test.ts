/**
 * Sessions in other shapes: over IPv6 and carrying both families, dialled by the router, from a range of routers, with a
 * password, with a person looking on.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { AgentStatus } from '../../../src/agent/status.ts';
import { ControlClient } from '../../../src/control/client.ts';
import { createRouter } from '../../interop/routers/create.ts';
import type { Router, RouterConfig, RouterKind } from '../../interop/routers/router.ts';
import { documentText } from '../../support/document.ts';
import { createLab, type Host, type Lab } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { heraldProgram } from '../support/herald-program.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { claim, NODE_ASN, ROUTER_ASN } from './agent-lab.ts';

const V4 = '198.51.100.10';
const V6 = '2001:db8:ffff::10';
const V6_NAME = '2001-0db8-ffff-0000-0000-0000-0000-0010';
const KEY = 'a key of two machines';

describe('standalone: sessions of every shape', function () {
  this.timeout(180_000);
  let lab: Lab;
  let routerHost: Host;
  let node: Host;
  let bird: Router;
  let agent: Running | undefined;
  let starts = 0;

  before(async function () {
    skipWithoutStandalone(this);
    lab = createLab('shapes');
    routerHost = await lab.host('router', { forward: true });
    node = await lab.host('node', { forward: false });
    await lab.link(routerHost, node, {
      a: ['10.60.0.1/24', '2001:db8:60::1/64'],
      b: ['10.60.0.2/24', '2001:db8:60::2/64'],
    });
  });
  afterEach(async () => {
    await agent?.kill();
    await bird?.kill();
  });
  after(async () => await lab?.destroy());

  const pool = documentText('IPPool', 'both', {
    addresses: ['198.51.100.0/24', '2001:db8:ffff::/64'],
    drain: { waitSeconds: 0 },
  });
  const claims = [
    claim(V4, { bind: { interface: 'lo' } }),
    claim(V6_NAME, { bind: { interface: 'lo' } }),
  ];
  const quick = { holdSeconds: 9, keepaliveSeconds: 3, connectRetrySeconds: 1 };

  const folder = () => join(node.folder, `documents-${starts}.d`);

  function write(name: string, peer: object): void {
    const spec = { asn: ROUTER_ASN, localASN: NODE_ASN, timers: quick, ...peer };
    const documents = [documentText('BGPPeer', name, spec), pool, ...claims];
    writeFileSync(join(folder(), 'all.yaml'), documents.join('\n---\n'));
  }

  /** as the router has it */
  async function upSince(): Promise<string | undefined> {
    const [session] = await bird.sessions();
    expect(session?.state).to.equal('established');
    return session?.since;
  }

  /** the only session of the agent is up under this name, and it warns of no key */
  async function isCalled(name: string): Promise<void> {
    const socket = join(node.folder, `s${starts}.sock`);
    await untilValue(
      `a session called ${name} (${agent?.log().slice(-1500)})`,
      async () => {
        const asked = await new ControlClient(socket).status();
        return asked.ok ? asked.value : undefined;
      },
      (status) => {
        const names = status?.sessions.map(({ peer, state }) => `${peer} ${state}`).join();
        const isUnread = status?.warnings.some((each) => each.includes('key that it has'));
        return names === `${name} established` && isUnread === false;
      },
    );
  }

  async function play(
    peer: object,
    neighbour: Partial<RouterConfig['neighbours'][number]>,
    kind: RouterKind = 'bird',
  ): Promise<void> {
    starts += 1;
    const documents = folder();
    await node.exec('mkdir', ['-p', documents]);
    write('tor', peer);
    bird = createRouter(kind);
    await bird.start(routerHost, {
      localAsn: ROUTER_ASN,
      routerId: '10.60.0.1',
      neighbours: [
        {
          address: '10.60.0.2',
          asn: NODE_ASN,
          families: ['ipv4', 'ipv6'],
          localAddress: '10.60.0.1',
          connectRetrySeconds: 1,
          ...neighbour,
        },
      ],
    });
    agent = node.spawn(`agent-${starts}`, heraldProgram(), [
      'agent',
      ...['--source', `files:${documents}`, '--node-name', 'm1', '--join-check', 'none'],
      ...[
        '--state-dir',
        join(node.folder, `state-${starts}`),
        '--socket',
        join(node.folder, `s${starts}.sock`),
      ],
    ]);
  }

  async function bothRoutes(nextHops: {
    readonly ipv4: string;
    readonly ipv6: string;
  }): Promise<void> {
    for (const [family, prefix] of [
      ['ipv4', `${V4}/32`],
      ['ipv6', `${V6}/128`],
    ] as const) {
      const routes = await untilValue(
        `${prefix} at the router (${agent?.log().slice(-1500)})`,
        () => bird.routes(family),
        (all) => all.some((route) => route.prefix === prefix),
      );
      expect(routes[0]?.nextHops[0]).to.equal(nextHops[family]);
    }
    const { stdout } = await node.exec('ip', ['-o', 'address', 'show', 'dev', 'lo']);
    expect(stdout).to.contain(`${V4}/32`).and.to.contain(`${V6}/128`);
  }

  const own = { ipv4: '10.60.0.2', ipv6: '2001:db8:60::2' };

  it('both families on a session over IPv4: next hops of the session interface, never a claimed address', async () => {
    await play({ address: '10.60.0.1' }, { isPassive: true });
    await bothRoutes(own);
  });

  it('both families on a session over IPv6', async () => {
    const v6 = { address: '2001:db8:60::2', localAddress: '2001:db8:60::1', isPassive: true };
    await play({ address: '2001:db8:60::1' }, v6);
    await bothRoutes(own);
  });

  const overIpv6 = { address: '2001:db8:60::2', localAddress: '2001:db8:60::1', isPassive: true };
  for (const kind of ['bird', 'frr'] as const) {
    it(`extendedNextHop: IPv4 routes of a session over IPv6 lead to its IPv6 address, at ${kind}`, async () => {
      await play(
        { address: '2001:db8:60::1', extendedNextHop: true },
        { ...overIpv6, hasExtendedNextHop: true },
        kind,
      );
      await bothRoutes({ ipv4: own.ipv6, ipv6: own.ipv6 });
    });
  }

  it('extendedNextHop, and a router that does not offer it: says so, and the IPv6 routes stay', async () => {
    await play({ address: '2001:db8:60::1', extendedNextHop: true }, overIpv6);
    await untilValue(
      'the IPv6 route',
      () => bird.routes('ipv6'),
      (all) => all.some(({ prefix }) => prefix === `${V6}/128`),
    );
    const socket = join(node.folder, `s${starts}.sock`);
    const said = await untilValue(
      'the session says so',
      async () => {
        const asked = await new ControlClient(socket).status();
        return asked.ok ? (asked.value.sessions[0]?.cannotCarry?.[0]?.sentence ?? '') : '';
      },
      (sentence) => sentence !== '',
    );
    expect(said).to.match(/without extended next hop \(RFC 8950\); turn on extended next hop/);
    expect(await bird.routes('ipv4')).to.deep.equal([]);
  });

  it('claims bound to the very interface of the session do not become next hops', async () => {
    const { stdout } = await node.exec('ip', ['-o', 'link', 'show', 'type', 'veth']);
    const device = /\d+: ([^@:]+)/.exec(stdout)?.[1] ?? '';
    claims.splice(
      0,
      2,
      claim(V4, { bind: { interface: device } }),
      claim(V6_NAME, { bind: { interface: device } }),
    );
    try {
      await play({ address: '10.60.0.1' }, { isPassive: true });
      const routes = await untilValue(
        'the route',
        () => bird.routes('ipv6'),
        (all) => all.length === 1,
      );
      expect(routes[0]?.nextHops[0]).to.equal(own.ipv6);
    } finally {
      claims.splice(
        0,
        2,
        claim(V4, { bind: { interface: 'lo' } }),
        claim(V6_NAME, { bind: { interface: 'lo' } }),
      );
    }
  });

  it('`listen: true`: the router dials, and the agent takes it', async () => {
    // a source that cannot reach the router, so that only its dialling can make the session
    await node.nft(
      'table inet no_syn {\n chain output { type filter hook output priority 0; tcp dport 179 tcp flags & (syn|ack) == syn drop\n }\n}\n',
    );
    try {
      await play({ address: '10.60.0.1', listen: true }, {});
      await bothRoutes(own);
    } finally {
      await node.nft('delete table inet no_syn\n');
    }
  });

  it('`addressRange`: any router of the range may dial', async () => {
    await play({ addressRange: '10.60.0.0/24', listen: true }, {});
    await bothRoutes(own);
  });

  it('`addressRange`: the router hears nothing of a new name', async () => {
    const range = { addressRange: '10.60.0.0/24', listen: true };
    await play(range, {});
    await bothRoutes(own);
    const since = await upSince();
    write('spine', range);
    await isCalled('spine/10.60.0.1');
    await bothRoutes(own);
    expect(await upSince()).to.equal(since);
  });

  it('a silent link that our own kernel notices long before the hold timers: the router has the routes for the hold time, and the status says so', async () => {
    const timers = { holdSeconds: 180, keepaliveSeconds: 60, connectRetrySeconds: 1 };
    await play({ address: '10.60.0.1', timers }, { isPassive: true, holdTimeSeconds: 180 });
    await bothRoutes(own);
    await untilValue(
      'all that was sent is acknowledged',
      async () =>
        (await node.exec('ss', ['-Htn', 'state', 'established', 'dport', '=', ':179'])).stdout,
      (text) => /^\s*\d+\s+0\s/.test(text),
    );
    // before the first KEEPALIVE is due: nothing is on its way, so TCP's own keepalives are what goes unanswered
    const lost = 'ip saddr 10.60.0.2 drop\n ip daddr 10.60.0.2 drop';
    const hook = (name: string) =>
      `chain ${name} {\n type filter hook ${name} priority 0\n ${lost}\n}`;
    await routerHost.nft(`table inet silent {\n${hook('input')}\n${hook('output')}\n}\n`);
    try {
      const socket = join(node.folder, `s${starts}.sock`);
      const session = await untilValue(
        'the session is down',
        async () => {
          const asked = await new ControlClient(socket).status();
          return asked.ok ? asked.value.sessions[0] : undefined;
        },
        (one) => one !== undefined && one.state !== 'established',
        { timeoutMs: 90_000 },
      );
      expect(session).to.include({ keptSeconds: 180 });
      const routes = await bird.routes('ipv4');
      expect(
        routes.map(({ prefix }) => prefix),
        'at the router',
      ).to.deep.equal([`${V4}/32`]);
    } finally {
      await routerHost.nft('delete table inet silent\n');
    }
  });

  it('a password from its file, and GTSM', async () => {
    const file = join(node.folder, 'key');
    writeFileSync(file, `${KEY}\n\n# of rack 3\n`, { mode: 0o600 });
    await play(
      { address: '10.60.0.1', password: { file }, ttlSecurity: true },
      { isPassive: true, password: KEY, hasTtlSecurity: true },
    );
    await bothRoutes(own);
    const { stdout } = await node.exec('sh', [
      '-c',
      `cat /proc/${agent?.pid}/cmdline | tr '\\0' ' '`,
    ]);
    expect(stdout + agent?.log()).to.not.contain(KEY);
  });

  it('a password from another file with the same key, and another name: the router hears nothing of it', async () => {
    const [one, other] = [join(node.folder, 'one.key'), join(node.folder, 'other.key')];
    for (const file of [one, other]) writeFileSync(file, KEY, { mode: 0o600 });
    const from = (file: string) => ({ address: '10.60.0.1', password: { file } });
    await play(from(one), { isPassive: true, password: KEY });
    await bothRoutes(own);
    const since = await upSince();
    write('spine', from(other));
    await isCalled('spine');
    await bothRoutes(own);
    expect(await upSince()).to.equal(since);
  });

  /** what the agent says of the IPv6 claim at its only peer, once IPv4 is at the router, which the other family must not touch */
  async function ipv6Refused(): Promise<AgentStatus['claims'][number]['peers'][number]> {
    await untilValue(
      `the IPv4 route (${agent?.log().slice(-1500)})`,
      () => bird.routes('ipv4'),
      (all) => all.some(({ prefix }) => prefix === `${V4}/32`),
    );
    const socket = join(node.folder, `s${starts}.sock`);
    const peer = await untilValue(
      'the claim at its peer',
      async () => {
        const asked = await new ControlClient(socket).status();
        const status = asked.ok ? asked.value : undefined;
        return status?.claims.find(({ address }) => address === V6)?.peers[0];
      },
      (found) =>
        found?.route === 'none' &&
        found.gates.some(({ name, state }) => name === 'allowed' && state === 'closed'),
    );
    if (peer === undefined) throw new Error('no peer');
    expect(peer).to.not.have.property('attributes');
    expect(await bird.routes('ipv6')).to.deep.equal([]);
    return peer;
  }

  async function explained(): Promise<string> {
    const socket = join(node.folder, `s${starts}.sock`);
    const { stdout } = await node.exec(heraldProgram(), ['explain', V6, '--socket', socket], {
      anyStatus: true,
    });
    return stdout.replaceAll(/\s+/g, ' ');
  }

  it('an IPv6 claim, and no IPv6 on the interface of the session: says so, and what to do; then it is given one', async () => {
    const { stdout } = await node.exec('ip', ['-o', 'link', 'show', 'type', 'veth']);
    const device = /\d+: ([^@:]+)/.exec(stdout)?.[1] ?? '';
    const disable = (value: number) =>
      node.exec('sysctl', ['-q', '-w', `net.ipv6.conf.${device}.disable_ipv6=${value}`]);
    await disable(1);
    try {
      await play({ address: '10.60.0.1' }, { isPassive: true });
      const { gates } = await ipv6Refused();
      const allowed = gates.find(({ name }) => name === 'allowed');
      expect(allowed?.remedy).to.contain('nextHop.ipv6 of BGPPeer tor');
      const text = await explained();
      expect(text).to.match(/allowed .*tor: .*next hop/i);
      expect(text).to.contain('give the interface of the session an ipv6 address');
    } finally {
      await disable(0);
      await node.ip(`address add 2001:db8:60::2/64 dev ${device} nodad`);
    }
    await bothRoutes(own);
  });

  it('a session from an address of lo, which has no IPv6 but ::1: says so, and the router is never given ::1', async () => {
    await node.ip('address add 10.61.0.2/32 dev lo');
    await routerHost.ip('route add 10.61.0.2/32 via 10.60.0.2');
    try {
      await play(
        { address: '10.60.0.1', sourceAddress: '10.61.0.2', multihop: 2 },
        { address: '10.61.0.2', isPassive: true, multihop: 2 },
      );
      const { gates } = await ipv6Refused();
      const allowed = gates.find(({ name }) => name === 'allowed');
      expect(allowed?.sentence).to.match(/tor: the session has no ipv6 next hop/);
      expect(allowed?.remedy).to.contain('nextHop.ipv6 of BGPPeer tor');
    } finally {
      await routerHost.ip('route del 10.61.0.2/32');
      await node.ip('address del 10.61.0.2/32 dev lo');
    }
  });

  it('an IPv6 claim, and a router that is configured for IPv4 only: says so, and what to do', async () => {
    await play({ address: '10.60.0.1' }, { isPassive: true, families: ['ipv4'] });
    const { gates } = await ipv6Refused();
    const allowed = gates.find(({ name }) => name === 'allowed');
    expect(allowed?.remedy).to.equal('turn on ipv6 for this neighbour at the router');
    const text = await explained();
    expect(text).to.match(/allowed .*tor: .*ipv6/i);
    expect(text).to.contain('turn on ipv6 for this neighbour at the router');
  });

  it('what a person sees: status, routes, explain, drain and undrain by the real commands', async () => {
    await play({ address: '10.60.0.1' }, { isPassive: true });
    await bothRoutes(own);
    const socket = join(node.folder, `s${starts}.sock`);
    const look = async (...args: string[]) => {
      const said = await node.exec(heraldProgram(), [...args, '--socket', socket], {
        anyStatus: true,
      });
      expect(said.stdout).to.not.include('…');
      return said;
    };
    expect((await look('status')).stdout).to.match(/tor .*[Ee]stablished/s);
    expect((await look('routes')).stdout)
      .to.contain(V4)
      .and.to.contain(V6);
    const explained = await look('explain', V6);
    expect(explained.status).to.equal(0);
    for (const gate of ['joined', 'assigned', 'healthy', 'bound', 'allowed', 'not-draining']) {
      expect(explained.stdout).to.contain(gate);
    }
    expect((await look('explain', '192.0.2.99')).status).to.equal(1);
    expect((await look('drain', V4, '--wait')).status).to.equal(0);
    // the agent waits until it has said so; the router may read it a moment later
    await untilValue(
      'drained',
      () => bird.routes('ipv4'),
      (all) => all.length === 0,
    );
    expect((await bird.routes('ipv6')).length).to.equal(1);
    expect((await look('explain', V4)).stdout).to.contain('herald undrain');
    expect((await look('undrain', V4, '--wait')).status).to.equal(0);
    await untilValue(
      'back',
      () => bird.routes('ipv4'),
      (all) => all.length === 1,
    );
    const json: unknown = JSON.parse(
      (await node.exec(heraldProgram(), ['status', '-o', 'json', '--socket', socket])).stdout,
    );
    expect(json).to.have.property('node');
    // who may read what it starts from, wherever this checkout is, and write nothing
    const nobody = await node.exec(
      'setpriv',
      [
        '--reuid=65534',
        '--regid=65534',
        '--clear-groups',
        '--inh-caps=+dac_read_search',
        '--ambient-caps=+dac_read_search',
        heraldProgram(),
        'status',
        '--socket',
        socket,
      ],
      { anyStatus: true },
    );
    expect(nobody.status, nobody.stderr).to.equal(1);
    expect(nobody.stderr).to.contain('may not be opened');
  });
});
