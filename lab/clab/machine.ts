/**
 * What a lab can leave behind on a machine: looked at before and after, and compared. Only things that have a place of their own are listed; a
 * process, a mount or a cgroup of somebody else who works at the same time is none of ours, so these are asked for by
 * what they belong to.
 */

import { existsSync, globSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { run } from '../../tools/kubernetes/run.ts';
import type { Docker } from '../docker/docker.ts';

export type Machine = ReadonlyMap<string, readonly string[]>;

const settings = [
  'net/ipv4/ip_forward',
  'net/ipv6/conf/all/forwarding',
  'net/ipv4/conf/all/rp_filter',
  'net/ipv4/conf/default/rp_filter',
];
const nftMs = 30_000;
/** Namespaces and interfaces of other tests and labs of ours, which may come and go at the same time. */
const foreign = /^(hd-|hl-|lab\.)/;

export async function lookAtMachine(docker: Docker): Promise<Machine> {
  const lines = async (...words: string[]) => (await docker.run(words)).split('\n').filter(Boolean);
  const [root = ''] = await lines('info', '--format', '{{.DockerRootDir}}');
  return new Map<string, readonly string[]>([
    ['namespace', namesIn('/run/netns').filter((name) => !foreign.test(name))],
    ['interface', namesIn('/sys/class/net').filter((name) => !foreign.test(name))],
    ['container', await lines('ps', '--all', '--format', '{{.Names}}')],
    ['network', await lines('network', 'ls', '--format', '{{.Name}}')],
    ['volume', await lines('volume', 'ls', '--quiet')],
    ['mount', mountsBelow(root)],
    ['firewall', (await run('nft', ['list', 'ruleset'], { timeoutMs: nftMs })).split('\n')],
    ['file', globSync(['/etc/ssh/ssh_config.d/*', '/tmp/herald-clab-*', '/run/lock/clab-*'])],
    ['/etc/hosts', textOf('/etc/hosts').split('\n')],
    ['setting', settings.map((name) => `${name}=${textOf(`/proc/sys/${name}`).trim()}`)],
  ]);
}

/** One line for everything that is there and was not, or the other way round. */
export function differences(before: Machine, after: Machine): readonly string[] {
  const kinds = [...new Set([...before.keys(), ...after.keys()])];
  return kinds.flatMap((kind) => {
    const [was, is] = [before.get(kind) ?? [], after.get(kind) ?? []];
    return [
      ...is.filter((each) => !was.includes(each)).map((each) => `new ${kind}: ${each}`),
      ...was.filter((each) => !is.includes(each)).map((each) => `lost ${kind}: ${each}`),
    ];
  });
}

/** The processes of these containers and of their keepers: a container's id is in its cgroup, and in its keeper's command line. */
export function processesOf(containers: readonly { readonly id: string }[]): readonly string[] {
  return processes().filter((pid) => {
    const text = textOf(`/proc/${pid}/cgroup`) + textOf(`/proc/${pid}/cmdline`);
    return containers.some(({ id }) => text.includes(id));
  });
}

/** Docker puts a container's cgroup under a parent of its choice, in every hierarchy; it has the container's id in its name. */
export function cgroupsOf(containers: readonly { readonly id: string }[]): readonly string[] {
  const places = ['', '*/', '*/*/'].map((folders) => `/sys/fs/cgroup/${folders}`);
  return containers.flatMap(({ id }) => globSync(places.map((place) => `${place}*${id}*`)));
}

const processes = () => namesIn('/proc').filter((name) => /^\d+$/.test(name));

/** In every mount namespace: a daemon of our own has one to itself. */
function mountsBelow(root: string): readonly string[] {
  const seen = new Set<string>();
  const found = new Set<string>();
  for (const pid of processes()) {
    const namespace = linkOf(`/proc/${pid}/ns/mnt`);
    if (namespace === undefined || seen.has(namespace)) continue;
    seen.add(namespace);
    for (const line of textOf(`/proc/${pid}/mountinfo`).split('\n')) {
      const place = line.split(' ')[4] ?? '';
      if (place.startsWith(`${root}/`)) found.add(place);
    }
  }
  return [...found];
}

const namesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder) : []);

/** A process that has just ended has nothing to say. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
