/** MetalLB's IPAddressPool → IPPool. Pure. */

import { flag, items, type Loose, part, texts, wholeNumber } from '../sources/kube/loose-fields.ts';
import { readAddresses } from './addresses.ts';
import { nameOf } from './foreign-objects.ts';
import { documentOf, gap, type Imported } from './imported.ts';
import type { PoolAdvertisements } from './metallb-advertisement.ts';
import { anyOf } from './selectors.ts';

/** there the lowest of 1… comes first, here the highest */
const HIGHEST = 1000;

export function convertPool(object: Loose, { entries, gaps: more }: PoolAdvertisements): Imported {
  const name = nameOf(object);
  const about = `IPAddressPool ${name}`;
  const spec = part(object, 'spec');
  const { addresses, gaps } = readAddresses(texts(spec, 'addresses'), about);
  if (addresses.length === 0) return gap(`${about}: it has no address that can be read`);
  const allocation = allocationOf(part(spec, 'serviceAllocation'), about);
  const document = documentOf('IPPool', name, {
    addresses,
    ...(flag(spec, 'autoAssign') === false ? { autoAssign: false } : {}),
    ...(flag(spec, 'avoidBuggyIPs') === true ? { avoidFirstLast: true } : {}),
    ...('serviceAllocation' in spec ? allocation.fields : {}),
    ...(entries.length === 0 ? {} : { advertisements: entries }),
  });
  const buggy =
    flag(spec, 'avoidBuggyIPs') === true &&
    addresses.some((text) => /-|\/(\d|1\d|2[0-3])$/.test(text))
      ? [
          `${about}: avoidBuggyIPs leaves out every .0 and .255; avoidFirstLast only the first and last of each CIDR`,
        ]
      : [];
  return {
    documents: [document],
    commands: [],
    gaps: [...gaps, ...buggy, ...allocation.gaps, ...more],
  };
}

function allocationOf(allocation: Loose, about: string) {
  const names = texts(allocation, 'namespaces');
  const selectors = anyOf(items(allocation, 'namespaceSelectors'));
  const services = anyOf(items(allocation, 'serviceSelectors'));
  const [selector] = selectors;
  const [serviceSelector] = services;
  const isLimited = names.length > 0 || selector !== undefined;
  const priority = wholeNumber(allocation, 'priority') ?? 0;
  const fields = {
    // MetalLB asks pools that are meant for a Service before all others
    priority: priority > 0 ? Math.max(HIGHEST - priority, 2) : 1,
    ...(isLimited
      ? {
          namespaces: {
            ...(names.length > 0 ? { names } : {}),
            ...(selector === undefined ? {} : { selector }),
          },
        }
      : {}),
    ...(serviceSelector === undefined ? {} : { serviceSelector }),
  };
  const gaps = [
    ...tooMany(selectors, `${about}: namespaceSelectors`),
    ...tooMany(services, `${about}: serviceSelectors`),
  ];
  return { fields, gaps };
}

function tooMany(selectors: readonly Loose[], what: string): readonly string[] {
  if (selectors.length < 2) return [];
  return [
    `${what} has ${selectors.length} entries, and a pool has one selector: the first is taken, the others are not`,
  ];
}
