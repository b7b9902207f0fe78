/**
 * Machines that boot from generated user-data, by Debian's real cloud-init, with no further input: the same user-data for three
 * masters, a router with the file printed from the same documents, a server that has the program, all started in a random order. The
 * router's table says what came of it: sessions with nothing in them at first, then a next hop for the address per API server that is up.
 *
 * Not a whole machine: the masters are namespaces with a root of their own, and systemd is a stand-in (cloud-init/systemctl).
 */

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { skipWithoutLab } from '../interop/require-lab.ts';
import {
  claimDocument,
  documentsFolder,
  peerDocument,
  poolDocument,
  runManifest,
} from '../support/manifest-run.ts';
import type { Host } from '../support/netns.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import { debianRoot } from './cloud-init/debian-root.ts';
import { key, nodeAsn, RouterLab, routerAsn } from './manifest-router-lab.ts';
import { type Authority, createAuthority } from './support/certificates.ts';
import { heraldProgram } from './support/herald-program.ts';

const root = join(import.meta.dirname, '../..');
const vip = '198.51.100.10';
const depot = 5;
const masters = [11, 12, 13];
const depotUrl = `http://10.0.0.${depot}:8080/herald.tar`;

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

/** dist/ with Node in it, as docs/getting-started-standalone.md makes it. */
async function programArchive(folder: string): Promise<string> {
  if (basename(join(heraldProgram(), '..')) !== 'dist') {
    await run(process.execPath, ['--conditions=bgp-ts-source', join(root, 'tools/build.ts')], {
      timeoutMs: 60_000,
    });
  }
  const [node] = globSync('node_modules/node-linux-*/bin/node', { cwd: root });
  if (node === undefined) throw new Error('the pinned Node is missing; run `make setup`');
  mkdirSync(folder, { recursive: true });
  const archive = join(folder, 'herald.tar');
  await run('tar', ['-cf', archive, '-C', join(root, 'dist'), '.', '-C', root, node]);
  return createHash('sha256').update(readFileSync(archive)).digest('hex');
}

/** The pieces in a random order, by a seed that repeats it. */
function shuffled<T>(pieces: readonly T[], seed: number): T[] {
  const random = new SeededRandom(seed);
  const left = [...pieces];
  return pieces.flatMap(() => left.splice(random.below(left.length), 1));
}

class Machine {
  readonly host: Host;
  readonly folder: string;
  readonly name: string;

  constructor(host: Host, number: number) {
    this.host = host;
    this.name = `master-${number}`;
    this.folder = join(host.folder, 'machine');
  }

  boot(base: string, userData: string): void {
    mkdirSync(join(this.folder, 'seed'), { recursive: true });
    writeFileSync(join(this.folder, 'seed/user-data'), userData);
    // what a cloud, or DHCP, tells a machine about itself
    const self = `instance-id: ${this.name}\nlocal-hostname: ${this.name}\n`;
    writeFileSync(join(this.folder, 'seed/meta-data'), self);
    const inside = join(import.meta.dirname, 'cloud-init');
    const script = [join(inside, 'boot.sh'), base, this.folder, join(inside, 'systemctl')];
    const own = ['--mount', '--uts', '--ipc', '--pid', '--fork', '--kill-child'];
    this.host.spawn('boot', 'unshare', [...own, 'bash', ...script]);
  }

  /** What kubeadm would do: certificates on the disk, then an API server that answers. */
  async startApiServer(authority: Authority): Promise<void> {
    const pair = await authority.issue(this.name, ['127.0.0.1', vip]);
    const pki = join(this.folder, 'kubernetes/pki');
    mkdirSync(pki, { recursive: true });
    copyFileSync(authority.certificate, join(pki, 'ca.crt'));
    const program = join(import.meta.dirname, 'support/stand-in-main.ts');
    const files = [pair.certificate, pair.key, join(this.folder, 'unready')];
    this.host.spawn('api-server', process.execPath, [program, this.name, '6443', ...files]);
  }

  log(): string {
    const files = ['console.log', 'herald.log', 'cloud-init.log'].map((name) =>
      join(this.folder, 'log', name),
    );
    const said = files
      .filter((file) => existsSync(file))
      .map((file) => readFileSync(file, 'utf8').slice(-3000));
    return `--- ${this.name}\n${said.join('\n')}`;
  }
}

describe('booting from the generated cloud-init', function () {
  // the first time a Debian root is made
  this.timeout(20 * 60_000);
  let lab: RouterLab | undefined;

  before(function () {
    skipWithoutLab(this, ['bird']);
    const missing = ['debootstrap', 'chroot', 'unshare', 'openssl', 'python3'].filter(
      (each) => spawnSync('sh', ['-c', `command -v ${each}`]).status !== 0,
    );
    if (missing.length === 0) return;
    const sentence = `booting cloud-init needs ${missing.join(', ')}; run \`make setup\`.`;
    if ((process.env['HERALD_REQUIRE_LAB'] ?? '') !== '') throw new Error(sentence);
    process.stderr.write(`SKIPPED: ${sentence}\n`);
    this.skip();
  });

  after(async () => {
    await lab?.lab.destroy();
  });

  it('three masters, one user-data, any order: a next hop each as soon as its API server is up', async () => {
    const base = await debianRoot();
    const source = `files:${documents()}`;
    const range = ['--neighbor-range', '10.0.0.0/24'];
    const routerConfig = await printed('router', '--for', 'bird', '--source', source, ...range);
    const made = await RouterLab.create('bird');
    lab = made;
    const authority = await createAuthority(made.lab.folder);
    const served = join(made.lab.folder, 'served');
    const sha256 = await programArchive(served);
    const userData = await printed(
      ...['cloud-init', '--source', source, '--program', depotUrl, '--program-sha256', sha256],
      ...['--join-check', 'https://127.0.0.1:6443/readyz', '--join-interval', '0.5'],
      ...['--join-ca', '/etc/kubernetes/pki/ca.crt'],
    );
    const depotHost = await made.node(depot);
    const machines: Machine[] = [];
    for (const number of masters) machines.push(new Machine(await made.node(number), number));

    const seed = Number(process.env['HERALD_SEED'] ?? Date.now() % 1_000_000);
    const pieces = [
      { name: 'router', start: () => made.router.start(made.host, routerConfig) },
      {
        name: 'depot',
        start: () => {
          const args = ['-m', 'http.server', '8080', '--bind', `10.0.0.${depot}`, '-d', served];
          depotHost.spawn('depot', 'python3', args);
        },
      },
      ...machines.map((machine) => ({
        name: machine.name,
        start: () => machine.boot(base, userData),
      })),
    ];
    const order = shuffled(pieces, seed);
    const said = `boot order (HERALD_SEED=${seed}): ${order.map(({ name }) => name).join(', ')}`;
    process.stdout.write(`      ${said}\n`);
    for (const { start } of order) await start();

    const within = { timeoutMs: 180_000, everyMs: 500 };
    const addresses = masters.map((number) => `10.0.0.${number}`);
    const sessions = async () => (await made.router.established()).toSorted();
    try {
      const all = (up: readonly string[]) => up.join() === addresses.join();
      await untilValue('a session of each master', sessions, all, within);
      // joined is what opens the gate, and nobody has
      expect(await made.router.paths('ipv4')).to.deep.equal([]);
      const [first, ...others] = shuffled(machines, seed + 1);
      if (first === undefined) throw new Error('no machine');
      await first.startApiServer(authority);
      const number = first.name.split('-')[1];
      await made.table('ipv4', [`${vip}/32 10.0.0.${number}`]);
      for (const machine of others) await machine.startApiServer(authority);
      await made.table(
        'ipv4',
        addresses.map((address) => `${vip}/32 ${address}`),
      );
      const hops = () => made.kernelHops(vip);
      await untilValue('ECMP in the kernel', hops, (found) => found.join() === addresses.join());
    } catch (error) {
      throw new Error(`${error}\n${machines.map((machine) => machine.log()).join('\n')}`);
    }
    await whatTheMachinesHave(machines);
    const answer = await made.host.exec('python3', [
      '-c',
      `import urllib.request as u; print(u.urlopen("http://${vip}:6443/", timeout=30).read().decode())`,
    ]);
    expect(answer.stdout).to.match(/^master-1[123]/);
  });
});

/** The address on lo, silence about it on the segment, and keys that only root can read. */
async function whatTheMachinesHave(machines: readonly Machine[]): Promise<void> {
  for (const { host, folder, name } of machines) {
    const { stdout } = await host.exec('ip', ['-o', 'address', 'show', 'dev', 'lo']);
    expect(stdout, name).to.include(`inet ${vip}/32`);
    const arp = await host.exec('sysctl', ['-n', 'net.ipv4.conf.all.arp_ignore']);
    expect(arp.stdout.trim(), name).to.equal('1');
    const { stdout: mode } = await run('stat', [
      '-c',
      '%a',
      join(folder, 'upper/etc/herald/bgp.key'),
    ]);
    expect(mode.trim(), name).to.equal('600');
    const wanted = join(folder, 'upper/etc/systemd/system/multi-user.target.wants/herald.service');
    expect((await run('readlink', [wanted])).stdout.trim()).to.equal(
      '/etc/systemd/system/herald.service',
    );
  }
}
