/** The router's side in OpenBGPD's words: a whole bgpd.conf. OpenBGPD has no multipath, which the file says at its top. */

import { ManifestRefusal } from './refusal.ts';
import { headerLines, type RouterPlan, silenceLine } from './router-plan.ts';

export function renderOpenbgpd(plan: RouterPlan): string {
  const { group } = plan;
  return [
    ...headerLines(
      plan,
      'For /etc/bgpd.conf (Debian: /etc/openbgpd/bgpd.conf), mode 0600; then: bgpctl reload',
    ).map((line) => `# ${line}`),
    '# OpenBGPD has no ECMP: of equal paths it uses one, so one node at a time gets the traffic of an address.',
    '# On Linux it writes no kernel routes at all: there it is good for a table, not for forwarding.',
    ...(plan.password === undefined
      ? []
      : [
          '# On Linux it checks the key only on sessions that it dials: one that comes in unsigned is taken, a signed one is not.',
          '# There, give the nodes `listen: true` and keep others off port 179 with a firewall; on OpenBSD both ways work.',
        ]),
    '',
    `AS ${plan.routerAsn}`,
    `router-id ${plan.routerId}`,
    ...(plan.address === undefined
      ? []
      : [`listen on ${plan.address}${plan.port === 179 ? '' : ` port ${plan.port}`}`]),
    '',
    '# Only host routes inside the pools are taken; a shorter prefix or the default route never is.',
    `prefix-set "${group}" {`,
    ...plan.accepted.map(({ prefix, length }) => `  ${prefix} prefixlen = ${length}`),
    '}',
    '',
    ...session(plan, group),
    '',
    `allow from group "${group}" prefix-set "${group}"`,
    '# A node that drains says so with GRACEFUL_SHUTDOWN (RFC 8326): every other path is better than its own.',
    `match from group "${group}" community GRACEFUL_SHUTDOWN set { localpref 0 }`,
    '# The nodes are told nothing.',
    `deny to group "${group}"`,
    '',
  ].join('\n');
}

function session(plan: RouterPlan, group: string): string[] {
  const { password, multihop } = plan;
  return [
    `group "${group}" {`,
    `  remote-as ${plan.nodeAsn}`,
    ...(plan.address === undefined ? [] : [`  local-address ${plan.address}`]),
    ...(password === undefined ? [] : [`  tcp md5sig password "${checkedPassword(password)}"`]),
    `  # ${silenceLine(plan)}`,
    `  holdtime ${checkedHold(plan)}`,
    '  holdtime min 3',
    ...(plan.routerDials ? [] : ['  # the nodes dial and do not listen', '  passive']),
    ...(multihop === undefined ? [] : [`  multihop ${multihop}`]),
    ...(plan.hasTtlSecurity ? ['  ttl-security yes'] : []),
    `  announce IPv4 ${plan.families.includes('ipv4') ? 'unicast' : 'none'}`,
    `  announce IPv6 ${plan.families.includes('ipv6') ? 'unicast' : 'none'}`,
    `  announce restart ${plan.gracefulRestartSeconds === undefined ? 'no' : 'yes'}`,
    `  # maxRoutes ${plan.maxRoutes} and headroom, both families together, refused routes too. The restart timer (minutes)`,
    '  # holds only what OpenBGPD dials: a node that dials may come back at once.',
    `  max-prefix ${plan.prefixLimit} restart ${plan.restartMinutes}`,
    ...plan.neighbours.map(({ address, name }) =>
      name === undefined ? `  neighbor ${address}` : `  neighbor ${address} { descr "${name}" }`,
    ),
    ...(plan.ranges.length === 0
      ? []
      : [
          `  # OpenBGPD has no limit on how many of a range connect (planned for: ${plan.maxNodes}); a firewall can set one.`,
        ]),
    ...plan.ranges.map((range) => `  neighbor ${range}`),
    '}',
  ];
}

function checkedHold({ peer, timers }: RouterPlan): number {
  if (timers.holdSeconds > 0) return timers.holdSeconds;
  throw new ManifestRefusal(
    `OpenBGPD has no session without a hold time, and BGPPeer ${peer} says holdSeconds: 0; set it to 3 or more`,
  );
}

function checkedPassword(password: string): string {
  if (/^[^"\\\n\r]+$/.test(password)) return password;
  throw new ManifestRefusal(
    'OpenBGPD takes no password with a double quote or a backslash in it; choose another, or write it by hand with --password-placeholder',
  );
}
