/**
 * What a lab in network namespaces can leave behind on a machine, looked at before and after. What tests, clusters and other labs make at the
 * same time is left out by its names.
 */

import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import type { Machine } from '../../../lab/clab/machine.ts';

/** Of the other tests, of containerlab, of clusters; of Docker; what systems make by themselves. */
const foreign =
  /(^|\/)(hd-\d|hl-|clab-|hc-|cni-|herald-(cluster|docker)|docker|containerd|veth|br-|moby|runc|systemd)/;
/** The folder of all labs, too: it is there as long as any of them is. */
const anyLab = /(^|\/)(lab\.|herald-lab)/;

export function lookAtLabMachine(lab: string): Machine {
  const isOurs = (name: string) =>
    !foreign.test(name) && (!anyLab.test(name) || name.includes(lab));
  const own = (names: readonly string[]) => names.filter(isOurs);
  return new Map<string, readonly string[]>([
    ['namespace', own(namesIn('/run/netns'))],
    ['interface', own(namesIn('/sys/class/net'))],
    ['mount', own(mounts())],
    ['cgroup', own(globSync('/sys/fs/cgroup/{*,*/*}'))],
    ['file', own([...namesIn('/run'), ...globSync('/run/{frr,bird,herald,herald-lab}/**')])],
    ['folder', ['/etc/herald', '/var/lib/herald', '/opt/web'].filter((each) => existsSync(each))],
  ]);
}

function mounts(): string[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trim().split('\n');
  return lines.map((line) => line.split(' ')[4] ?? '');
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);
