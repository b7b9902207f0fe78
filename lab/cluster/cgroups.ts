/**
 * The branch of the control groups that belongs to one cluster: made in every hierarchy of version 1, or in the one of version 2. Containers of a node
 * come below it, so that what is left of them can be found and removed in one place.
 */

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const ROOT = '/sys/fs/cgroup';
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 50;

/** Where groups can be made: each hierarchy of version 1, and the unified one where there is one. */
export function hierarchies(root = ROOT): readonly string[] {
  if (existsSync(join(root, 'cgroup.controllers'))) return [root];
  return readdirSync(root, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map((each) => join(root, each.name));
}

/** A group in every hierarchy; of version 1's cpuset it has what its parent has, without which no process may enter. */
export function makeGroups(path: string, root = ROOT): void {
  for (const hierarchy of hierarchies(root)) {
    let group = hierarchy;
    for (const word of path.split('/').filter((each) => each !== '')) {
      const parent = group;
      group = join(group, word);
      passControllersOn(parent);
      mkdirSync(group, { recursive: true });
      for (const name of ['cpuset.cpus', 'cpuset.mems']) {
        const [from, to] = [join(parent, name), join(group, name)];
        // of version 2 an empty file means "as the parent"
        if (hierarchy !== root && existsSync(from) && existsSync(to))
          writeFileSync(to, readFileSync(from));
      }
    }
  }
}

/** Of version 2 a group has the controllers that its parent passes on, and a kubelet refuses one without. */
function passControllersOn(group: string): void {
  const [has, passes] = ['cgroup.controllers', 'cgroup.subtree_control'].map((name) => {
    const file = join(group, name);
    return existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/).filter(Boolean) : [];
  });
  const missing = (has ?? []).filter((each) => !passes?.includes(each));
  if (missing.length > 0)
    writeFileSync(
      join(group, 'cgroup.subtree_control'),
      missing.map((each) => `+${each}`).join(' '),
    );
}

/** Removes a group and all below it in every hierarchy; the processes in it are gone or about to be. */
export async function removeGroups(path: string, root = ROOT): Promise<void> {
  const started = performance.now();
  const groups = () => hierarchies(root).map((hierarchy) => join(hierarchy, path));
  for (;;) {
    const left = groups().filter(existsSync);
    if (left.length === 0) return;
    const failures = left.flatMap(removeTree);
    if (failures.length === 0) return;
    if (performance.now() - started > GONE_WITHIN_MS)
      throw new Error(`the control group ${failures[0]} cannot be removed: a process is in it.`);
    await delay(POLL_MS);
  }
}

/** The deepest first; what it answers is what is left. */
function removeTree(group: string): readonly string[] {
  const below = readdirSync(group, { withFileTypes: true }).filter((each) => each.isDirectory());
  const failed = below.flatMap((each) => removeTree(join(group, each.name)));
  if (failed.length > 0) return failed;
  try {
    rmdirSync(group);
    return [];
  } catch {
    return [group];
  }
}
