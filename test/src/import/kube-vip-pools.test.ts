/** Which addresses a namespace may have after an import is what it had before (SEEDS D24, D25). */

import { parseAddress } from 'bgp-ts';
import { expect } from 'chai';
import { importKubeVip } from '../../../src/import/kube-vip.ts';
import type { IpPool } from '../../../src/model/ip-pool.ts';
import { selects } from '../../../src/model/labels.ts';
import { poolHolds } from '../../../src/model/pool-addresses.ts';
import { readPiece } from '../../../src/sources/files/read-document.ts';

function poolsOf(name: string, data: Readonly<Record<string, string>>): readonly IpPool[] {
  const { documents } = importKubeVip([{ kind: 'ConfigMap', metadata: { name }, data }], 'cluster');
  return documents.flatMap((document) => {
    const [read] = readPiece(JSON.stringify(document));
    if (read?.ok !== true || read.content.kind !== 'IPPool') throw new Error(JSON.stringify(read));
    return read.content.object;
  });
}

/** as the allocator decides it: names and selector add up, and none at all is everybody */
function mayUse({ namespaces }: IpPool, namespace: string): boolean {
  if (namespaces === undefined) return true;
  const labels = { 'kubernetes.io/metadata.name': namespace };
  return (
    namespaces.names.includes(namespace) ||
    (namespaces.selector !== undefined && selects(namespaces.selector, labels))
  );
}

function addressesOf(pools: readonly IpPool[], namespace: string, base: string): readonly string[] {
  const own = pools.filter((pool) => mayUse(pool, namespace));
  const all = Array.from({ length: 256 }, (_, last) => `${base}.${last}`);
  return all.filter((text) => {
    const address = parseAddress(text);
    return address !== undefined && own.some((pool) => poolHolds(pool, address));
  });
}

const span = (base: string, from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => `${base}.${from + index}`);

describe("the ConfigMap of kube-vip's cloud provider", () => {
  it('of the seed gives its 18 addresses, each namespace only its own', () => {
    const pools = poolsOf('plndr', {
      'cidr-default': '192.168.0.200/29',
      'cidr-plunder': '192.168.0.210/29',
      'cidr-testing': '192.168.0.220/29',
    });
    const base = '192.168.0';
    expect(addressesOf(pools, 'default', base)).to.deep.equal(span(base, 201, 206));
    expect(addressesOf(pools, 'plunder', base)).to.deep.equal(span(base, 209, 214));
    expect(addressesOf(pools, 'testing', base)).to.deep.equal(span(base, 217, 222));
    expect(addressesOf(pools, 'other', base)).to.deep.equal([]);
  });

  const KEYS = ['cidr-ns', 'cidr-global', 'range-ns', 'range-global'] as const;
  const VALUES = {
    'cidr-ns': '10.0.0.0/29',
    'cidr-global': '10.0.0.16/29',
    'range-ns': '10.0.0.32-10.0.0.35',
    'range-global': '10.0.0.48-10.0.0.51',
  } as const;
  const HELD = {
    'cidr-ns': span('10.0.0', 1, 6),
    'cidr-global': span('10.0.0', 17, 22),
    'range-ns': span('10.0.0', 32, 35),
    'range-global': span('10.0.0', 48, 51),
  } as const;

  for (let mask = 0; mask < 16; mask += 1) {
    const present = KEYS.filter((_, index) => (mask & (1 << index)) !== 0);
    it(`with ${present.join(', ') || 'nothing'} serves a namespace from the first key alone`, () => {
      const data = Object.fromEntries(present.map((key) => [key, VALUES[key]]));
      const pools = present.length === 0 ? [] : poolsOf('plndr', data);
      const first = present[0];
      expect(addressesOf(pools, 'ns', '10.0.0')).to.deep.equal(
        first === undefined ? [] : HELD[first],
      );
      const other = present.find((key) => key.endsWith('global'));
      expect(addressesOf(pools, 'other', '10.0.0')).to.deep.equal(
        other === undefined ? [] : HELD[other],
      );
    });
  }

  it('keeps the ends of a CIDR where the later provider does', () => {
    expect(poolsOf('kubevip', { 'cidr-a': '10.0.0.0/29' })[0]?.avoidFirstLast).to.equal(false);
    const told = poolsOf('kubevip', { 'cidr-a': '10.0.0.0/29', 'skip-end-ips-in-cidr': 'true' });
    expect(told[0]?.avoidFirstLast).to.equal(true);
  });
});
