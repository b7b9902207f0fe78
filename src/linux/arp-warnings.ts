/**
 * Whether this machine would answer ARP for addresses that are only meant to be routed to it. An IPv4 address on `lo` is answered
 * for on every interface unless arp_ignore says otherwise; where several nodes announce one address and share a segment with
 * clients, each of them would answer, and the router's choice is bypassed. arp_announce keeps the address from being the source of our own ARP
 * questions, which would teach neighbours the same wrong thing.
 *
 * Only read, never written: these settings belong to whoever runs the machine. IPv6 has no such habit.
 */

import { readFileSync } from 'node:fs';
import type { Link } from './link-message.ts';

const SETTINGS = [
  { name: 'arp_ignore', least: 1, trouble: 'would answer ARP requests for addresses on' },
  { name: 'arp_announce', least: 2, trouble: 'may send ARP requests in the name of addresses on' },
] as const;

const FOLDER = '/proc/sys/net/ipv4/conf';

/** One sentence per setting that is wrong; none for an interface that speaks ARP itself. */
export function arpWarnings(
  interfaceName: string,
  links: readonly Link[],
  read: (file: string) => string = (file) => readFileSync(file, 'utf8'),
): readonly string[] {
  const bound = links.find((link) => link.name === interfaceName);
  if (bound === undefined || bound.hasArp) return [];
  const uplinks = links.filter((link) => link.hasArp && link.isUp);
  return SETTINGS.flatMap(({ name, least, trouble }) => {
    const value = (place: string) => readNumber(`${FOLDER}/${place}/${name}`, read);
    // The kernel takes the greater of `all` and the interface's own.
    const forAll = value('all');
    if (forAll >= least) return [];
    const wrong = uplinks.filter((link) => value(link.name) < least).map((link) => link.name);
    if (wrong.length === 0) return [];
    return [
      `${list(wrong)} ${trouble} ${interfaceName} (${name} is ${forAll}); ` +
        `write net.ipv4.conf.all.${name}=${least} into /etc/sysctl.d/90-herald.conf and run sysctl --system`,
    ];
  });
}

const list = (names: readonly string[]) =>
  names.length > 3
    ? `${names.slice(0, 3).join(', ')} and ${names.length - 3} more`
    : names.join(', ');

/** What cannot be read (an interface that has just gone) is no reason to warn. */
function readNumber(file: string, read: (file: string) => string): number {
  try {
    return Number.parseInt(read(file), 10);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
