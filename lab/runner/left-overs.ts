/**
 * What of a lab is still on this machine: the answer after `down` should be nothing, and is looked for, not believed. Links begin and end in the lab's
 * namespaces and go with them, and the runner makes no control groups: neither can be left without one of these.
 */

import { existsSync, globSync, readFileSync, readlinkSync } from 'node:fs';
import { namespacePath, namespacePrefix } from './plan.ts';
import { stateFolder } from './state.ts';

/** In the environment of every process of a lab: it is known by that wherever it goes. */
export const labMark = 'LAB_OF_HERALD';

/** Sentences, one for each thing. */
export function leftOvers(lab: string): string[] {
  return [
    ...globSync(namespacePath(`${namespacePrefix(lab)}*`)).map((path) => `namespace ${path}`),
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

/** Processes that carry the lab's mark and are not in the network of whoever asks, where none of a lab's ever is. */
export function processesOf(lab: string): string[] {
  const mark = `${labMark}=${lab}`;
  const here = readlinkSync('/proc/self/ns/net');
  return globSync('/proc/[0-9]*')
    .map((path) => path.slice('/proc/'.length))
    .filter((pid) => readProcess(pid, 'environ').split('\0').includes(mark))
    .filter((pid) => networkOf(pid) !== here);
}

function networkOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    // It ended while we looked, and is in no network.
    return readlinkSync('/proc/self/ns/net');
  }
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
