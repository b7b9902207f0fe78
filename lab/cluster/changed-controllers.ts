/**
 * What a cluster has changed in the control groups outside of its own, noted in its folder for whoever takes it away. The note holds until the
 * next boot, which starts with groups of its own.
 */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PassedOn } from './cgroups.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

const noteOf = (folder: string): string =>
  join(folder, `controllers-${readFileSync(BOOT_ID, 'utf8').trim()}`);

export function noteChanged(folder: string, changed: readonly PassedOn[]): void {
  if (changed.length === 0) return;
  const lines = changed.map(({ hierarchy, controller }) => `${hierarchy} ${controller}\n`);
  appendFileSync(noteOf(folder), lines.join(''));
}

export function readChanged(folder: string): readonly PassedOn[] {
  const note = noteOf(folder);
  if (!existsSync(note)) return [];
  return readFileSync(note, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [hierarchy = '', controller = ''] = line.split(' ');
      return { hierarchy, controller };
    });
}
