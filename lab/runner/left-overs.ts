/** What of a lab is still on this machine: the answer after `down` should be nothing, and is looked for, not believed. */

import { existsSync, globSync, readFileSync } from 'node:fs';
import { namespacePath, namespacePrefix } from './plan.ts';
import { stateFolder } from './state.ts';

/** Sentences, one for each thing. */
export function leftOvers(lab: string): string[] {
  return [
    ...globSync(namespacePath(`${namespacePrefix(lab)}*`)).map((path) => `namespace ${path}`),
    ...globSync(`/sys/class/net/${namespacePrefix(lab)}*`).map((path) => `interface ${path}`),
    ...globSync(`/sys/fs/cgroup/**/${namespacePrefix(lab)}*`).map((path) => `cgroup ${path}`),
    ...mountsOf(lab).map((mount) => `mount ${mount}`),
    ...processesOf(lab).map((pid) => `process ${pid} (${commandOf(pid)})`),
    ...(existsSync(stateFolder(lab)) ? [`folder ${stateFolder(lab)}`] : []),
  ];
}

function mountsOf(lab: string): string[] {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return points.filter(
    (point) =>
      point.includes(`/${namespacePrefix(lab)}`) || point.startsWith(`${stateFolder(lab)}/`),
  );
}

/** Every process of a lab has the lab's name in its environment, wherever it has gone since. */
function processesOf(lab: string): string[] {
  const mark = `LAB=${lab}`;
  return globSync('/proc/[0-9]*')
    .map((path) => path.slice('/proc/'.length))
    .filter((pid) => readProcess(pid, 'environ').split('\0').includes(mark));
}

const commandOf = (pid: string) => readProcess(pid, 'cmdline').replaceAll('\0', ' ').trim();

function readProcess(pid: string, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // It ended while we looked.
    return '';
  }
}
