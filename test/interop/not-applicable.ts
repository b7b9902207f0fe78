/**
 * The only place where a cell of the interop table may be excused, at most ten times. Each entry quotes the router's own
 * manual as Debian installs it; a test looks the sentence up in that file, and fails on an entry that no cell uses.
 */

import type { RouterKind } from './routers/router.ts';

export type NotApplicable = {
  readonly router: RouterKind;
  readonly row: string;
  readonly reason: string;
  readonly quote: string;
  /** The file that holds the quote, gzipped or not. */
  readonly source: string;
  /** words that the whole file does not have: what a manual leaves out cannot be quoted, but it can be looked for */
  readonly absent?: readonly string[];
};

export const mostNotApplicable = 10;

export const notApplicable: readonly NotApplicable[] = [
  {
    router: 'gobgp',
    row: 'route refresh asked by the router',
    reason:
      'its soft reset runs the import policy over the routes it has and sends no ROUTE-REFRESH.',
    quote:
      'When you change an import policy and reset the inbound routing table (aka soft reset in), a withdraw for a route rejected by the latest import policies will be sent to peers.',
    source: '/usr/share/doc/gobgpd/policy.md.gz',
  },
  {
    router: 'gobgp',
    row: 'two-octet neighbour: AS_TRANS and AS4_PATH',
    reason:
      'its configuration has no setting for the capability of four-octet AS numbers, which is in every OPEN.',
    quote: '# Configuration Example',
    source: '/usr/share/doc/gobgpd/configuration.md.gz',
    absent: ['octet', '4byte', '4-byte', 'as4', 'capabilit'],
  },
  {
    router: 'exabgp',
    row: 'graceful restart of ours: stale routes kept',
    reason: 'it has no table in which a route could be stale: messages are printed and forgotten.',
    quote: 'can also print received BGP messages into readable plain text or JSON formatted text.',
    source: '/usr/share/man/man1/exabgp.1.gz',
  },
  {
    router: 'openbgpd',
    row: 'IPv4 routes behind an IPv6 next hop (RFC 8950)',
    reason:
      'it does not know the extended next hop: RFC 8950 and its forerunner RFC 5549 are not among the standards that its manual lists.',
    quote: 'Multiprotocol Extensions for BGP-4',
    source: '/usr/share/man/man8/bgpd.8.gz',
    absent: ['8950', '5549'],
  },
];
