/**
 * The ConfigMap of kube-vip's cloud provider → IPPools. Pure.
 *
 * A namespace gets its addresses from one key alone, the first that is there: cidr-NAMESPACE, cidr-global, range-NAMESPACE, range-global. So a namespace with a
 * key of its own never gets a global address, also when its own are used up, and a range is dead beside a cidr-global. The pools say the same by
 * namespaces: a global one leaves out those that have their own.
 */

import { type Loose, labels } from '../sources/kube/loose-fields.ts';
import { readAddresses } from './addresses.ts';
import { nameOf } from './foreign-objects.ts';
import { documentOf, gap, type Imported, NOTHING, together } from './imported.ts';

const POOL_KEY = /^(cidr|range)-(.+)$/;
const GLOBAL = 'global';
const DHCP = '0.0.0.0/32';

export function isPoolKey(key: string): boolean {
  return POOL_KEY.test(key);
}

interface PoolKey {
  readonly key: string;
  readonly form: string;
  /** `global`: for all that have none of their own */
  readonly scope: string;
  readonly values: readonly string[];
}

export function convertPools(map: Loose): Imported {
  const data = labels(map, 'data');
  const name = nameOf(map);
  const keys = Object.entries(data).flatMap(([key, value]) => readKey(key, value));
  const used = keys.filter((key) => !isDead(key, keys));
  const isAvoiding = avoidsEnds(name, data);
  return together([
    ...used.map((key) => convertKey(key, used, { map: name, isAvoiding })),
    ...keys
      .filter((key) => isDead(key, keys))
      .map(({ key }) =>
        gap(
          `ConfigMap ${name}: ${key} is never used there, since another key comes before it; it is left out`,
        ),
      ),
    others(name, data),
  ]);
}

function readKey(key: string, value: string): readonly PoolKey[] {
  const [, form = '', scope = ''] = POOL_KEY.exec(key) ?? [];
  if (form === '') return [];
  const values = value
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  return [{ key, form, scope, values }];
}

/** a key that stands behind another for everybody whom it could serve */
function isDead({ form, scope }: PoolKey, keys: readonly PoolKey[]): boolean {
  const has = (key: string) => keys.some((each) => each.key === key);
  return form === 'range' && (has(`cidr-${GLOBAL}`) || (scope !== GLOBAL && has(`cidr-${scope}`)));
}

/** the first provider drops them always, the later one where it is told to */
function avoidsEnds(map: string, data: Readonly<Record<string, string>>): boolean {
  return map === 'plndr' || data['skip-end-ips-in-cidr'] === 'true';
}

function convertKey(
  { key, form, scope, values }: PoolKey,
  used: readonly PoolKey[],
  { map, isAvoiding }: { readonly map: string; readonly isAvoiding: boolean },
): Imported {
  const about = `ConfigMap ${map}: ${key}`;
  const isDhcp = values.includes(DHCP);
  const { addresses, gaps } = readAddresses(
    values.filter((value) => value !== DHCP),
    about,
  );
  const dhcp = isDhcp ? [`${about}: ${DHCP} stands for DHCP, which has no counterpart`] : [];
  if (addresses.length === 0) {
    return {
      ...NOTHING,
      gaps: [...gaps, ...dhcp, `${about}: it holds no address; no pool is made of it`],
    };
  }
  const document = documentOf('IPPool', poolName(form, scope), {
    addresses,
    ...(form === 'cidr' && isAvoiding ? { avoidFirstLast: true } : {}),
    ...namespacesOf(scope, used),
  });
  return {
    documents: [document],
    commands: [],
    gaps: [...gaps, ...dhcp, ...middles(form, addresses, { about, isAvoiding })],
  };
}

function poolName(form: string, scope: string): string {
  return `${form}-${scope}`.toLowerCase().replaceAll(/[^a-z0-9.-]/g, '-');
}

function namespacesOf(scope: string, used: readonly PoolKey[]): Loose {
  if (scope !== GLOBAL) return { namespaces: { names: [scope] } };
  const own = [...new Set(used.map((key) => key.scope).filter((each) => each !== GLOBAL))];
  if (own.length === 0) return {};
  const expression = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: own };
  return { namespaces: { selector: { matchExpressions: [expression] } } };
}

/** the later provider leaves out every address that ends in .0 or .255 */
function middles(
  form: string,
  addresses: readonly string[],
  { about, isAvoiding }: { readonly about: string; readonly isAvoiding: boolean },
): readonly string[] {
  const isLarge = addresses.some((text) => /^\d+\.\d+\.\d+\.\d+\/(\d|1\d|2[0-4])$/.test(text));
  if (form !== 'cidr' || !isLarge || isAvoiding) return [];
  return [
    `${about}: kube-vip never gives out .0 and .255; set avoidFirstLast, or write ranges, if that matters`,
  ];
}

function others(name: string, data: Readonly<Record<string, string>>): Imported {
  const gaps = Object.keys(data).flatMap((key): readonly string[] => {
    if (isPoolKey(key) || key === 'skip-end-ips-in-cidr' || key === 'plndr-services') return [];
    const about = `ConfigMap ${name}: ${key}`;
    if (key.startsWith('allow-share-')) {
      return [
        `${about}: Services share an address when both have the annotation herald.dev/share with the same word`,
      ];
    }
    return [`${about} has no counterpart`];
  });
  return { ...NOTHING, gaps };
}
