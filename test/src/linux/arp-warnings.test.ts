import { expect } from 'chai';
import { arpWarnings } from '../../../src/linux/arp-warnings.ts';
import type { Link } from '../../../src/linux/link-message.ts';

const link = (name: string, hasArp: boolean): Link => ({
  index: 1,
  name,
  isUp: true,
  isLoopback: name === 'lo',
  hasArp,
});
const links = [
  link('lo', false),
  ...['eth0', 'eth1', 'eth2', 'eth3'].map((name) => link(name, true)),
];

function settings(values: Readonly<Record<string, number>>) {
  return (file: string) => {
    const key = file.replace('/proc/sys/net/ipv4/conf/', '');
    if (key.startsWith('eth3/')) throw new Error('gone');
    return `${values[key] ?? 0}\n`;
  };
}

describe('warnings about ARP', () => {
  it('name the interfaces that would answer; one that has gone is none of them', () => {
    const [ignore, announce] = arpWarnings('lo', links, settings({ 'eth1/arp_ignore': 2 }));
    expect(ignore).to.match(
      /^eth0, eth2 would answer ARP requests .*net\.ipv4\.conf\.all\.arp_ignore=1/,
    );
    expect(announce).to.match(/^eth0, eth1, eth2 may send .*net\.ipv4\.conf\.all\.arp_announce=2/);
  });

  it('are none when `all` is right', () => {
    const right = settings({ 'all/arp_ignore': 1, 'all/arp_announce': 2 });
    expect(arpWarnings('lo', links, right)).to.deep.equal([]);
  });

  it('are none for an interface that speaks ARP itself, or is not there', () => {
    expect(arpWarnings('eth0', links, settings({}))).to.deep.equal([]);
    expect(arpWarnings('vip0', links, settings({}))).to.deep.equal([]);
  });
});
