/** What /etc/hosts and /etc/resolv.conf say, as far as an agent needs it: addresses by name, and the names to try for a short one. Pure. */

import { isIP } from 'node:net';

export interface NameAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** by name in small letters */
export type Hosts = ReadonlyMap<string, readonly NameAddress[]>;

export interface SearchRules {
  readonly domains: readonly string[];
  /** a name with so many dots is tried as it is first */
  readonly dots: number;
}

/** the number that libc took for decades; what is behind them is found by libc itself, which is asked last */
const MAX_DOMAINS = 6;
const MAX_DOTS = 15;

export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, NameAddress[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    const family = isIP(address);
    if (family !== 4 && family !== 6) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      const known = hosts.get(key);
      if (known === undefined) hosts.set(key, [{ address, family }]);
      else if (!known.some((one) => one.address === address)) known.push({ address, family });
    }
  }
  return hosts;
}

/** resolv.conf(5): of several `search` and `domain` lines the last one counts */
export function parseSearch(text: string): SearchRules {
  let domains: readonly string[] = [];
  let dots = 1;
  for (const line of text.split('\n')) {
    const [keyword, ...words] = line.trim().split(/\s+/);
    if (keyword === 'search') domains = words.slice(0, MAX_DOMAINS);
    else if (keyword === 'domain') domains = words.slice(0, 1);
    else if (keyword === 'options') {
      const set = words.findLast((word) => /^ndots:\d+$/.test(word));
      if (set !== undefined) dots = Math.min(Number(set.slice('ndots:'.length)), MAX_DOTS);
    }
  }
  return { domains: domains.map((domain) => domain.replace(/\.$/, '')), dots };
}

/** The full names to ask DNS for, in this order. */
export function candidates(name: string, { domains, dots }: SearchRules): readonly string[] {
  if (name.endsWith('.')) return [name.slice(0, -1)];
  const searched = domains.filter((domain) => domain !== '').map((domain) => `${name}.${domain}`);
  const isLong = name.split('.').length - 1 >= dots;
  return isLong ? [name, ...searched] : [...searched, name];
}
