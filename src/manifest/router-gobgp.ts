/**
 * The router's side in GoBGP's words: a whole gobgpd.toml. GoBGP keeps a table of its own and reaches the kernel only through
 * FRR's zebra; its policies are global, so this file is for a gobgpd that serves these nodes and nobody else.
 */

import type { Family } from 'bgp-ts';
import { acceptedOf, headerLines, type RouterPlan, silenceLine } from './router-plan.ts';

export function renderGobgp(plan: RouterPlan): string {
  const { group } = plan;
  return [
    ...headerLines(plan, 'For /etc/gobgp/gobgpd.conf (TOML); then: systemctl restart gobgpd').map(
      (line) => `# ${line}`,
    ),
    '',
    '[global.config]',
    `  as = ${plan.routerAsn}`,
    `  router-id = "${plan.routerId}"`,
    `  port = ${plan.port}`,
    '',
    '# ECMP: all equal paths count as best. Kernel routes come only from an FRR zebra beside GoBGP:',
    '# [zebra.config] with enabled = true, url = "unix:/run/frr/zserv.api" and its version.',
    '[global.use-multiple-paths.config]',
    '  enabled = true',
    '',
    '# Nothing is taken but what the policy accepts, and the nodes are told nothing. Policies are global in GoBGP.',
    '[global.apply-policy.config]',
    `  import-policy-list = ["${group}-in"]`,
    '  default-import-policy = "reject-route"',
    '  default-export-policy = "reject-route"',
    '',
    ...peerGroup(plan, group),
    ...plan.neighbours.flatMap(({ address, name }) => [
      '[[neighbors]]',
      '  [neighbors.config]',
      `    neighbor-address = "${address}"`,
      `    peer-group = "${group}"`,
      ...(name === undefined ? [] : [`    description = ${JSON.stringify(name)}`]),
      '',
    ]),
    ...(plan.ranges.length === 0
      ? []
      : [
          `# GoBGP has no limit on how many of a range connect (planned for: ${plan.maxNodes}); a firewall on port ${plan.port} can set one.`,
        ]),
    ...plan.ranges.flatMap((range) => [
      '[[dynamic-neighbors]]',
      '  [dynamic-neighbors.config]',
      `    prefix = "${range}"`,
      `    peer-group = "${group}"`,
      '',
    ]),
    ...plan.families.flatMap((family) => prefixSet(plan, family, group)),
    '[[defined-sets.bgp-defined-sets.community-sets]]',
    `  community-set-name = "${group}-drain"`,
    '  community-list = ["^65535:0$"]',
    '',
    ...policy(plan, group),
  ].join('\n');
}

function peerGroup(plan: RouterPlan, group: string): string[] {
  const { timers, password, multihop } = plan;
  return [
    '[[peer-groups]]',
    '  [peer-groups.config]',
    `    peer-group-name = "${group}"`,
    `    peer-as = ${plan.nodeAsn}`,
    ...(password === undefined ? [] : [`    auth-password = ${JSON.stringify(password)}`]),
    `  # ${silenceLine(plan)}`,
    '  [peer-groups.timers.config]',
    `    hold-time = ${timers.holdSeconds}`,
    `    keepalive-interval = ${timers.keepaliveSeconds}`,
    `    connect-retry = ${timers.connectRetrySeconds}`,
    '  [peer-groups.transport.config]',
    ...(plan.address === undefined ? [] : [`    local-address = "${plan.address}"`]),
    `    passive-mode = ${!plan.routerDials}`,
    ...(plan.hasTtlSecurity
      ? [
          '  [peer-groups.ttl-security.config]',
          '    enabled = true',
          `    ttl-min = ${256 - (multihop ?? 1)}`,
        ]
      : []),
    ...(multihop !== undefined && !plan.hasTtlSecurity
      ? [
          '  [peer-groups.ebgp-multihop.config]',
          '    enabled = true',
          `    multihop-ttl = ${multihop}`,
        ]
      : []),
    ...(plan.gracefulRestartSeconds === undefined
      ? []
      : [
          '  [peer-groups.graceful-restart.config]',
          '    enabled = true',
          '    helper-only = true',
          `    restart-time = ${plan.gracefulRestartSeconds}`,
        ]),
    `  # maxRoutes ${plan.maxRoutes} and headroom. GoBGP has no restart timer: a static neighbour that went over stays`,
    '  # down until `gobgp neighbor ADDRESS enable`; one of a range may come back at once.',
    ...plan.families.flatMap((family) => [
      '  [[peer-groups.afi-safis]]',
      '    [peer-groups.afi-safis.config]',
      `      afi-safi-name = "${family}-unicast"`,
      ...(plan.gracefulRestartSeconds === undefined
        ? []
        : ['    [peer-groups.afi-safis.mp-graceful-restart.config]', '      enabled = true']),
      '    [peer-groups.afi-safis.prefix-limit.config]',
      `      max-prefixes = ${plan.prefixLimit}`,
    ]),
    '',
  ];
}

function prefixSet(plan: RouterPlan, family: Family, group: string): string[] {
  const accepted = acceptedOf(plan, family);
  if (accepted.length === 0) return [];
  return [
    '[[defined-sets.prefix-sets]]',
    `  prefix-set-name = "${group}-${family}"`,
    ...accepted.flatMap(({ prefix, length }) => [
      '  [[defined-sets.prefix-sets.prefix-list]]',
      `    ip-prefix = "${prefix}"`,
      `    masklength-range = "${length}..${length}"`,
    ]),
    '',
  ];
}

function policy(plan: RouterPlan, group: string): string[] {
  const families = plan.families.filter((family) => acceptedOf(plan, family).length > 0);
  return [
    '# Only host routes inside the pools are taken; a shorter prefix or the default route never is.',
    '[[policy-definitions]]',
    `  name = "${group}-in"`,
    ...families.flatMap((family) => [
      '  # A node that drains says so with GRACEFUL_SHUTDOWN (RFC 8326): the last choice. For GoBGP 0 means unset, hence 1.',
      ...statement(`${group}-${family}-drain`, `${group}-${family}`),
      '    [policy-definitions.statements.conditions.bgp-conditions.match-community-set]',
      `      community-set = "${group}-drain"`,
      '      match-set-options = "any"',
      '    [policy-definitions.statements.actions]',
      '      route-disposition = "accept-route"',
      '    [policy-definitions.statements.actions.bgp-actions]',
      '      set-local-pref = 1',
      ...statement(`${group}-${family}`, `${group}-${family}`),
      '    [policy-definitions.statements.actions]',
      '      route-disposition = "accept-route"',
    ]),
    '',
  ];
}

function statement(name: string, prefixSetName: string): string[] {
  return [
    '  [[policy-definitions.statements]]',
    `    name = "${name}"`,
    '    [policy-definitions.statements.conditions.match-prefix-set]',
    `      prefix-set = "${prefixSetName}"`,
    '      match-set-options = "any"',
  ];
}
