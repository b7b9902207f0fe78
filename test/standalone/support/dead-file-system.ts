/** A file system whose server never answers, as a dead NFS: a mount of FUSE that nobody serves. Whoever looks into it hangs in the kernel. */

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';

export class DeadFileSystem {
  readonly folder: string;
  readonly #fd: number;
  #isOver = false;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.folder = folder;
    this.#fd = openSync('/dev/fuse', 'r+');
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0';
    const args = ['-i', '-t', 'fuse', '-o', options, 'dead', folder];
    execFileSync('mount', args, { stdio: ['ignore', 'pipe', 'pipe', this.#fd] });
  }

  /** whoever hangs gets an error */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    closeSync(this.#fd);
    spawnSync('umount', ['-l', this.folder]);
  }
}
