/**
 * User-data that makes a Debian or Ubuntu machine the router of `herald manifest router`: the package, the file, forwarding. It may boot before or
 * after the machines that announce to it. Only for routers that put multipath routes into the kernel by themselves (docs/routers.md).
 */

import type { Family } from 'bgp-ts';
import { type NodeFile, renderCommands, renderFile } from './cloud-init.ts';
import { ManifestRefusal } from './refusal.ts';
import type { RouterKind, RouterPlan } from './router-plan.ts';

interface Installed {
  readonly package: string;
  readonly config: string;
  /** who reads the file: the daemon has given up root by then */
  readonly owner: string;
  readonly unit: string;
  /** between the package's files and the start */
  readonly commands: readonly (readonly string[])[];
}

const INSTALLED: Partial<Record<RouterKind, Installed>> = {
  bird: {
    ...{ package: 'bird2', config: '/etc/bird/bird.conf', owner: 'root:bird' },
    ...{ unit: 'bird.service', commands: [] },
  },
  frr: {
    ...{ package: 'frr', config: '/etc/frr/frr.conf', owner: 'frr:frr', unit: 'frr.service' },
    commands: [['sed', '-i', 's/^bgpd=no/bgpd=yes/', '/etc/frr/daemons']],
  },
};

const SYSCTL = '/etc/sysctl.d/90-herald-router.conf';
const FORWARDING: Record<Family, string> = {
  ipv4: 'net.ipv4.ip_forward = 1\nnet.ipv4.fib_multipath_hash_policy = 1\n',
  ipv6: 'net.ipv6.conf.all.forwarding = 1\nnet.ipv6.fib_multipath_hash_policy = 1\n',
};

/** `config` is the router's own file, which holds the key where there is one. */
export function renderRouterCloudInit(kind: RouterKind, plan: RouterPlan, config: string): string {
  const installed = INSTALLED[kind];
  if (installed === undefined) {
    throw new ManifestRefusal(
      `--cloud-init is for ${Object.keys(INSTALLED).join(' and ')}, which put ECMP routes into the kernel; ${kind} does not`,
    );
  }
  const files: NodeFile[] = [
    {
      path: SYSCTL,
      content: `# A router forwards, and chooses among next hops by addresses and ports.\n${plan.families
        .map((family) => FORWARDING[family])
        .join('')}`,
      mode: '0644',
    },
    // deferred: after the packages, since their groups read it and their own example would lie there
    {
      ...{ path: installed.config, content: config, mode: '0640' },
      ...{ owner: installed.owner, isDeferred: true },
    },
  ];
  const commands = [
    ['sysctl', '-q', '-p', SYSCTL],
    ...installed.commands,
    ['systemctl', 'enable', installed.unit],
    ['systemctl', 'restart', installed.unit],
  ];
  return `#cloud-config
# Written by: herald manifest router --for ${kind} --cloud-init. For a Debian or Ubuntu machine with cloud-init 21.4 or newer that has the address
# ${plan.address ?? 'which the machines expect'}; it may boot before or after them.${plan.password === undefined ? '' : ' It holds a TCP-MD5 key: whoever can read the user-data can read it.'}
packages: [${installed.package}]
write_files:
${files.map(renderFile).join('')}runcmd:
${renderCommands(commands)}`;
}
