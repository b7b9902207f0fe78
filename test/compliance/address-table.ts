/**
 * What every AddressTable must do. The kernel's runs it in a network namespace, from a process of its own; the one in memory runs it
 * beside. The world is asked for what it holds apart from the table: `ip address` there, the memory host here.
 */

import { address } from 'bgp-ts';
import { expect } from 'chai';
import type { AddressTable, KernelAddress, Link, Outcome } from '../../src/linux/address-table.ts';
import { untilValue } from '../support/poll.ts';

/** A table in some process: the same calls, but the answer travels. */
export interface TableUnderTest {
  list(): Promise<readonly KernelAddress[]>;
  links(): Promise<readonly Link[]>;
  add(text: string, interfaceName: string): Promise<Outcome>;
  remove(text: string, interfaceName: string): Promise<Outcome>;
  subscribe(): Promise<void>;
  unsubscribe(): Promise<void>;
  /** how often the subscriber has been called */
  changes(): number;
  /** gone without a word, as by kill -9 */
  vanish(): Promise<void>;
}

/** A machine with `lo` and `eth0`. */
export interface AddressWorld {
  open(): Promise<TableUnderTest>;
  /** every address but the machine's loopback ones, such as `192.0.2.1/32 lo`, sorted */
  addresses(): Promise<readonly string[]>;
  addByHand(withLength: string, interfaceName: string): Promise<void>;
  removeByHand(withLength: string, interfaceName: string): Promise<void>;
  addLink(name: string): Promise<void>;
  removeLink(name: string): Promise<void>;
  destroy(): Promise<void>;
}

export function ofTable(table: AddressTable): TableUnderTest {
  let changes = 0;
  let stop: (() => void) | undefined;
  return {
    list: async () => table.list(),
    links: async () => table.links(),
    add: async (text, name) => table.add(address(text), name),
    remove: async (text, name) => table.remove(address(text), name),
    subscribe: async () => {
      stop = table.subscribe(() => {
        changes += 1;
      });
    },
    unsubscribe: async () => stop?.(),
    changes: () => changes,
    vanish: async () => table.close(),
  };
}

const four = '192.0.2.7';
const six = '2001:db8::7';
const changed: Outcome = { kind: 'done', changed: true };
const unchanged: Outcome = { kind: 'done', changed: false };

/** Within this much a change is told: by the kernel in less than a millisecond, to a process on a busy machine later. */
const toldWithinMs = 10_000;

export function describeAddressTable(
  name: string,
  createWorld: (context: Mocha.Context) => Promise<AddressWorld>,
): void {
  describe(`an address table: ${name}`, function () {
    this.timeout(60_000);
    let world: AddressWorld;
    let table: TableUnderTest;

    beforeEach(async function () {
      world = await createWorld(this);
      table = await world.open();
    });

    afterEach(async () => {
      await world?.destroy();
    });

    const told = (since: number) =>
      untilValue(
        'the subscriber is called',
        () => table.changes(),
        (count) => count > since,
        { timeoutMs: toldWithinMs, everyMs: 2 },
      );

    for (const interfaceName of ['lo', 'eth0']) {
      for (const text of [four, six]) {
        it(`puts ${text} on ${interfaceName} as a host address and takes it off`, async () => {
          const before = await world.addresses();
          expect(await table.add(text, interfaceName)).to.deep.equal(changed);
          const host = `${text}/${text === four ? 32 : 128} ${interfaceName}`;
          expect(await world.addresses()).to.have.members([...before, host]);
          expect(await table.remove(text, interfaceName)).to.deep.equal(changed);
          expect(await world.addresses()).to.deep.equal(before);
        });
      }
    }

    it('lists an address of ours with its interface, length and mark', async () => {
      await table.add(four, 'lo');
      await table.add(six, 'eth0');
      const ours = (await table.list()).filter((each) => each.ours);
      const lines = ours.map((each) => [
        each.address,
        each.prefixLength,
        each.interface,
        each.protocol,
        each.label,
      ]);
      expect(lines).to.have.deep.members([
        [address(four), 32, 'lo', 72, 'lo:herald'],
        [address(six), 128, 'eth0', 72, undefined],
      ]);
      const { index } = (await table.links()).find((link) => link.name === 'eth0') ?? {};
      expect(ours.find((each) => each.interface === 'eth0')?.index).to.equal(index);
    });

    it('is done without a change the second time, and when there is nothing to remove', async () => {
      for (const text of [four, six]) {
        expect(await table.add(text, 'lo')).to.deep.equal(changed);
        expect(await table.add(text, 'lo')).to.deep.equal(unchanged);
        expect(await table.remove(text, 'lo')).to.deep.equal(changed);
        expect(await table.remove(text, 'lo')).to.deep.equal(unchanged);
      }
    });

    it('puts an address of ours on a second interface', async () => {
      for (const text of [four, six]) {
        expect(await table.add(text, 'lo')).to.deep.equal(changed);
        expect(await table.add(text, 'eth0')).to.deep.equal(changed);
        expect(await table.remove(text, 'lo')).to.deep.equal(changed);
        const at = (await table.list()).filter((each) => each.ours).map((each) => each.interface);
        expect(at).to.deep.equal(['eth0']);
        await table.remove(text, 'eth0');
      }
    });

    it('says that the interface is missing', async () => {
      const outcome = await table.add(four, 'vip0');
      expect(outcome.kind).to.equal('no-interface');
      expect(outcome).to.have.property('sentence').that.includes('there is no interface vip0');
    });

    for (const theirs of [`${four}/32`, `${four}/24`, `${six}/128`, `${six}/64`]) {
      it(`neither doubles nor removes ${theirs}, which somebody else added`, async () => {
        const [text = ''] = theirs.split('/');
        await world.addByHand(theirs, 'eth0');
        const before = await world.addresses();
        expect((await table.add(text, 'eth0')).kind).to.equal('foreign');
        const elsewhere = await table.add(text, 'lo');
        expect(elsewhere.kind).to.equal('foreign');
        expect(elsewhere).to.have.property('sentence').that.includes(`${theirs} on eth0`);
        const removal = await table.remove(text, 'eth0');
        expect(removal.kind).to.equal('foreign');
        expect(removal).to.have.property('sentence').that.includes('left alone');
        expect(await world.addresses()).to.deep.equal(before);
        expect((await table.list()).filter((each) => each.ours)).to.deep.equal([]);
      });
    }

    it('removes its own host address beside the same address of somebody else', async () => {
      await table.add(four, 'eth0');
      await world.addByHand(`${four}/24`, 'eth0');
      expect(await table.remove(four, 'eth0')).to.deep.equal(changed);
      const left = (await world.addresses()).filter((line) => line.startsWith(four));
      expect(left).to.deep.equal([`${four}/24 eth0`]);
    });

    it('keeps the others when the first of three in one subnet goes', async () => {
      const three = ['192.0.2.1', '192.0.2.2', '192.0.2.3'];
      for (const text of three) await table.add(text, 'eth0');
      await table.remove('192.0.2.1', 'eth0');
      const left = (await world.addresses()).filter((line) => line.startsWith('192.0.2.'));
      expect(left).to.deep.equal(['192.0.2.2/32 eth0', '192.0.2.3/32 eth0']);
    });

    it('recognises what a process that was killed left, and cleans it', async () => {
      await table.add(four, 'lo');
      await table.add(six, 'lo');
      await world.addByHand('198.51.100.1/32', 'lo');
      await table.vanish();
      const next = await world.open();
      const ours = (await next.list()).filter((each) => each.ours).map((each) => each.address);
      expect(ours).to.have.deep.members([address(four), address(six)]);
      expect(await next.add(four, 'lo')).to.deep.equal(unchanged);
      expect(await next.remove(four, 'lo')).to.deep.equal(changed);
      expect(await next.remove(six, 'lo')).to.deep.equal(changed);
      const left = (await world.addresses()).filter((line) => line.endsWith(' lo'));
      expect(left).to.deep.equal(['198.51.100.1/32 lo']);
    });

    it('tells when an address is removed by hand, and puts it back', async () => {
      await table.add(four, 'lo');
      await table.add(six, 'lo');
      await table.subscribe();
      for (const [text, length] of [
        [four, 32],
        [six, 128],
      ] as const) {
        const before = table.changes();
        await world.removeByHand(`${text}/${length}`, 'lo');
        await told(before);
        expect(await table.add(text, 'lo')).to.deep.equal(changed);
        expect(await world.addresses()).to.include(`${text}/${length} lo`);
      }
    });

    it('tells when an interface appears, takes an address on it, and tells when it goes', async () => {
      await table.subscribe();
      let before = table.changes();
      await world.addLink('late0');
      await told(before);
      expect(await table.add(four, 'late0')).to.deep.equal(changed);
      expect((await table.links()).map((link) => link.name)).to.include('late0');
      await told(before + 1);
      before = table.changes();
      await world.removeLink('late0');
      await told(before);
      expect((await table.list()).filter((each) => each.ours)).to.deep.equal([]);
      expect((await table.add(four, 'late0')).kind).to.equal('no-interface');
    });

    it('tells nothing after the end of the subscription', async () => {
      await table.subscribe();
      await table.unsubscribe();
      const before = table.changes();
      await table.add(four, 'lo');
      const second = await world.open();
      await second.subscribe();
      await second.add(six, 'lo');
      await untilValue(
        'the other is told',
        () => second.changes(),
        (count) => count > 0,
      );
      expect(table.changes()).to.equal(before);
    });
  });
}
