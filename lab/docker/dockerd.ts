/** How dockerd is called, and what its log says when it does not start. Pure. */

import { join } from 'node:path';

export type StorageDriver = 'overlay2' | 'vfs';

/** All that it keeps is in one folder; it changes neither the firewall nor the interfaces of this machine. */
export function dockerdArgs(
  folder: string,
  cgroup: string,
  storage: StorageDriver,
): readonly string[] {
  return [
    '--iptables=false',
    '--ip6tables=false',
    '--bridge=none',
    '--ip-forward=false',
    `--storage-driver=${storage}`,
    `--data-root=${join(folder, 'data')}`,
    `--exec-root=${join(folder, 'exec')}`,
    `--pidfile=${join(folder, 'pid')}`,
    `--host=unix://${join(folder, 'docker.sock')}`,
    // with systemd's driver a group of ours would have to be a slice
    '--exec-opt=native.cgroupdriver=cgroupfs',
    `--cgroup-parent=/${cgroup}`,
    '--shutdown-timeout=5',
    '--log-level=warn',
  ];
}

/** The last thing that it complained about, else the last thing that it said. */
export function whyItFailed(log: string): string {
  const lines = log.split('\n').filter((line) => line.trim() !== '');
  const complaints = lines.filter((line) => !line.startsWith('time='));
  const levelled = lines.filter((line) => /level=(error|fatal)/.test(line));
  const last = complaints.at(-1) ?? levelled.at(-1) ?? lines.at(-1) ?? 'it said nothing';
  return /msg="((?:[^"\\]|\\.)*)"/.exec(last)?.[1] ?? last;
}
