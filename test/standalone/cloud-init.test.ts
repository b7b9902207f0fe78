/**
 * Machines that boot from generated user-data, by Debian's real systemd and cloud-init, with no further input: one user-data for three masters,
 * one for the router, printed from the same documents, and a server that has the program, all started in a random order. The router's table
 * says what came of it: sessions with nothing in them at first, then a next hop for the address per API server that is up. A client
 * behind the router is answered in the end.
 *
 * Not a whole machine: they share this kernel, and the API servers are stand-ins.
 */

import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { isLong } from '../../tools/ring-list.ts';
import {
  claimDocument,
  documentsFolder,
  peerDocument,
  poolDocument,
  runManifest,
} from '../support/manifest-run.ts';
import { untilValue } from '../support/poll.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { type BootedKind, BootedRouter } from './machine/booted-router.ts';
import { debianRoot } from './machine/debian-root.ts';
import { Machine } from './machine/machine.ts';
import { programArchive } from './machine/program-archive.ts';
import { skipWithoutMachines } from './machine/require-machine.ts';
import { key, nodeAsn, RouterLab, routerAsn } from './manifest-router-lab.ts';
import { type Authority, createAuthority } from './support/certificates.ts';

const vip = '198.51.100.10';
const depot = 5;
const masters = [11, 12, 13];
const addresses = masters.map((number) => `10.0.0.${number}`);
const depotUrl = `http://10.0.0.${depot}:8080/herald.tar`;
const within = { timeoutMs: 240_000, everyMs: 500 };

/** The image: which source cloud-init knows, and nothing that needs a disk, a network set up by cloud-init or generated locales. */
const image = `datasource_list: [NoCloud]
network: {config: disabled}
locale: C.UTF-8
growpart: {mode: 'off'}
resize_rootfs: false
`;

const documents = () =>
  documentsFolder({
    'routers.yaml': peerDocument('tor', {
      ...{ address: '10.0.0.1', asn: routerAsn, localASN: nodeAsn, families: ['ipv4'] },
      password: { file: '/etc/herald/bgp.key' },
    }),
    'addresses.yaml':
      poolDocument('control-plane', { addresses: ['198.51.100.0/28'] }) +
      claimDocument(vip, { bind: { interface: 'lo' } }),
    'bgp.key': `${key}\n`,
  });

async function printed(...args: readonly string[]): Promise<string> {
  const { status, stdout, stderr } = await runManifest(...args);
  if (status !== 0) throw new Error(`herald manifest: ${stderr}`);
  return stdout;
}

/** The pieces in a random order, by a seed that repeats it. */
function shuffled<T>(pieces: readonly T[], seed: number): T[] {
  const random = new SeededRandom(seed);
  const left = [...pieces];
  return pieces.flatMap(() => left.splice(random.below(left.length), 1));
}

/** A disk with its user-data, and with what a cloud, or DHCP, says to a machine about itself. */
async function seed(machine: Machine, userData: string): Promise<void> {
  const self = `instance-id: ${machine.name}\nlocal-hostname: ${machine.name}\n`;
  await machine.put('/etc/cloud/cloud.cfg.d/90-image.cfg', image);
  // the packages that debian-root.ts has put into apt's cache are those without recommendations
  const apt = 'APT::Install-Recommends "false";\n';
  await machine.put('/etc/apt/apt.conf.d/90-image', apt);
  await machine.put('/var/lib/cloud/seed/nocloud/meta-data', self);
  await machine.put('/var/lib/cloud/seed/nocloud/user-data', userData, 0o600);
}

/** What kubeadm would do: certificates on the disk, then an API server that answers. */
async function startApiServer(machine: Machine, authority: Authority): Promise<void> {
  const pair = await authority.issue(machine.name, ['127.0.0.1', vip]);
  const file = await machine.file('/etc/kubernetes/pki/ca.crt');
  mkdirSync(dirname(file), { recursive: true });
  copyFileSync(authority.certificate, file);
  const program = join(import.meta.dirname, 'support/stand-in-main.ts');
  const files = [pair.certificate, pair.key, join(machine.host.folder, 'unready')];
  machine.host.spawn('api-server', process.execPath, [program, machine.name, '6443', ...files]);
}

describe('booting from the generated cloud-init', function () {
  // the first time a Debian root is made
  this.timeout(20 * 60_000);
  let lab: RouterLab | undefined;
  let machines: Machine[] = [];

  before(function () {
    skipWithoutMachines(this);
  });

  afterEach(async () => {
    await Promise.all(machines.map((machine) => machine.destroy()));
    machines = [];
    await lab?.lab.destroy();
  });

  it('three masters, one user-data, any order: a next hop each as soon as its API server is up', () =>
    bootsAll('bird'));

  if (isLong()) it('the same with FRR as the router', () => bootsAll('frr'));

  async function bootsAll(kind: BootedKind): Promise<void> {
    const base = await debianRoot();
    const source = `files:${documents()}`;
    const range = ['--neighbor-range', '10.0.0.0/24'];
    const forRouter = ['router', '--for', kind, '--source', source, ...range];
    const routerData = await printed(...forRouter, '--cloud-init');
    const made = await RouterLab.create('bird');
    lab = made;
    const authority = await createAuthority(made.lab.folder);
    const served = join(made.lab.folder, 'served');
    const { sha256 } = await programArchive(served);
    const userData = await printed(
      ...['cloud-init', '--source', source, '--program', depotUrl, '--program-sha256', sha256],
      ...['--join-check', 'https://127.0.0.1:6443/readyz', '--join-interval', '0.5'],
      ...['--join-ca', '/etc/kubernetes/pki/ca.crt'],
    );
    const depotHost = await made.node(depot);
    // no router yet: its own user-data makes it one
    await made.host.exec('sysctl', ['-qw', 'net.ipv4.ip_forward=0']);
    await made.host.exec('sysctl', ['-qw', 'net.ipv4.fib_multipath_hash_policy=0']);
    const client = await made.lab.host('client', { forward: false });
    await made.lab.link(made.host, client, { a: ['192.0.2.1/24'], b: ['192.0.2.2/24'] });
    await client.ip('route add default via 192.0.2.1');
    const routerMachine = new Machine(made.host, 'tor');
    await seed(routerMachine, routerData);
    machines.push(routerMachine);
    const nodes: Machine[] = [];
    for (const number of masters) {
      const node = new Machine(await made.node(number), `master-${number}`);
      await node.host.ip('route add default via 10.0.0.1');
      await seed(node, userData);
      nodes.push(node);
    }
    machines.push(...nodes);

    const order = Number(process.env['HERALD_SEED'] ?? Date.now() % 1_000_000);
    const pieces = [
      {
        name: 'depot',
        start: () => {
          const args = ['-m', 'http.server', '8080', '--bind', `10.0.0.${depot}`, '-d', served];
          depotHost.spawn('depot', 'python3', args);
        },
      },
      ...machines.map((machine) => ({ name: machine.name, start: () => machine.boot(base) })),
    ];
    const first = shuffled(pieces, order);
    const said = `boot order (HERALD_SEED=${order}): ${first.map(({ name }) => name).join(', ')}`;
    process.stdout.write(`      ${said}\n`);
    for (const { start } of first) start();

    const router = new BootedRouter(routerMachine, kind);
    try {
      await addressOf(made, router, shuffled(nodes, order + 1), authority);
    } catch (error) {
      const logs = await Promise.all(machines.map((machine) => machine.log()));
      throw new Error(`${error}\n${logs.join('\n')}`);
    }
    await whatTheMachinesHave(nodes);
    const forwards = await made.host.exec('sysctl', ['-n', 'net.ipv4.ip_forward']);
    expect(forwards.stdout.trim(), 'forwarding').to.equal('1');
    const ask = `import urllib.request as u; print(u.urlopen("http://${vip}:6443/", timeout=30).read().decode())`;
    const answer = await client.exec('python3', ['-c', ask]);
    expect(answer.stdout).to.match(/^master-1[123]/);
  }
});

/** Sessions with nothing in them, then one next hop, then three, in the router's table and in its kernel. */
async function addressOf(
  lab: RouterLab,
  router: BootedRouter,
  [first, ...others]: readonly Machine[],
  authority: Authority,
): Promise<void> {
  if (first === undefined) throw new Error('no machine');
  const sessions = async () => (await router.established()).toSorted().join();
  const isAll = (found: string) => found === addresses.join();
  await untilValue('a session of each master', sessions, isAll, within);
  // joined is what opens the gate, and nobody has
  expect(await router.paths('ipv4')).to.deep.equal([]);
  const table = async () => (await router.paths('ipv4')).map(({ nextHop }) => nextHop).toSorted();
  await startApiServer(first, authority);
  const number = first.name.split('-')[1];
  const isFirst = (hops: readonly string[]) => hops.join() === `10.0.0.${number}`;
  await untilValue('the address by the first master', table, isFirst, within);
  for (const machine of others) await startApiServer(machine, authority);
  await untilValue('the address by all', table, (hops) => isAll(hops.join()), within);
  const [path] = await router.paths('ipv4');
  expect(path?.prefix).to.equal(`${vip}/32`);
  const hops = () => lab.kernelHops(vip);
  await untilValue('ECMP in the kernel', hops, (found) => isAll(found.join()));
}

/** The address on lo, silence about it on the segment, keys that only root can read, and the unit's sandbox around the agent. */
async function whatTheMachinesHave(machines: readonly Machine[]): Promise<void> {
  for (const machine of machines) {
    const { host, name } = machine;
    const { stdout } = await host.exec('ip', ['-o', 'address', 'show', 'dev', 'lo']);
    expect(stdout, name).to.include(`inet ${vip}/32`);
    const arp = await host.exec('sysctl', ['-n', 'net.ipv4.conf.all.arp_ignore']);
    expect(arp.stdout.trim(), name).to.equal('1');
    const key = await machine.exec('stat', ['-c', '%a %U', '/etc/herald/bgp.key']);
    expect(key.stdout.trim(), name).to.equal('600 root');
    const enabled = await machine.exec('systemctl', ['is-enabled', 'herald']);
    expect(enabled.stdout.trim(), name).to.equal('enabled');
    const pid = await machine.exec('systemctl', ['show', 'herald', '--value', '-p', 'MainPID']);
    const status = await machine.read(`/proc/${pid.stdout.trim()}/status`);
    expect(/^Seccomp:\s*(\d)/m.exec(status)?.[1], name).to.equal('2');
    await machine.running();
  }
}
