import { isIPv4, isIPv6 } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import { hostPrefix } from '../../../protocol/net/address.ts';
import {
  formatAddress,
  formatPrefix,
  formatRouterId,
  parseAddress,
  parsePrefix,
  parsePrefixMasked,
  parseRouterId,
} from '../../../protocol/net/address-text.ts';
import { address, prefix, u32 } from '../../support/arbitraries.ts';

describe('address text', () => {
  const CANONICAL = [
    '0.0.0.0',
    '255.255.255.255',
    '192.0.2.1',
    '::',
    '::1',
    '1::',
    // RFC 5952 §4.1, 4.2.1, 4.2.2, 4.2.3
    '2001:db8::1',
    '2001:db8::2:1',
    '2001:db8:0:1:1:1:1:1',
    '2001:0:0:1::1',
    '2001:db8::1:0:0:1',
    '2001:db8:aaaa:bbbb:cccc:dddd:eeee:aaaa',
    '::ffff:192.0.2.1',
    '::fffe:c000:201',
    '0:1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:0',
    'fe80::a:b',
  ];
  for (const text of CANONICAL) {
    it(`${text} is its own canonical form`, () => {
      const value = parseAddress(text);
      expect(value && formatAddress(value)).to.equal(text);
    });
  }

  const REWRITTEN = [
    ['2001:DB8::1', '2001:db8::1'],
    ['2001:0db8:0000:0000:0000:0000:0002:0001', '2001:db8::2:1'],
    ['2001:db8::1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
    ['2001:db8:0:0:1::1', '2001:db8::1:0:0:1'],
    ['::ffff:c000:0201', '::ffff:192.0.2.1'],
    ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4:5:6:c000:201'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
    ['::192.0.2.1', '::c000:201'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
  ] as const;
  for (const [text, canonical] of REWRITTEN) {
    it(`${text} is written ${canonical}`, () => {
      const value = parseAddress(text);
      expect(value && formatAddress(value)).to.equal(canonical);
    });
  }

  const REFUSED = [
    '',
    ' 1.2.3.4',
    '1.2.3.4 ',
    '1.2.3',
    '1.2.3.4.5',
    '1.2.3.256',
    '1.2.3.04',
    '1..2.3',
    '.1.2.3',
    '1.2.3.',
    '1.2.3.-4',
    '1.2.3.4/32',
    '0x7f.0.0.1',
    '4294967296',
    ':',
    ':::',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '::1:2:3:4:5:6:7:8',
    '1::2::3',
    ':1::',
    '1:',
    '1:2:3:4:5:6:7:',
    '12345::',
    'g::',
    'fe80::1%eth0',
    '::1.2.3',
    '::1.2.3.4:5',
    '1:2:3:4:5:6:7:1.2.3.4',
    '::256.1.1.1',
    '[::1]',
    '1.2.3.4::',
  ];
  for (const text of REFUSED) {
    it(`'${text}' is no address`, () => {
      expect(parseAddress(text)).to.equal(undefined);
    });
  }

  it('reads prefixes and refuses bits behind the length', () => {
    for (const text of ['0.0.0.0/0', '10.0.0.0/8', '192.0.2.1/32', '::/0', '2001:db8::/32']) {
      const value = parsePrefix(text);
      expect(value && formatPrefix(value)).to.equal(text);
    }
    expect(parsePrefix('10.0.0.1/24')).to.equal(undefined);
    expect(parsePrefix('2001:db8::1/127')).to.equal(undefined);
  });

  const NO_PREFIX = ['10.0.0.0', '10.0.0.0/', '10.0.0.0/33', '10.0.0.0/08', '10.0.0.0/1/2'];
  for (const text of [...NO_PREFIX, '::/129', '::/-1', '/8', '::/ 8', '::/0128', '::/8x', '']) {
    it(`'${text}' is no prefix`, () => {
      expect(parsePrefix(text)).to.equal(undefined);
    });
  }

  it('clears host bits and takes an address alone where the caller asks for that', () => {
    const cases = [
      ['10.1.2.3/8', '10.0.0.0/8'],
      ['10.1.2.3', '10.1.2.3/32'],
      ['2001:db8::1/32', '2001:db8::/32'],
      ['2001:db8::1', '2001:db8::1/128'],
    ] as const;
    for (const [text, expected] of cases) {
      const value = parsePrefixMasked(text);
      expect(value && formatPrefix(value)).to.equal(expected);
    }
    for (const text of ['10.0.0.0/33', '10.0.0/8', '', '::/', 'x/8']) {
      expect(parsePrefixMasked(text), text).to.equal(undefined);
    }
  });

  it('writes the mapped range as a range and what is inside it with an IPv4 end', () => {
    const texts = ['::ffff:0:0/96', '::ffff:10.0.0.0/104'];
    for (const text of texts) {
      const value = parsePrefix(text);
      expect(value && formatPrefix(value)).to.equal(text);
    }
  });

  it('reads and writes BGP identifiers as unsigned numbers', () => {
    expect(parseRouterId('255.0.0.1')).to.equal(0xff000001);
    expect(formatRouterId(0xff000001)).to.equal('255.0.0.1');
    expect(parseRouterId('::1')).to.equal(undefined);
    expect(parseRouterId('1')).to.equal(undefined);
  });
});

describe('address text properties', () => {
  it('parse(format(x)) = x', () => {
    fc.assert(
      fc.property(address(), prefix(), u32(), (a, p, id) => {
        expect(parseAddress(formatAddress(a))).to.deep.equal(a);
        expect(parsePrefix(formatPrefix(p))).to.deep.equal(p);
        expect(parsePrefixMasked(formatPrefix(p))).to.deep.equal(p);
        expect(parsePrefixMasked(formatAddress(a))).to.deep.equal(hostPrefix(a));
        expect(parseRouterId(formatRouterId(id))).to.equal(id);
      }),
    );
  });

  it('writes IPv6 as the WHATWG URL parser does, mapped addresses aside', () => {
    fc.assert(
      fc.property(address(), (a) => {
        fc.pre(a.family === 'ipv6');
        const text = formatAddress(a);
        fc.pre(!text.includes('.'));
        expect(new URL(`http://[${text}]`).hostname).to.equal(`[${text}]`);
      }),
    );
  });

  it('accepts exactly what the operating system accepts', () => {
    const scrap = fc
      .array(fc.constantFrom('0', '1', '25', '255', '256', 'f', 'ffff', 'G', '.', ':', '::', '%'), {
        maxLength: 16,
      })
      .map((parts) => parts.join(''));
    const near = fc
      .tuple(address(), fc.nat(), fc.constantFrom('', '0', ':', '.', 'a'))
      .map(([a, where, extra]) => {
        const text = formatAddress(a);
        const cut = where % (text.length + 1);
        return text.slice(0, cut) + extra + text.slice(cut + (where % 2));
      });
    fc.assert(
      fc.property(fc.oneof(scrap, near, fc.string()), (text) => {
        const family = parseAddress(text)?.family;
        expect(family === 'ipv4', text).to.equal(isIPv4(text));
        expect(family === 'ipv6', text).to.equal(isIPv6(text) && !text.includes('%'));
      }),
      { numRuns: 3000 },
    );
  });
});
