/** The router's side in FRR's words (8.x and newer). Restart timers are minutes there. */

import type { Family } from 'bgp-ts';
import { ManifestRefusal } from './refusal.ts';
import { acceptedOf, headerLines, type RouterPlan, silenceLine } from './router-plan.ts';

export function renderFrr(plan: RouterPlan): string {
  const { group } = plan;
  return [
    ...headerLines(
      plan,
      'For /etc/frr/frr.conf, with bgpd=yes in /etc/frr/daemons; then: systemctl reload frr',
    ).map((line) => `! ${line}`),
    ...(plan.port === 179
      ? []
      : [
          `! bgpd must listen on port ${plan.port}: bgpd_options="... -p ${plan.port}" in /etc/frr/daemons`,
        ]),
    '!',
    '! With groups of next hops in the kernel, which are the default, FRR 8.4 does not put a route back when a link loses its',
    '! carrier and has it again within 180 s. This is a line for zebra.',
    'no zebra nexthop kernel enable',
    '!',
    '! Only host routes inside the pools are taken; a shorter prefix or the default route never is.',
    ...plan.families.flatMap((family) => prefixList(plan, family, group)),
    '!',
    '! A node that drains says so with GRACEFUL_SHUTDOWN (RFC 8326): every other path is better than its own.',
    `bgp community-list standard ${group}-drain seq 5 permit graceful-shutdown`,
    ...plan.families.flatMap((family) => inboundMap(family, group)),
    '!',
    '! The nodes are told nothing.',
    `route-map ${group}-out deny 10`,
    'exit',
    '!',
    `router bgp ${plan.routerAsn}`,
    ` bgp router-id ${plan.routerId}`,
    ' bgp log-neighbor-changes',
    ' no bgp default ipv4-unicast',
    ' ! paths of nodes with different AS numbers are equal too: FRR alone calls only those of one AS so',
    ' bgp bestpath as-path multipath-relax',
    ...session(plan, group),
    ...plan.families.flatMap((family) => addressFamily(plan, family, group)),
    'exit',
    '!',
    '',
  ].join('\n');
}

function prefixList(plan: RouterPlan, family: Family, group: string): string[] {
  const command = `${family === 'ipv4' ? 'ip' : 'ipv6'} prefix-list ${listName(family, group)}`;
  const accepted = acceptedOf(plan, family);
  // an empty list would be no list at all, and that matches everything
  if (accepted.length === 0) return [`${command} seq 5 deny any`];
  return accepted.map(({ prefix, prefixLength, length }, index) => {
    const exact = prefixLength === length ? '' : ` ge ${length} le ${length}`;
    return `${command} seq ${5 * (index + 1)} permit ${prefix}${exact}`;
  });
}

const listName = (family: Family, group: string) => `${group}-${family}`;

function inboundMap(family: Family, group: string): string[] {
  const match = ` match ${family === 'ipv4' ? 'ip' : 'ipv6'} address prefix-list ${listName(family, group)}`;
  const map = `route-map ${group}-${family}-in permit`;
  return [
    `${map} 10`,
    match,
    ` match community ${group}-drain`,
    ' set local-preference 0',
    'exit',
    `${map} 20`,
    match,
    'exit',
  ];
}

function session(plan: RouterPlan, group: string): string[] {
  const at = ` neighbor ${group}`;
  const { timers, password, multihop } = plan;
  return [
    `${at} peer-group`,
    `${at} remote-as ${plan.nodeAsn}`,
    ...(password === undefined ? [] : [`${at} password ${checkedPassword(password)}`]),
    ` ! ${silenceLine(plan)}`,
    `${at} timers ${timers.keepaliveSeconds} ${timers.holdSeconds}`,
    ...(plan.routerDials
      ? [`${at} timers connect ${timers.connectRetrySeconds}`]
      : [' ! the nodes dial and do not listen', `${at} passive`]),
    ...(plan.hasTtlSecurity ? [`${at} ttl-security hops ${multihop ?? 1}`] : []),
    ...(multihop !== undefined && !plan.hasTtlSecurity ? [`${at} ebgp-multihop ${multihop}`] : []),
    ...(plan.hasExtendedNextHop
      ? [' ! RFC 8950: IPv4 routes come with an IPv6 next hop', `${at} capability extended-nexthop`]
      : []),
    `${at} graceful-restart-${plan.gracefulRestartSeconds === undefined ? 'disable' : 'helper'}`,
    ...plan.neighbours.flatMap(({ address, name }) => [
      ` neighbor ${address} peer-group ${group}`,
      ...(name === undefined ? [] : [` neighbor ${address} description ${name}`]),
    ]),
    ...(plan.ranges.length === 0
      ? []
      : [
          ` ! sessions from the range, at most so many`,
          ` bgp listen limit ${plan.maxNodes}`,
          ...plan.ranges.map((range) => ` bgp listen range ${range} peer-group ${group}`),
        ]),
  ];
}

function addressFamily(plan: RouterPlan, family: Family, group: string): string[] {
  const at = `  neighbor ${group}`;
  return [
    ` address-family ${family} unicast`,
    `${at} activate`,
    `${at} route-map ${group}-${family}-in in`,
    `${at} route-map ${group}-out out`,
    `  ! maxRoutes ${plan.maxRoutes} and headroom; FRR counts what it accepts and keeps nothing of what it refuses. Back after`,
    `  ! ${plan.restartMinutes} min; a neighbour of a range is forgotten with its session and may come back at once.`,
    `${at} maximum-prefix ${plan.prefixLimit} restart ${plan.restartMinutes}`,
    '  ! ECMP over the nodes',
    `  maximum-paths ${plan.maxNodes}`,
    `  maximum-paths ibgp ${plan.maxNodes}`,
    ' exit-address-family',
  ];
}

function checkedPassword(password: string): string {
  if (/^[\x21-\x7e]+$/.test(password)) return password;
  throw new ManifestRefusal(
    'FRR takes no password with spaces or characters beyond ASCII; choose another, or write it by hand with --password-placeholder',
  );
}
