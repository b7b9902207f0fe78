import { expect } from 'chai';
import {
  FAMILIES,
  familyId,
  hasFamily,
  hasUnicast,
  isPrefixFamily,
  unicastFamily,
} from '../../../protocol/bgp/family.ts';

describe('address families', () => {
  it('knows which have prefixes', () => {
    expect(isPrefixFamily(1, 1) && isPrefixFamily(2, 2)).to.equal(true);
    expect(isPrefixFamily(1, 128) || isPrefixFamily(25, 1)).to.equal(false);
  });

  it('finds one in a list', () => {
    const families = [{ afi: 1, safi: 1 }];
    expect(hasFamily(families, 1, 1)).to.equal(true);
    expect(hasFamily(families, 1, 2) || hasFamily(families, 2, 1)).to.equal(false);
    expect(hasUnicast(families, 'ipv4')).to.equal(true);
    expect(hasUnicast(families, 'ipv6')).to.equal(false);
  });

  it('names the two unicast ones both ways, and no other', () => {
    for (const family of FAMILIES) expect(unicastFamily(familyId(family))).to.equal(family);
    for (const [afi, safi] of [
      [1, 2],
      [2, 2],
      [25, 1],
      [1, 128],
    ] as const) {
      expect(unicastFamily({ afi, safi })).to.equal(undefined);
    }
  });
});
