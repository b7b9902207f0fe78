/** Which interface owns an address, and which next hops it offers. */

import { expect } from 'chai';
import { resolveLocalAddresses } from '../../../protocol/io/interface-addresses.ts';
import type { Address } from '../../../protocol/net/address.ts';
import { formatAddress, parseAddress } from '../../../protocol/net/address-text.ts';

function address(text: string): Address {
  const parsed = parseAddress(text);
  if (parsed === undefined) throw new Error(`not an address: ${text}`);
  return parsed;
}

const entries = (...addresses: string[]) => addresses.map((text) => ({ address: text }));

const table = {
  lo: entries('127.0.0.1', '::1'),
  eth0: entries('192.0.2.7', '192.0.2.8', 'fd00::7', '2001:db8::7', 'fe80::1'),
  eth1: entries('169.254.3.3', '198.51.100.7', 'fe80::1'),
};

function texts(local: string, zone?: string) {
  const found = resolveLocalAddresses(address(local), zone, table);
  if (found === undefined) return undefined;
  const { name, ipv4, ipv6, linkLocal } = found;
  return [name, ...[ipv4, ipv6, linkLocal].map((list) => list.map(formatAddress).join(' '))];
}

describe('addresses of the interface behind a session', () => {
  it('finds the other family beside an IPv4 address, global before unique local', () => {
    const expected = ['eth0', '192.0.2.7 192.0.2.8', '2001:db8::7 fd00::7', 'fe80::1'];
    expect(texts('192.0.2.8')).to.deep.equal(expected);
    expect(texts('fd00::7')).to.deep.equal(expected);
  });

  it('offers 127.0.0.1 and ::1 to nobody but this machine itself', () => {
    const routed = { ...table, lo: entries('127.0.0.1', '10.9.9.9', '::1') };
    const on = (local: string) => resolveLocalAddresses(address(local), undefined, routed);
    expect(on('10.9.9.9')?.ipv6).to.deep.equal([]);
    expect(on('10.9.9.9')?.ipv4.map(formatAddress)).to.deep.equal(['10.9.9.9']);
    expect(on('127.0.0.1')?.ipv6.map(formatAddress)).to.deep.equal(['::1']);
  });

  it('puts 169.254.0.0/16 last and leaves absent families empty', () => {
    expect(texts('198.51.100.7')).to.deep.equal([
      'eth1',
      '198.51.100.7 169.254.3.3',
      '',
      'fe80::1',
    ]);
  });

  it('lets the zone decide where a link-local address is on two interfaces', () => {
    expect(texts('fe80::1', 'eth1')?.[0]).to.equal('eth1');
    expect(texts('fe80::1', 'eth0')?.[0]).to.equal('eth0');
    expect(texts('fe80::1', 'eth7')).to.equal(undefined);
  });

  it('ignores a zone beside an address that needs none, and knows nothing of foreign addresses', () => {
    expect(texts('192.0.2.7', 'eth1')?.[0]).to.equal('eth0');
    expect(texts('203.0.113.1')).to.equal(undefined);
  });

  it('reads the real table: the loopback is there', () => {
    const found = resolveLocalAddresses(address('127.0.0.1'));
    expect(found?.ipv4.map(formatAddress)).to.include('127.0.0.1');
  });
});
