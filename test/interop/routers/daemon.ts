/**
 * The processes of one router: started in order, stopped in reverse, frozen and killed together. FRR is two
 * daemons, the others are one (with helpers of their own, which live in its process group).
 */

import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import type { Running } from '../../support/process.ts';

export type DaemonLine = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

export class Daemons {
  readonly #running: Running[] = [];

  start(host: Host, line: DaemonLine): Running {
    const env = line.env === undefined ? {} : { env: line.env };
    const child = host.spawn(line.name, line.command, line.args, env);
    this.#running.push(child);
    return child;
  }

  freeze(): void {
    for (const child of this.#running) child.freeze();
  }

  thaw(): void {
    for (const child of this.#running) child.thaw();
  }

  async stop(): Promise<void> {
    for (const child of this.#running.toReversed()) await child.stop();
    this.#running.length = 0;
  }

  async kill(): Promise<void> {
    await Promise.all(this.#running.map((child) => child.kill()));
    this.#running.length = 0;
  }

  /** Throws when one of them has ended, so that waiting for a CLI ends with the router's own complaint. */
  assertRunning(): void {
    for (const child of this.#running) {
      if (!child.isRunning) throw new Error(`the router ended: ${child.log().slice(-2000)}`);
    }
  }

  log(): string {
    return this.#running.map((child) => child.log()).join('');
  }
}

/** A configuration file that only its owner can read: it may hold a password, and OpenBGPD insists on it. */
export function writeConfig(host: Host, name: string, content: string): string {
  const path = join(host.folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  chmodSync(path, 0o600);
  return path;
}

export const lines = (...parts: readonly (string | false | undefined)[]): string =>
  parts.filter((part) => typeof part === 'string').join('\n');
