/** Addresses on interfaces: there before the route, gone after it, put back, and never anybody else's. */

import { expect } from 'chai';
import { startCapture } from '../../support/capture.ts';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AddressMonitor, LateStamp, repeatLate } from './address-monitor.ts';
import { AgentLab, claim, NODE_ADDRESS, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';
const OTHER = '198.51.100.11';

describe('standalone: bound addresses', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('bind');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  it('put on with the claim, taken off with it, and the session does not notice', async () => {
    lab.write({
      'peer.yaml': [peer()],
      'pool.yaml': [pool()],
      'claim.yaml': [claim(VIP, { bind: { interface: 'lo' } })],
    });
    lab.start();
    await lab.established();
    expect(await lab.addressesOn('lo')).to.not.include(VIP);
    lab.ready(true);
    await lab.announces([VIP]);
    expect(await lab.addressesOn('lo')).to.include(VIP);
    const before = await lab.upSince();
    lab.remove('claim.yaml');
    await lab.announces([]);
    await lab.holdsNot('lo', VIP);
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
  });

  it('the kernel has the address before the UPDATE with its NLRI leaves, and until after the withdrawal', () =>
    repeatLate(fiveRounds));

  async function fiveRounds(): Promise<void> {
    await lab.reset();
    const capture = await startCapture(lab.routerHost, lab.routerDevice);
    const monitor = await AddressMonitor.start(lab.node);
    lab.write({ 'all.yaml': [peer(), pool()] });
    lab.ready(true);
    lab.start();
    await lab.established();
    for (let round = 0; round < 5; round += 1) {
      lab.write({ 'claim.yaml': [claim(VIP, { bind: { interface: 'lo' } })] });
      await lab.announces([VIP]);
      lab.remove('claim.yaml');
      await lab.announces([]);
      await lab.holdsNot('lo', VIP);
    }
    const frames = await capture.frames(`bgp.type == 2 && ip.src == ${NODE_ADDRESS}`, [
      'frame.time_epoch',
      'bgp.nlri_prefix',
      'bgp.withdrawn_prefix',
    ]);
    await capture.stop();
    await monitor.stop();
    const said = frames.flatMap((frame) => {
      const at = Number(frame['frame.time_epoch']);
      if (frame['bgp.nlri_prefix'].includes(VIP)) return [{ kind: 'announced', at }];
      return frame['bgp.withdrawn_prefix'].includes(VIP) ? [{ kind: 'withdrawn', at }] : [];
    });
    const both = [...said, ...monitor.changes(VIP)].toSorted((a, b) => a.at - b.at);
    const of = (kind: string) => both.filter((each) => each.kind === kind).map(({ at }) => at);
    for (const kind of ['added', 'announced', 'withdrawn', 'removed'])
      expect(of(kind), `${kind}: ${JSON.stringify(both)}`).to.have.lengthOf(5);
    for (const [round, removed] of of('removed').entries()) {
      expect(removed, JSON.stringify(both)).to.be.above(of('withdrawn')[round] ?? Number.NaN);
    }
    const isLate = of('added').some((added, round) => added > (of('announced')[round] ?? 0));
    if (isLate) throw new LateStamp(`added after the UPDATE: ${JSON.stringify(both)}`);
  }

  it('removed by hand: back at once, and the route never went', async () => {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP, { bind: { interface: 'lo' } })] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    const capture = await startCapture(lab.routerHost, lab.routerDevice);
    for (let round = 0; round < 5; round += 1) {
      await lab.node.ip(`address delete ${VIP}/32 dev lo`);
      await lab.holds('lo', VIP);
    }
    const updates = await capture.frames(`bgp.type == 2 && ip.src == ${NODE_ADDRESS}`, [
      'bgp.type',
    ]);
    await capture.stop();
    expect(updates).to.deep.equal([]);
    await lab.announces([VIP]);
  });

  it('the join check fails: withdrawn and taken off; it passes again: back', async () => {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP, { bind: { interface: 'lo' } })] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    lab.ready(false);
    await lab.announces([]);
    await lab.holdsNot('lo', VIP);
    lab.ready(true);
    await lab.announces([VIP]);
    expect(await lab.addressesOn('lo')).to.include(VIP);
  });

  it('addresses that we did not add are never touched', async () => {
    await lab.node.ip(`address add ${OTHER}/32 dev lo`, 'address add 198.51.100.77/32 dev lo');
    lab.write({
      'all.yaml': [peer(), pool(), claim(VIP, { bind: { interface: 'lo' } })],
      'other.yaml': [claim(OTHER, { bind: { interface: 'lo' } })],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP, OTHER]);
    lab.remove('other.yaml');
    await lab.announces([VIP]);
    expect(await lab.agent.stop()).to.equal(0);
    const left = await lab.addressesOn('lo');
    expect(left).to.include(OTHER).and.to.include('198.51.100.77');
    expect(left).to.not.include(VIP);
  });

  it('several addresses of one subnet do not depend on each other (three of them, the first removed)', async () => {
    const all = ['198.51.100.20', '198.51.100.21', '198.51.100.22'];
    const files = Object.fromEntries(
      all.map((address) => [
        `${address}.yaml`,
        [claim(address, { bind: { interface: lab.device } })],
      ]),
    );
    lab.write({ 'base.yaml': [peer(), pool()], ...files });
    lab.ready(true);
    lab.start();
    await lab.announces(all);
    lab.remove('198.51.100.20.yaml');
    await lab.announces(all.slice(1));
    await lab.holdsNot(lab.device, '198.51.100.20');
    const left = await lab.addressesOn(lab.device);
    expect(left).to.include.members([NODE_ADDRESS, ...all.slice(1)]);
  });

  it('says in its status when the machine would answer ARP for addresses on lo, and what to write', async () => {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP, { bind: { interface: 'lo' } })] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    await untilValue(
      'the warning',
      async () => (await lab.status()).warnings.join('\n'),
      (text) => /arp_ignore.*sysctl/.test(text),
    );
    await lab.node.exec('sysctl', ['-q', '-w', 'net.ipv4.conf.all.arp_ignore=1']);
    await lab.node.exec('sysctl', ['-q', '-w', 'net.ipv4.conf.all.arp_announce=2']);
    await untilValue(
      'no warning',
      async () => (await lab.status()).warnings,
      (all) => all.length === 0,
    );
  });

  it('a missing interface: a sentence, the rest runs, and it works when the interface appears', async () => {
    lab.write({
      'all.yaml': [peer(), pool(), claim(VIP), claim(OTHER, { bind: { interface: 'late0' } })],
    });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    await untilValue(
      'a sentence about late0',
      async () => {
        const waiting = (await lab.status()).claims.find(({ address }) => address === OTHER);
        return waiting?.gates.find(({ name }) => name === 'bound')?.sentence ?? '';
      },
      (sentence) => sentence.includes('late0'),
    );
    await lab.node.ip('link add late0 type veth peer name late1', 'link set late0 up');
    await lab.announces([VIP, OTHER]);
    expect(await lab.addressesOn('late0')).to.include(OTHER);
    await lab.node.ip('link delete late0');
    await lab.announces([VIP]);
  });

  it('what proxies bind for Services is not the machine’s own: the routes stay', async () => {
    // kernels of tests may have no dummies: what an agent sees of one are its name, its flags and its addresses
    const bound = ['kube-ipvs0', 'kube-dummy-if', 'nodelocaldns', 'cilium_host'].map(
      (name, index) => ({ name, address: `198.51.100.${20 + index}` }),
    );
    lab.write({ 'base.yaml': [peer(), pool()], 'vip.yaml': [claim(VIP)] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    for (const { name, address } of bound) {
      await lab.node.ip(`link add ${name} type veth peer name far-${name.slice(-6)}`);
      await lab.node.ip(`link set ${name} arp off`);
      for (const each of [VIP, address]) await lab.node.ip(`address add ${each}/32 dev ${name}`);
    }
    // these claims are decided on after the addresses were seen
    lab.write({ 'bound.yaml': bound.map(({ address }) => claim(address)) });
    await lab.announces([VIP, ...bound.map(({ address }) => address)]);
    for (const { name } of bound) await lab.node.ip(`link delete ${name}`);
  });
});
