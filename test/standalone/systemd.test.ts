/**
 * The unit that `herald manifest systemd` prints, installed as docs/getting-started-standalone.md says, under Debian's real systemd as process 1
 * of a machine of its own, with its sandbox in force. The far side is BIRD with the file that `herald manifest router` prints, with TCP-MD5 and
 * TTL security, its kernel's routes, and the machine's own `lo`.
 */

import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  claimDocument,
  documentsFolder,
  peerDocument,
  poolDocument,
  runManifest,
} from '../support/manifest-run.ts';
import { untilValue } from '../support/poll.ts';
import { debianRoot } from './machine/debian-root.ts';
import { Machine } from './machine/machine.ts';
import { programArchive } from './machine/program-archive.ts';
import { skipWithoutMachines } from './machine/require-machine.ts';
import { key, nodeAsn, RouterLab, routerAsn } from './manifest-router-lab.ts';
import { RouteWatch } from './support/route-watch.ts';

const vip = '198.51.100.10';
const vip6 = '2001:db8:1::7';
const byCommand = '198.51.100.11';
const number = 11;
const nextHop = `10.0.0.${number}`;
const probe = '/usr/local/bin/forbidden-things';
const found = '/run/herald/found.json';

const peer = peerDocument('tor', {
  ...{ address: '10.0.0.1', asn: routerAsn, localASN: nodeAsn, ttlSecurity: true },
  password: { file: '/etc/herald/bgp.key' },
});
const pool = poolDocument('site', {
  addresses: ['198.51.100.0/28', '2001:db8:1::/120'],
  drain: { waitSeconds: 1 },
});
const documents = {
  'site.yaml':
    peer +
    pool +
    claimDocument(vip, { bind: { interface: 'lo' } }) +
    claimDocument('2001-0db8-0001-0000-0000-0000-0000-0007', { bind: { interface: 'lo' } }),
  'bgp.key': `${key}\n`,
};
/** Passes where other processes can be seen. */
const command = claimDocument(byCommand, {
  checks: [{ exec: { command: ['/bin/pidof', 'systemd-journald'] }, intervalSeconds: 0.2 }],
});
/** As docs/getting-started-standalone.md has it. */
const arp = 'net.ipv4.conf.all.arp_ignore = 1\nnet.ipv4.conf.all.arp_announce = 2\n';

async function printed(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runManifest(...args);
  if (status !== 0) throw new Error(`herald manifest: ${stderr}`);
  return stdout;
}

describe('the unit under a real systemd', function () {
  // the first time a Debian root is made
  this.timeout(20 * 60_000);
  let lab: RouterLab;
  let machine: Machine | undefined;
  let base = '';

  before(async function () {
    skipWithoutMachines(this);
    base = await debianRoot();
    const source = `files:${documentsFolder(documents)}`;
    const neighbour = ['--neighbor', nextHop];
    const config = await printed('router', '--for', 'bird', '--source', source, ...neighbour);
    const unit = await printed('systemd', '--source', source, '--join-check', 'none');
    lab = await RouterLab.start('bird', config);
    const { file } = await programArchive(join(lab.lab.folder, 'served'));
    machine = new Machine(await lab.node(number), 'node-11');
    await machine.put('/etc/hostname', 'node-11\n');
    for (const [name, content] of Object.entries(documents))
      await machine.put(`/etc/herald/${name}`, content, 0o600);
    await machine.put('/etc/systemd/system/herald.service', unit);
    const script = readFileSync(join(import.meta.dirname, 'machine/forbidden-things'), 'utf8');
    await machine.put(probe, script, 0o755);
    // what runs beside the agent in its unit has the unit's sandbox
    const beside = `[Service]\nExecStartPost=${probe} ${found}\n`;
    await machine.put('/etc/systemd/system/herald.service.d/probe.conf', beside);
    await machine.put('/etc/sysctl.d/90-herald.conf', arp);
    machine.boot(base);
    await machine.running();
    mkdirSync(await machine.file('/opt/herald'), { recursive: true });
    copyFileSync(file, await machine.file('/root/herald.tar'));
    await machine.exec('tar', ['-xf', '/root/herald.tar', '-C', '/opt/herald']);
    await machine.exec('systemctl', ['daemon-reload']);
    await machine.exec('systemctl', ['enable', '--now', 'herald']);
  });

  after(async () => {
    await machine?.destroy();
    await lab?.lab.destroy();
  });

  const here = (): Machine => {
    if (machine === undefined) throw new Error('no machine');
    return machine;
  };

  async function announced(...addresses: readonly string[]): Promise<void> {
    const routes = [vip, ...addresses].map((address) => `${address}/32 ${nextHop}`);
    try {
      await lab.table('ipv4', routes);
      await lab.table('ipv6', [`${vip6}/128 2001:db8::${number}`]);
    } catch (error) {
      throw new Error(`${error}\n${await here().log('herald')}\n${lab.router.log()}`);
    }
  }

  async function onLoopback(): Promise<string> {
    return (await here().exec('ip', ['-o', 'address', 'show', 'dev', 'lo'])).stdout;
  }

  async function property(name: string): Promise<string> {
    const args = ['show', 'herald', '--value', '-p', name];
    return (await here().exec('systemctl', args)).stdout.trim();
  }

  it('announces with TCP-MD5 and TTL security, and has its addresses on lo', async () => {
    await announced();
    const addresses = await onLoopback();
    expect(addresses).to.include(`inet ${vip}/32`).and.to.include(`inet6 ${vip6}/128`);
    const { stdout } = await here().exec('/opt/herald/herald', ['status']);
    expect(stdout).to.include(vip).and.not.include('Warnings');
  });

  it('has its sandbox in force: what is forbidden fails there, and works outside', async () => {
    const status = await here().read(`/proc/${await property('MainPID')}/status`);
    const field = (name: string) => new RegExp(`^${name}:\\s*(\\S+)`, 'm').exec(status)?.[1];
    expect(field('Seccomp'), 'a filter').to.equal('2');
    expect(field('NoNewPrivs')).to.equal('1');
    // bit 12: CAP_NET_ADMIN, and no other
    for (const set of ['CapBnd', 'CapPrm', 'CapEff', 'CapAmb'])
      expect(Number.parseInt(field(set) ?? '', 16), set).to.equal(1 << 12);
    expect(await property('RestrictAddressFamilies')).to.equal(
      'AF_INET AF_INET6 AF_NETLINK AF_UNIX',
    );
    for (const [name, value] of [
      ['PrivateDevices', 'yes'],
      ['ProtectProc', 'invisible'],
      ['ProtectSystem', 'strict'],
    ] as const)
      expect(await property(name), name).to.equal(value);
    expect((await property('SystemCallFilter')).split(' ')).to.include('setsockopt');

    const results = async (path: string) =>
      JSON.parse(await here().read(path)) as Record<string, string>;
    await here().exec(probe, ['/root/found.json']);
    expect([...new Set(Object.values(await results('/root/found.json')))], 'outside').to.deep.equal(
      ['done'],
    );
    expect(await results(found)).to.deep.equal({
      'a packet socket': 'EAFNOSUPPORT',
      ptrace: 'EPERM',
      'a namespace': 'EPERM',
      'another personality': 'EPERM',
      'a file in /etc': 'EROFS',
      'a file in its own state': 'done',
      'a kernel setting': 'EROFS',
      'the disk': 'ENOENT',
      'process 1 in /proc': 'hidden',
    });
  });

  it('is started again by systemd when it is killed', async () => {
    const watch = await RouteWatch.start(lab.host);
    const old = await property('MainPID');
    const killed = performance.now();
    await here().exec('systemctl', ['kill', '--kill-whom=main', '--signal=KILL', 'herald']);
    await watch.gone(vip, nextHop, killed);
    await announced();
    await watch.stop();
    expect(await property('MainPID')).to.not.equal(old);
    expect(await property('NRestarts')).to.equal('1');
    expect(await onLoopback()).to.include(`inet ${vip}/32`);
  });

  it('withdraws and takes its addresses from lo when it is stopped', async () => {
    await here().exec('systemctl', ['stop', 'herald']);
    // no router waits for anything: what is gone when systemctl is back was withdrawn
    expect(await lab.router.paths('ipv4')).to.deep.equal([]);
    expect(await lab.router.paths('ipv6')).to.deep.equal([]);
    expect(await onLoopback())
      .to.not.include(vip)
      .and.not.include(vip6);
    expect(await property('ActiveState')).to.equal('inactive');
    expect(await property('Result')).to.equal('success');
    expect(await property('ExecMainStatus')).to.equal('0');
  });

  it('announces again after the next boot, which begins with the power cut', async () => {
    await here().destroy();
    here().boot(base);
    await here().running();
    await announced();
    expect(await onLoopback()).to.include(`inet ${vip}/32`);
  });

  it('hides other processes, and shows them to a check by command once the unit knows of it', async () => {
    const { 'site.yaml': site } = documents;
    const withCommand = { ...documents, 'site.yaml': site + command };
    const source = `files:${documentsFolder(withCommand)}`;
    writeFileSync(await here().file('/etc/herald/site.yaml'), withCommand['site.yaml']);
    const why = async () => {
      const args = ['explain', byCommand];
      return (await here().exec('/opt/herald/herald', args, { anyStatus: true })).stdout;
    };
    await untilValue('the check fails', why, (text) => /pidof.*status 1/.test(text));
    await announced();
    const unit = await printed('systemd', '--source', source, '--join-check', 'none');
    writeFileSync(await here().file('/etc/systemd/system/herald.service'), unit);
    await here().exec('systemctl', ['daemon-reload']);
    await here().exec('systemctl', ['restart', 'herald']);
    await announced(byCommand);
  });
});
