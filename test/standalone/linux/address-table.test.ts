/** The kernel's addresses, in namespaces: the suite that every table passes, and what only a kernel can do. */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { open as openFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import type { Outcome } from '../../../src/linux/address-table.ts';
import { describeAddressTable } from '../../compliance/address-table.ts';
import { skipWithoutLab } from '../../interop/require-lab.ts';
import type { Host } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import {
  addressLines,
  createAddressWorld,
  createMachine,
  ipAddresses,
  type Machine,
} from './namespace.ts';
import type { SubjectStart } from './subject.ts';
import { LinuxSubject } from './subject-client.ts';

describeAddressTable('the kernel', (context) => {
  skipWithoutLab(context, []);
  return createAddressWorld();
});

/** How often something is measured whose best counts. */
const FEWEST = 3;
const MOST = 12;

/** A machine that is there refuses a closed port at once; one that nobody answers ARP for is "no route to host" after 3 s. */
async function knock(from: Host, address: string): Promise<string> {
  const script = `exec 3<>/dev/tcp/${address}/9`;
  const output = await from.exec('timeout', ['8', 'bash', '-c', script], { anyStatus: true });
  return output.stderr;
}

describe('addresses in the kernel', function () {
  this.timeout(180_000);
  let machine: Machine;
  let subjects: LinuxSubject[] = [];

  before(function () {
    skipWithoutLab(this, []);
  });

  beforeEach(async () => {
    machine = await createMachine();
  });

  afterEach(async () => {
    await Promise.all(subjects.map((subject) => subject.vanish()));
    subjects = [];
    await machine?.lab.destroy();
  });

  function open(start: SubjectStart = {}, wrap: readonly string[] = []): LinuxSubject {
    const subject = new LinuxSubject(machine.host, start, wrap);
    subjects.push(subject);
    return subject;
  }

  const oursSeen = async () =>
    (await addressLines(machine.host)).filter((line) => !line.includes('99'));

  it('are permanent, and usable at once in IPv6', async () => {
    const subject = open();
    await subject.add('192.0.2.7', 'eth0');
    await subject.add('2001:db8::7', 'eth0');
    const eth0 = (await ipAddresses(machine.host)).find((link) => link.ifname === 'eth0');
    const [four, six] = ['192.0.2.7', '2001:db8::7'].map((text) =>
      eth0?.addr_info.find((each) => each.local === text),
    );
    const forever = 4_294_967_295;
    expect(four).to.include({ label: 'eth0:herald', scope: 'global', valid_life_time: forever });
    expect(six).to.include({ scope: 'global', valid_life_time: forever, nodad: true });
    expect(six?.tentative).to.equal(undefined);
    await machine.neighbour.ip('route add 192.0.2.7/32 via 10.99.0.1');
    await machine.neighbour.ip('route add 2001:db8::7/128 via 2001:db8:99::1');
    expect(await knock(machine.neighbour, '192.0.2.7')).to.include('Connection refused');
    expect(await knock(machine.neighbour, '2001:db8::7')).to.include('Connection refused');
  });

  /** what the machine's own connections to `address` come from */
  async function sourceTowards(address: string): Promise<unknown> {
    const { stdout } = await machine.host.exec('ip', ['-j', 'route', 'get', address]);
    return JSON.parse(stdout)[0]?.prefsrc;
  }

  // Of two preferred addresses the kernel takes the one more like the destination, so these are as like it as can be.
  const [near, far] = ['2001:db8:99::2', '2001:db8:5::9'];
  const claims = ['2001:db8:99::3', '2001:db8:5::8'];

  it('in IPv6 answer, and are not where the connections of the machine itself come from', async () => {
    await machine.host.ip(
      'route add default via 10.99.0.2',
      'route add default via 2001:db8:99::2',
    );
    const subject = open();
    for (const each of [...claims, '10.99.0.3', '192.0.2.7']) {
      expect(await subject.add(each, 'eth0')).to.have.property('kind', 'done');
    }
    for (const to of [near, far]) expect(await sourceTowards(to)).to.equal('2001:db8:99::1');
    const eth0 = (await ipAddresses(machine.host)).find((link) => link.ifname === 'eth0');
    for (const claim of claims) {
      const found = eth0?.addr_info.find((each) => each.local === claim);
      expect(found).to.include({
        ...{ deprecated: true, preferred_life_time: 0, valid_life_time: 4_294_967_295 },
      });
    }
    for (const to of ['10.99.0.2', '192.0.2.8']) {
      expect(await sourceTowards(to)).to.equal('10.99.0.1');
    }
    await machine.neighbour.ip('route add 2001:db8:5::8/128 via 2001:db8:99::1');
    for (const claim of claims) {
      expect(await knock(machine.neighbour, claim)).to.include('Connection refused');
    }
    // deprecated or not, they are ours and there
    expect((await open().list()).filter((each) => each.ours)).to.have.length(4);
    expect(await open().add('2001:db8:5::8', 'eth0')).to.deep.equal({
      kind: 'done',
      changed: false,
    });
    expect(await open().remove('2001:db8:5::8', 'eth0')).to.deep.equal({
      kind: 'done',
      changed: true,
    });
  });

  it('on lo do not take the place of the address of a machine that has its own there', async () => {
    await machine.host.ip(
      'address add 2001:db8:50::1/128 dev lo nodad',
      'address delete 2001:db8:99::1/64 dev eth0',
      'route add 2001:db8:99::/64 dev eth0',
      'route add default via 2001:db8:99::2',
    );
    expect(await sourceTowards(far)).to.equal('2001:db8:50::1');
    const subject = open();
    for (const claim of claims) await subject.add(claim, 'lo');
    for (const to of [near, far]) expect(await sourceTowards(to)).to.equal('2001:db8:50::1');
  });

  it('have no label where it would be too long, and are recognised all the same', async () => {
    await machine.host.ip('link add verylong0 type veth peer name verylong1');
    expect(await open().add('192.0.2.7', 'verylong0')).to.deep.equal({
      kind: 'done',
      changed: true,
    });
    const ours = (await open().list()).filter((each) => each.ours);
    expect(ours.map((each) => [each.interface, each.label])).to.deep.equal([
      ['verylong0', 'verylong0'],
    ]);
  });

  it('of three in a /24, by hand, lose two with the first; ours survive that', async () => {
    await machine.host.exec('sysctl', [
      '-qw',
      'net.ipv4.conf.eth0.promote_secondaries=0',
      'net.ipv4.conf.all.promote_secondaries=0',
    ]);
    await machine.host.ip(...[1, 2, 3].map((last) => `address add 198.51.100.${last}/24 dev eth0`));
    const subject = open();
    for (const last of [4, 5, 6]) {
      expect(await subject.add(`198.51.100.${last}`, 'eth0')).to.have.property('kind', 'done');
    }
    await machine.host.ip('address delete 198.51.100.1/24 dev eth0');
    expect(await oursSeen()).to.deep.equal([4, 5, 6].map((last) => `198.51.100.${last}/32 eth0`));
    await subject.remove('198.51.100.4', 'eth0');
    expect(await oursSeen()).to.deep.equal([5, 6].map((last) => `198.51.100.${last}/32 eth0`));
  });

  it('are 2,000 in one turn, listed whole, without a list for each', async () => {
    const addresses = Array.from({ length: 2000 }, (_, at) =>
      at % 2 === 0 ? `100.64.${at >> 8}.${at & 255}` : `2001:db8:1::${at.toString(16)}`,
    );
    const subject = open();
    const { added, ms } = await subject.ask<{ added: number; ms: number }>({
      kind: 'add-many',
      addresses,
      interface: 'lo',
    });
    expect(added).to.equal(2000);
    // A list for each would be 2,000 lists of up to 2,000: ten seconds and more.
    expect(ms).to.be.below(4000);
    expect((await subject.list()).filter((each) => each.ours)).to.have.length(2000);
    expect((await open().list()).filter((each) => each.ours)).to.have.length(2000);
    expect(
      (await addressLines(machine.host)).filter((line) => line.endsWith(' lo')),
    ).to.have.length(2000);
  });

  it('are listed whole while others come and go', async () => {
    const others = Array.from({ length: 200 }, (_, at) => `100.65.0.${at}/32 dev lo`);
    await machine.host.ip(...others.map((each) => `address add ${each}`));
    const addresses = Array.from({ length: 1000 }, (_, at) => `100.64.${at >> 8}.${at & 255}`);
    const subject = open({ persistMs: 500 });
    await subject.ask({ kind: 'add-many', addresses, interface: 'lo' });
    // The kernel goes on in a list by counting: when an address before that place goes, one behind it would be left out.
    let isBusy = true;
    const churn = (async () => {
      while (isBusy) {
        await machine.host.ip(...others.map((each) => `address delete ${each}`));
        await machine.host.ip(...others.map((each) => `address add ${each}`));
        await delay(10);
      }
    })();
    const counts: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      counts.push(...(await subject.ask<number[]>({ kind: 'list-many', times: 10 })));
    }
    isBusy = false;
    await churn;
    expect(counts.filter((count) => count !== 1000)).to.deep.equal([]);
  });

  it('need CAP_NET_ADMIN, and a sentence says so; reading needs nothing', async () => {
    await machine.host.ip('address add 198.51.100.1/32 label lo:herald dev lo');
    const subject = open({}, [
      'setpriv',
      '--bounding-set',
      '-net_admin',
      '--inh-caps',
      '-net_admin',
    ]);
    const refusals = [
      await subject.add('192.0.2.7', 'lo'),
      await subject.add('2001:db8::7', 'lo'),
      await subject.remove('198.51.100.1', 'lo'),
    ];
    expect(refusals.map((each) => each.kind)).to.deep.equal(Array(3).fill('not-permitted'));
    expect(refusals[0]).to.deep.include({
      code: 'EPERM',
      sentence: 'cannot add 192.0.2.7 to lo: not permitted; the process needs CAP_NET_ADMIN',
    });
    expect((await subject.list()).filter((each) => each.ours)).to.have.length(1);
  });

  it('say that IPv6 is disabled on the interface', async () => {
    await machine.host.exec('sysctl', ['-qw', 'net.ipv6.conf.eth0.disable_ipv6=1']);
    const outcome = await open().add('2001:db8::7', 'eth0');
    expect(outcome).to.have.property('sentence').that.includes('net.ipv6.conf.eth0.disable_ipv6=0');
  });

  describe('on a kernel that cannot mark them', () => {
    const file = () => join(machine.host.folder, 'owned');
    const old = () => open({ hasProtocol: false, ownedFile: file() });
    const done: Outcome = { kind: 'done', changed: true };
    /** the file has it first, and is not waited for */
    const added = (subject: LinuxSubject, address: string) =>
      untilValue(
        `${address} is added`,
        () => subject.add(address, 'lo'),
        ({ kind }) => kind === 'done',
        { everyMs: 5 },
      );
    const fileHas = (line: string) =>
      untilValue(
        'the file',
        () => readFileSync(file(), 'utf8').split('\n'),
        (lines) => lines.includes(line),
      );

    it('are recognised by the file after a kill -9', async () => {
      const first = old();
      expect(await added(first, '2001:db8::7')).to.deep.equal(done);
      expect(await added(first, '2001:db8::8')).to.deep.equal(done);
      expect(await first.remove('2001:db8::8', 'lo')).to.deep.equal(done);
      await fileHas('- 2001:db8::8 lo');
      await machine.host.ip('address add 2001:db8::8/128 dev lo nodad');
      await first.vanish();
      const ours = (await old().list()).filter((each) => each.ours);
      expect(ours.map((each) => [each.interface, each.protocol])).to.deep.equal([
        ['lo', undefined],
      ]);
      expect(await old().remove('2001:db8::8', 'lo')).to.have.property('kind', 'foreign');
      expect(await old().remove('2001:db8::7', 'lo')).to.deep.equal(done);
    });

    it('are not taken for ours after a boot', async () => {
      const first = old();
      await added(first, '2001:db8::7');
      await first.vanish();
      const text = readFileSync(file(), 'utf8');
      const other = text.replace(/^boot .*/, 'boot 00000000-0000-0000-0000-000000000000');
      writeFileSync(file(), other);
      expect((await old().list()).filter((each) => each.ours)).to.deep.equal([]);
    });

    it('on a disk that does not answer: the table does, IPv4 is added, and IPv6 when the disk has it', async () => {
      // who writes this waits for a reader, as for a disk that hangs
      const stuck = `${file()}.new`;
      await machine.host.exec('mkfifo', [stuck]);
      const subject = old();
      await subject.subscribe();
      expect(await subject.add('2001:db8::7', 'lo')).to.include({ kind: 'failed', code: 'EAGAIN' });
      expect(await subject.add('192.0.2.7', 'lo')).to.deep.equal(done);
      expect((await subject.list()).filter((each) => each.ours)).to.have.length(1);
      await untilValue(
        'what the kernel had to say is over',
        () => subject.changes(),
        (count) => count > 0,
      );
      const before = subject.changes();
      // open for both ends: it takes all that is written from now on, also under its next name
      const disk = await openFile(stuck, 'r+');
      await untilValue(
        'it is told',
        () => subject.changes(),
        (count) => count > before,
      );
      expect(await subject.add('2001:db8::7', 'lo')).to.deep.equal(done);
      expect(await subject.remove('2001:db8::7', 'lo')).to.deep.equal(done);
      await disk.close();
    });
  });

  describe('the monitor', () => {
    it('tells of many changes together, not of each by itself', async () => {
      const subject = open();
      await subject.subscribe();
      const addresses = Array.from({ length: 200 }, (_, at) => `100.64.0.${at}`);
      const begun = performance.now();
      await subject.ask({ kind: 'add-many', addresses, interface: 'lo' });
      let told = -1;
      await untilValue(
        'nothing new is told for a while',
        async () => {
          const before = subject.changes();
          await delay(300);
          told = subject.changes();
          return told > 0 && told === before;
        },
        (isCalm) => isCalm,
      );
      expect(told).to.be.within(1, 2 + (performance.now() - begun) / 50);
      expect((await subject.list()).filter((each) => each.ours)).to.have.length(200);
    });

    it('asks for a new look when the kernel had to drop messages, and goes on', async () => {
      const subject = open();
      await subject.links();
      const [begun = '', enough = ''] = ['begun', 'enough'].map((name) =>
        join(machine.host.folder, name),
      );
      const blocked = subject.ask({ kind: 'overflow', begun, enough });
      await untilValue(
        'the monitor runs and nobody reads it',
        () => existsSync(begun),
        (hasBegun) => hasBegun,
      );
      const lines = Array.from({ length: 250 }, (_, at) => `address add 100.64.0.${at}/32 dev lo`);
      await machine.host.ip(...lines);
      writeFileSync(enough, '');
      await blocked;
      await untilValue(
        'a resync',
        () => subject.changesTold,
        (told) => told.includes('resync'),
      );
      const before = subject.changes();
      await machine.host.ip('address add 192.0.2.9/32 dev lo');
      await untilValue(
        'a change',
        () => subject.changes(),
        (count) => count > before,
      );
    });

    for (const kind of ['end', 'exit'] as const) {
      it(`does not keep the process, nor hold it back by more than 50 ms: ${kind}`, async () => {
        const goesWithin = async (monitored: boolean) => {
          const subject = open();
          await (monitored ? subject.subscribe() : subject.links());
          const asked = performance.now();
          await subject.ask({ kind });
          await subject.ended;
          return performance.now() - asked;
        };
        // The best of some of each: the rest is the machine, and node itself going away. By turns, so that it is as busy for both.
        let [plain, watching] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
        for (let run = 0; run < FEWEST || (run < MOST && watching >= plain + 50); run += 1) {
          plain = Math.min(plain, await goesWithin(false));
          watching = Math.min(watching, await goesWithin(true));
        }
        expect(watching).to.be.below(plain + 50);
      });
    }
  });

  describe('ARP for an address on lo', () => {
    it('is warned of while arp_ignore is 0, and not when both settings are right', async () => {
      const subject = open();
      await subject.add('192.0.2.7', 'lo');
      const ask = { kind: 'arp-warnings', interface: 'lo' } as const;
      const warnings = await subject.ask<string[]>(ask);
      expect(warnings).to.have.length(2);
      expect(warnings[0]).to.equal(
        'eth0 would answer ARP requests for addresses on lo (arp_ignore is 0); write net.ipv4.conf.all.arp_ignore=1 ' +
          'into /etc/sysctl.d/90-herald.conf and run sysctl --system',
      );
      await machine.host.exec('sysctl', ['-qw', 'net.ipv4.conf.all.arp_ignore=1']);
      expect(await subject.ask<string[]>(ask)).to.have.length(1);
      await machine.host.exec('sysctl', ['-qw', 'net.ipv4.conf.eth0.arp_announce=2']);
      expect(await subject.ask<string[]>(ask)).to.deep.equal([]);
      expect(
        await subject.ask<string[]>({ kind: 'arp-warnings', interface: 'eth0' }),
      ).to.deep.equal([]);
    });

    it('goes out on the wire with 0 and does not with 1', async () => {
      await open().add('192.0.2.7', 'lo');
      await machine.neighbour.ip('route add 192.0.2.7/32 dev eth0');
      const resolved = async () => {
        await machine.neighbour.ip('neighbour flush dev eth0');
        return (await knock(machine.neighbour, '192.0.2.7')).includes('Connection refused');
      };
      expect(await resolved()).to.equal(true);
      await machine.host.exec('sysctl', ['-qw', 'net.ipv4.conf.all.arp_ignore=1']);
      expect(await resolved()).to.equal(false);
    });
  });
});
