/**
 * The lab's router image in a real Docker: FRR and BIRD of it, wired together, exchange a route; without a configuration it waits as a client does; it ends when
 * it is told to.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Docker, startDocker, whyNoDocker } from '../../lab/docker/docker.ts';
import { parseIndexTargets } from '../../lab/images/debian-mirror.ts';
import { ensureRouterImage, recipeKey, routerImage } from '../../lab/images/router-image.ts';
import { skipLoudly } from '../interop/require-lab.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';

describe('the mirror of Debian', () => {
  it('is the release of Debian itself that apt uses', () => {
    const lines = [
      'Google|Google|main|cloud|https://other.example/apt/',
      'Debian|Debian-Security|main|bookworm-security|http://mirror.example/debian-security/',
      'Debian|Debian|main|bookworm-updates|http://mirror.example/debian/',
      'Debian|Debian|contrib|bookworm|http://mirror.example/debian/',
      'Debian|Debian|main|bookworm|http://mirror.example/debian/',
    ];
    expect(parseIndexTargets(lines.join('\n'))).to.deep.equal({
      uri: 'http://mirror.example/debian/',
      suite: 'bookworm',
    });
  });

  it('is asked for in a sentence where apt has none', () => {
    expect(() => parseIndexTargets('')).to.throw('apt knows no mirror of Debian');
  });
});

describe('the recipe of the router image', () => {
  it('has another key when it, or the release, is another', () => {
    const keys = [
      recipeKey(['a'], 'bookworm'),
      recipeKey(['b'], 'bookworm'),
      recipeKey(['a'], 'trixie'),
    ];
    expect(new Set(keys).size).to.equal(3);
    expect(recipeKey(['a'], 'bookworm')).to.equal(keys[0]);
  });
});

describe('the router image', function () {
  this.timeout(10 * 60_000);
  let docker: Docker;
  let folder = '';

  before(async function prepare() {
    const missing = whyNoDocker({ own: true });
    if (missing.length > 0) skipLoudly(this, `no Docker can be started: ${missing.join(' ')}`);
    folder = mkdtempSync(join(tmpdir(), 'herald-router-image-'));
    docker = await startDocker({ own: true });
    await ensureRouterImage(docker, (sentence) => process.stderr.write(`lab: ${sentence}\n`));
  });

  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    await docker?.stop();
  });

  const start = async (name: string, args: readonly string[] = []): Promise<number> => {
    const given = ['run', '--detach', '--network', 'none', '--name', name, ...args, routerImage];
    await docker.run(given);
    return Number(await docker.run(['inspect', '--format', '{{.State.Pid}}', name]));
  };
  const configured = (path: string, text: string): readonly string[] => {
    const file = join(folder, path.replaceAll('/', '_'));
    writeFileSync(file, text);
    return ['--volume', `${file}:${path}:ro`];
  };
  const exitCode = async (name: string) => {
    await docker.run(['stop', '--time', '60', name]);
    return (await docker.run(['inspect', '--format', '{{.State.ExitCode}}', name])).trim();
  };

  it('runs FRR and BIRD from their configurations, and BIRD has the route of FRR', async () => {
    const frr = await start('frr', [
      // zebra does not start without SYS_ADMIN, whatever it is for
      ...['--cap-add', 'NET_ADMIN', '--cap-add', 'SYS_ADMIN'],
      ...configured('/etc/frr/frr.conf', FRR),
    ]);
    const bird = await start('bird', [
      ...['--cap-add', 'NET_ADMIN'],
      ...configured('/etc/bird/bird.conf', BIRD),
    ]);
    await wire(frr, bird);
    const route = await untilValue(
      'the route is in the table of BIRD',
      () => docker.run(['exec', 'bird', 'birdc', 'show route 198.51.100.7/32']),
      (said) => said.includes('192.0.2.1'),
      { timeoutMs: 120_000, everyMs: 500 },
    );
    expect(route).to.include('198.51.100.7/32').and.include('AS64501');
    expect(await exitCode('bird')).to.equal('0');
    expect(await exitCode('frr')).to.equal('0');
  });

  it('ends when one of its daemons does: a router without bgpd is none', async () => {
    await start('lame', [
      ...['--cap-add', 'NET_ADMIN', '--cap-add', 'SYS_ADMIN'],
      ...configured('/etc/frr/frr.conf', FRR),
    ]);
    await untilValue(
      'FRR runs',
      () => docker.run(['exec', 'lame', 'vtysh', '-c', 'show running-config']),
      (said) => said.includes('router bgp 64501'),
      { timeoutMs: 60_000, everyMs: 200 },
    );
    await docker.run(['exec', 'lame', 'pkill', '-KILL', 'bgpd']);
    expect((await docker.run(['wait', 'lame'])).trim()).to.equal('1');
  });

  it('says that a configuration is not one, and ends', async () => {
    await start('broken', configured('/etc/bird/bird.conf', 'nonsense;\n'));
    expect((await docker.run(['wait', 'broken'])).trim()).to.equal('1');
  });

  it('waits where it has nothing to start, with what a client needs', async () => {
    await start('client');
    const programs = ['ip', 'ping', 'curl', 'socat', 'tcpdump', 'ss', 'birdc', 'vtysh'];
    for (const program of programs)
      await docker.run(['exec', 'client', 'sh', '-c', `command -v ${program}`]);
    const size = await docker.run(['image', 'inspect', '--format', '{{.Size}}', routerImage]);
    expect(Number(size)).to.be.above(0).and.below(200e6);
    expect(await exitCode('client')).to.equal('0');
  });
});

/** a cable between the two, with an address at each end */
async function wire(first: number, second: number): Promise<void> {
  const into = (pid: number, ...args: string[]) =>
    run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', ...args]);
  // made where it ends, never in the network of this machine
  const other = ['peer', 'name', 'eth1', 'netns', String(second)];
  await into(first, 'link', 'add', 'eth1', 'type', 'veth', ...other);
  for (const [pid, address] of [
    [first, '192.0.2.1/30'],
    [second, '192.0.2.2/30'],
  ] as const) {
    await into(pid, 'address', 'add', address, 'dev', 'eth1');
    await into(pid, 'link', 'set', 'eth1', 'up');
  }
}

const FRR = `frr defaults datacenter
hostname frr
ip route 198.51.100.7/32 blackhole
router bgp 64501
 bgp router-id 192.0.2.1
 no bgp ebgp-requires-policy
 timers bgp 3 9
 neighbor 192.0.2.2 remote-as 64502
 neighbor 192.0.2.2 timers connect 1
 address-family ipv4 unicast
  redistribute static
 exit-address-family
`;

const BIRD = `router id 192.0.2.2;
protocol device {}
protocol direct { ipv4; }
protocol bgp {
  local 192.0.2.2 as 64502;
  neighbor 192.0.2.1 as 64501;
  connect retry time 1;
  ipv4 { import all; export none; };
}
`;
