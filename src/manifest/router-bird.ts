/** The router's side in BIRD 2's words: a whole bird.conf. */

import type { Family } from 'bgp-ts';
import { ManifestRefusal } from './refusal.ts';
import { acceptedOf, headerLines, type RouterPlan, silenceLine } from './router-plan.ts';

const VERSION = { ipv4: '4', ipv6: '6' } as const;
/** BIRD takes no longer name; that of the group leaves room for what is put behind it */
const MAX_SYMBOL = 64;
const MAX_GROUP = 45;

export function renderBird(plan: RouterPlan): string {
  const name = symbol(plan.group).slice(0, MAX_GROUP);
  const names = neighbourNames(plan, name);
  return [
    ...headerLines(plan, 'For /etc/bird/bird.conf; then: birdc configure').map(
      (line) => `# ${line}`,
    ),
    '# In a bird.conf that has device and kernel protocols already, keep those and add `merge paths` to kernel.',
    '',
    'log syslog all;',
    `router id ${plan.routerId};`,
    '',
    'protocol device {}',
    '',
    ...plan.families.flatMap((family) => kernel(plan, family, name)),
    ...plan.families.flatMap((family) => importFilter(plan, family, name)),
    ...template(plan, name),
    ...plan.neighbours.flatMap((neighbour, index) => [
      `protocol bgp ${names[index]} from ${name} {`,
      `  neighbor ${neighbour.address} as ${plan.nodeAsn};`,
      '}',
      '',
    ]),
    ...(plan.ranges.length === 0
      ? []
      : [
          `# BIRD has no limit on how many of a range connect (planned for: ${plan.maxNodes}); a firewall on port ${plan.port} can set one.`,
        ]),
    ...plan.ranges.flatMap((range, index) => [
      `protocol bgp ${rangeName(index, name)} from ${name} {`,
      `  neighbor range ${range} as ${plan.nodeAsn};`,
      `  dynamic name "${name}_node";`,
      '}',
      '',
    ]),
  ].join('\n');
}

function kernel(plan: RouterPlan, family: Family, name: string): string[] {
  return [
    '# ECMP: all equal paths go to the kernel as one multipath route.',
    `protocol kernel ${kernelName(family, name)} {`,
    `  ${family} { import none; export where proto ~ "${name}_*"; };`,
    `  merge paths yes limit ${plan.maxNodes};`,
    '}',
    '',
  ];
}

function importFilter(plan: RouterPlan, family: Family, name: string): string[] {
  const accepted = acceptedOf(plan, family).map(
    ({ prefix, length }) => `    ${prefix}{${length},${length}}`,
  );
  const checks =
    accepted.length === 0
      ? ['  reject;']
      : [
          '  if net !~ [',
          accepted.join(',\n'),
          '  ] then reject;',
          '  # BIRD ignores GRACEFUL_SHUTDOWN (RFC 8326) unless told: a draining node is the last choice.',
          '  if (65535, 0) ~ bgp_community then bgp_local_pref = 0;',
          '  accept;',
        ];
  return [
    '# Only host routes inside the pools are taken; a shorter prefix or the default route never is.',
    `filter ${filterName(family, name)} {`,
    ...checks,
    '}',
    '',
  ];
}

function template(plan: RouterPlan, name: string): string[] {
  const { timers, multihop, password } = plan;
  const local = plan.address === undefined ? 'local' : `local ${plan.address}`;
  const port = plan.port === 179 || plan.address === undefined ? '' : ` port ${plan.port}`;
  return [
    `template bgp ${name} {`,
    `  ${local}${port} as ${plan.routerAsn};`,
    multihop === undefined ? '  direct;' : `  multihop ${multihop};`,
    ...(password === undefined ? [] : [`  password "${checkedPassword(password)}";`]),
    ...(plan.hasTtlSecurity ? ['  ttl security on;'] : []),
    `  # ${silenceLine(plan)}${timers.holdSeconds === 0 ? '' : ', and what BIRD adds to it'}`,
    `  hold time ${timers.holdSeconds};`,
    // BIRD takes none that is above the hold time, even where that is none
    ...(timers.holdSeconds === 0 ? [] : [`  keepalive time ${timers.keepaliveSeconds};`]),
    ...(plan.routerDials
      ? [`  connect retry time ${timers.connectRetrySeconds};`]
      : ['  passive on;  # the nodes dial and do not listen']),
    '  # after an error, and after too many prefixes: BIRD has no other restart timer, and waits minutes unless told',
    '  error wait time 1, 15;',
    '  error forget time 60;',
    `  graceful restart ${plan.gracefulRestartSeconds === undefined ? 'off' : 'aware'};`,
    ...plan.families.flatMap((family) => [
      `  ${family} {`,
      ...(family === 'ipv4' && plan.hasExtendedNextHop
        ? ['    extended next hop on;  # RFC 8950: IPv4 routes come with an IPv6 next hop']
        : []),
      '    import keep filtered on;  # `show route filtered` shows what was refused, and it counts',
      `    receive limit ${plan.prefixLimit} action restart;  # maxRoutes ${plan.maxRoutes} and headroom`,
      `    import filter ${filterName(family, name)};`,
      '    export none;  # the nodes are told nothing',
      '  };',
    ]),
    '}',
    '',
  ];
}

/**
 * A name for each neighbour, none twice: what differs for a person (`n-1`, `n_1`, the first without a name and one named `1`)
 * can be the same in BIRD, or that of a range, a filter or a kernel protocol of this file.
 */
function neighbourNames(plan: RouterPlan, name: string): string[] {
  const taken = new Set([
    ...plan.families.flatMap((family) => [kernelName(family, name), filterName(family, name)]),
    ...plan.ranges.map((_, index) => rangeName(index, name)),
  ]);
  return plan.neighbours.map((neighbour, index) => {
    const whole = `${name}_${symbol(neighbour.name ?? String(index + 1))}`;
    // room for what tells it from the others
    const wanted = whole.slice(0, MAX_SYMBOL - '_255'.length);
    let free = wanted;
    for (let again = 2; taken.has(free); again += 1) free = `${wanted}_${again}`;
    taken.add(free);
    return free;
  });
}

const kernelName = (family: Family, name: string) => `${name}_kernel${VERSION[family]}`;
const filterName = (family: Family, name: string) => `${name}_in${VERSION[family]}`;
const rangeName = (index: number, name: string) => `${name}_range${index + 1}`;

/** BIRD's names have letters, digits and underscores. */
function symbol(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_]/g, '_');
}

function checkedPassword(password: string): string {
  if (/^[^"\n\r]+$/.test(password)) return password;
  throw new ManifestRefusal(
    'BIRD takes no password with a double quote in it; choose another, or write it by hand with --password-placeholder',
  );
}
