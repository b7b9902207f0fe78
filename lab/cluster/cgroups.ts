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
/** Of version 2: what runc limits pods with, and hugetlb, since a kubelet takes a group for missing that lacks it where the kernel has it. */
const CONTROLLERS = ['cpu', 'cpuset', 'memory', 'pids', 'io', 'hugetlb'];
const GONE_WITHIN_MS = 10_000;
const POLL_MS = 50;

/** Where groups can be made: each hierarchy of version 1, and the unified one where there is one. */
export function hierarchies(root = ROOT): readonly string[] {
  if (existsSync(join(root, 'cgroup.controllers'))) return [root];
  return readdirSync(root, { withFileTypes: true })
    .filter((each) => each.isDirectory())
    .map((each) => join(root, each.name));
}

/** A controller of version 2 that a hierarchy passes on to its groups since we have asked for it. */
export interface PassedOn {
  readonly hierarchy: string;
  readonly controller: string;
}

/**
 * A group in every hierarchy; of version 1's cpuset it has what its parent has, without which no process may enter. The answer is what was changed
 * outside of the group, for `takeBack`.
 */
export function makeGroups(path: string, root = ROOT): readonly PassedOn[] {
  const changed: PassedOn[] = [];
  for (const hierarchy of hierarchies(root)) {
    let group = hierarchy;
    for (const word of path.split('/').filter((each) => each !== '')) {
      const parent = group;
      group = join(group, word);
      const added = passControllersOn(parent);
      if (parent === hierarchy)
        changed.push(...added.map((controller) => ({ hierarchy, controller })));
      mkdirSync(group, { recursive: true });
      for (const name of ['cpuset.cpus', 'cpuset.mems']) {
        const [from, to] = [join(parent, name), join(group, name)];
        // of version 2 an empty file means "as the parent"
        if (hierarchy !== root && existsSync(from) && existsSync(to))
          writeFileSync(to, readFileSync(from));
      }
    }
  }
  return changed;
}

/** Of version 2 a group has the controllers that its parent passes on, and a kubelet refuses one without. The answer is what was added. */
function passControllersOn(group: string): readonly string[] {
  const [has, passes] = ['cgroup.controllers', 'cgroup.subtree_control'].map((name) => {
    const file = join(group, name);
    return existsSync(file) ? readFileSync(file, 'utf8').split(/\s+/).filter(Boolean) : [];
  });
  const missing = CONTROLLERS.filter((each) => has?.includes(each) && !passes?.includes(each));
  // one by one: a kernel that refuses one of them refuses all that are written at once
  return missing.filter((each) => isTaken(group, `+${each}`));
}

/** Undoes what `makeGroups` has changed outside of its group; what others use by now stays. */
export function takeBack(changed: readonly PassedOn[]): void {
  for (const { hierarchy, controller } of changed) isTaken(hierarchy, `-${controller}`);
}

/** Whether the kernel takes it; it refuses what it cannot do, and on the way back what is in use. */
function isTaken(group: string, change: string): boolean {
  try {
    writeFileSync(join(group, 'cgroup.subtree_control'), change);
    return true;
  } catch {
    return false;
  }
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
