/** An IpClaimPool gives out after an import what it gave out before (SEEDS G3), in both families. */

import { expect } from 'chai';
import { importExternalIpController } from '../../../src/import/external-ip-controller.ts';
import { texts } from '../../../src/sources/kube/loose-fields.ts';

function pool(cidr: string, ranges?: readonly (readonly string[])[]) {
  const spec = { cidr, ...(ranges === undefined ? {} : { ranges }) };
  const object = { kind: 'IpClaimPool', metadata: { name: 'p' }, spec };
  const { documents, gaps } = importExternalIpController([object]);
  const [document] = documents;
  if (document === undefined) return { addresses: [], gaps };
  const { avoidFirstLast = false } = document.spec;
  return {
    addresses: [...texts(document.spec, 'addresses'), ...(avoidFirstLast ? ['-ends'] : [])],
    gaps,
  };
}

const ROWS: readonly [string, readonly (readonly string[])[] | undefined, readonly string[]][] = [
  ['192.168.0.248/29', undefined, ['192.168.0.248/29', '-ends']],
  ['192.168.0.250/29', undefined, ['192.168.0.251-192.168.0.254']],
  ['192.168.0.1/32', undefined, []],
  ['192.168.0.0/31', undefined, []],
  ['192.168.0.248/29', [['192.168.0.252', '192.168.0.255']], ['192.168.0.252-192.168.0.254']],
  ['192.168.0.248/29', [['192.168.0.248', '192.168.0.249']], ['192.168.0.248-192.168.0.249']],
  ['192.168.0.248/29', [['192.168.0.252', '192.168.0.250']], []],
  ['192.168.0.248/29', [['10.0.0.1', '10.0.0.9']], []],
  ['192.168.0.248/29', [['192.168.0.250']], ['192.168.0.250']],
  ['192.168.0.248/29', [[]], []],
  [
    '192.168.0.248/29',
    [
      ['192.168.0.249', '192.168.0.250'],
      ['192.168.0.252', '192.168.0.253'],
    ],
    ['192.168.0.249-192.168.0.250', '192.168.0.252-192.168.0.253'],
  ],
  ['2001:db8::/120', undefined, ['2001:db8::/120', '-ends']],
  ['2001:db8::8/125', undefined, ['2001:db8::8/125', '-ends']],
  ['2001:db8::a/125', undefined, ['2001:db8::b-2001:db8::e']],
  ['2001:db8::/120', [['2001:db8::9', '2001:db8::ff']], ['2001:db8::9-2001:db8::fe']],
];

describe('an IpClaimPool', () => {
  for (const [cidr, ranges, expected] of ROWS) {
    it(`${cidr} ${JSON.stringify(ranges ?? 'whole')} gives ${expected.join(', ') || 'nothing, and says so'}`, () => {
      const { addresses, gaps } = pool(cidr, ranges);
      expect(addresses).to.deep.equal(expected);
      if (expected.length === 0) expect(gaps.join()).to.include('left out');
    });
  }

  it('is for one node at a time where there are claims, and for all where there are none', () => {
    const object = { kind: 'IpClaimPool', metadata: { name: 'p' }, spec: { cidr: '10.0.0.0/24' } };
    const node = { kind: 'IpNode', metadata: { name: 'n' } };
    const placement = (objects: readonly object[]) =>
      importExternalIpController(objects.map((each) => ({ ...each }))).documents[0]?.spec[
        'placement'
      ];
    expect(placement([object])).to.equal(undefined);
    expect(placement([object, node])).to.deep.equal({ mode: 'exclusive', nodeFilter: 'fair' });
  });
});
