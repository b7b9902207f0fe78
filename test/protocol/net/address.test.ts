import { expect } from 'chai';
import fc from 'fast-check';
import {
  type Address,
  addressEquals,
  addressFromBytes,
  addressKey,
  addressToBytes,
  compareAddress,
  comparePrefix,
  hostPrefix,
  ipv4Address,
  ipv6Address,
  isLinkLocal,
  isUnspecified,
  maskPrefix,
  maskWord,
  type Prefix,
  prefixAddress,
  prefixContains,
  prefixEquals,
  prefixKey,
} from '../../../protocol/net/address.ts';
import { parseAddress, parsePrefix } from '../../../protocol/net/address-text.ts';
import { address, bytes, prefix } from '../../support/arbitraries.ts';

function at(text: string): Address {
  const value = parseAddress(text);
  if (value === undefined) throw new Error(`not an address: ${text}`);
  return value;
}

function net(text: string): Prefix {
  const value = parsePrefix(text);
  if (value === undefined) throw new Error(`not a prefix: ${text}`);
  return value;
}

describe('address values', () => {
  it('holds words as signed integers whatever sign they came with', () => {
    expect(ipv4Address(0xffffffff)).to.deep.equal({ family: 'ipv4', bits: -1 });
    expect(ipv6Address(0x80000000, 0, 0, 0xffffffff)).to.deep.equal({
      family: 'ipv6',
      w0: -0x80000000,
      w1: 0,
      w2: 0,
      w3: -1,
    });
  });

  it('masks a word at both ends, where the shift count wraps', () => {
    expect(maskWord(-1, 0)).to.equal(0);
    expect(maskWord(-1, -32)).to.equal(0);
    expect(maskWord(-1, 1)).to.equal(-0x80000000);
    expect(maskWord(-1, 31)).to.equal(-2);
    expect(maskWord(-1, 32)).to.equal(-1);
    expect(maskWord(-1, 96)).to.equal(-1);
  });

  it('masks like a calculation with big integers, for every length', () => {
    const full = at('ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff');
    for (let length = 0; length <= 128; length++) {
      const masked = maskPrefix(full, length);
      const expected = ((1n << BigInt(length)) - 1n) << BigInt(128 - length);
      expect(toBigInt(masked), `length ${length}`).to.equal(expected);
    }
  });

  it('refuses a length that the family does not have', () => {
    for (const length of [-1, 33, 1.5, Number.NaN]) {
      expect(() => maskPrefix(at('10.0.0.0'), length), `${length}`).to.throw(RangeError);
    }
    expect(() => maskPrefix(at('::'), 129)).to.throw(RangeError);
  });

  it('knows the host prefix of an address and the first address of a prefix', () => {
    expect(hostPrefix(at('192.0.2.1'))).to.deep.equal(net('192.0.2.1/32'));
    expect(hostPrefix(at('2001:db8::1'))).to.deep.equal(net('2001:db8::1/128'));
    expect(prefixAddress(net('192.0.2.0/24'))).to.deep.equal(at('192.0.2.0'));
    expect(prefixAddress(net('2001:db8::/32'))).to.deep.equal(at('2001:db8::'));
  });

  it('knows what lies inside what', () => {
    expect(prefixContains(net('10.0.0.0/8'), net('10.255.0.0/16'))).to.equal(true);
    expect(prefixContains(net('10.0.0.0/8'), net('10.0.0.0/8'))).to.equal(true);
    expect(prefixContains(net('10.0.0.0/8'), net('11.0.0.0/16'))).to.equal(false);
    expect(prefixContains(net('10.0.0.0/8'), net('0.0.0.0/0'))).to.equal(false);
    expect(prefixContains(net('0.0.0.0/0'), net('::/0'))).to.equal(false);
    expect(prefixContains(net('2001:db8::/33'), net('2001:db8:8000::/34'))).to.equal(false);
  });

  it('sorts by family, unsigned value, then length', () => {
    const sorted = ['0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '192.0.2.0/24', '::/0', 'fe80::/10'];
    const shuffled = [5, 3, 0, 4, 2, 1].map((i) => net(sorted[i] ?? ''));
    expect(shuffled.sort(comparePrefix)).to.deep.equal(sorted.map(net));
  });

  it('tells link-local and unspecified addresses', () => {
    for (const text of ['169.254.0.1', 'fe80::1', 'febf:ffff::']) {
      expect(isLinkLocal(at(text)), text).to.equal(true);
    }
    for (const text of ['169.253.0.1', 'fec0::1', 'fe00::1', '2001:db8::1']) {
      expect(isLinkLocal(at(text)), text).to.equal(false);
    }
    expect(isUnspecified(at('0.0.0.0'))).to.equal(true);
    expect(isUnspecified(at('::'))).to.equal(true);
    expect(isUnspecified(at('::1'))).to.equal(false);
  });

  it('reads and writes octets at any offset, and nothing behind the end', () => {
    const raw = Uint8Array.of(9, 255, 0, 2, 128, 7);
    expect(addressFromBytes('ipv4', raw, 1)).to.deep.equal(at('255.0.2.128'));
    expect(addressFromBytes('ipv4', raw, 3)).to.equal(undefined);
    expect(addressFromBytes('ipv6', raw)).to.equal(undefined);
    expect([...addressToBytes(at('255.0.2.128'))]).to.deep.equal([255, 0, 2, 128]);
  });

  it('has keys of three and nine units', () => {
    expect(prefixKey(net('255.255.255.255/32'))).to.have.lengthOf(3);
    expect(prefixKey(net('::/0'))).to.have.lengthOf(9);
    expect(addressKey(at('1.2.3.4'))).to.have.lengthOf(2);
  });
});

describe('address properties', () => {
  it('octets of an address give the address back', () => {
    fc.assert(
      fc.property(address(), bytes(5), (value, before) => {
        const raw = new Uint8Array([...before, ...addressToBytes(value)]);
        expect(addressFromBytes(value.family, raw, before.length)).to.deep.equal(value);
      }),
    );
  });

  it('keys are equal exactly where prefixes are, also as members of a Map', () => {
    fc.assert(
      fc.property(fc.array(prefix(), { maxLength: 30 }), (prefixes) => {
        const byKey = new Map(prefixes.map((p) => [prefixKey(p), p]));
        for (const p of prefixes) expect(byKey.get(prefixKey(p))).to.deep.equal(p);
        for (const [key, p] of byKey) {
          for (const other of prefixes)
            expect(prefixEquals(p, other)).to.equal(key === prefixKey(other));
        }
      }),
    );
  });

  it('comparing is a total order that agrees with big integers', () => {
    fc.assert(
      fc.property(address(), address(), (a, b) => {
        const order = Math.sign(compareAddress(a, b));
        expect(order + Math.sign(compareAddress(b, a))).to.equal(0);
        expect(order === 0).to.equal(addressEquals(a, b));
        if (a.family === b.family && order !== 0) {
          expect(order < 0).to.equal(toBigInt(a) < toBigInt(b));
        }
      }),
    );
  });

  it('a prefix contains the host prefix of an address exactly where masking the address gives it', () => {
    fc.assert(
      fc.property(prefix(), address(), (p, a) => {
        const inside = p.family === a.family && prefixEquals(p, maskPrefix(a, p.length));
        expect(prefixContains(p, hostPrefix(a))).to.equal(inside);
      }),
    );
  });
});

function toBigInt(value: Address): bigint {
  return addressToBytes(value).reduce((sum, octet) => (sum << 8n) | BigInt(octet), 0n);
}
