/**
 * A file system that answers, but slowly, as an NFS behind a line that is full: a FUSE server with one folder of read-only files. Each
 * request waits for `delayMs`; the kernel keeps nothing of what it was told. Whoever tests with it must not look into the folder itself.
 */

import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, read, writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';

/** include/uapi/linux/fuse.h */
const OPCODE = {
  lookup: 1,
  forget: 2,
  getattr: 3,
  open: 14,
  read: 15,
  release: 18,
  flush: 25,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  interrupt: 36,
  batchForget: 42,
} as const;
const ENOENT = -2;
const ENOSYS = -38;
const HEAD_IN = 40;
const HEAD_OUT = 16;
const ATTRIBUTES = 88;
const MAX_REQUEST = 256 * 1024;
const ROOT = 1;
const FOLDER_MODE = 0o40755;
const FILE_MODE = 0o100644;
/** FOPEN_DIRECT_IO: each read is asked for */
const DIRECT = 1;

interface SlowFile {
  readonly node: number;
  readonly name: string;
  readonly bytes: Buffer;
  readonly changedSeconds: number;
}

export class SlowFileSystem {
  readonly folder: string;
  readonly #fd: number;
  readonly #files = new Map<string, SlowFile>();
  #changes = 0;
  #isOver = false;
  /** how long each answer takes */
  delayMs = 0;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true });
    this.folder = folder;
    this.#fd = openSync('/dev/fuse', 'r+');
    const options = 'fd=3,rootmode=40000,user_id=0,group_id=0,allow_other';
    const args = ['-i', '-t', 'fuse', '-o', options, 'slow', folder];
    execFileSync('mount', args, { stdio: ['ignore', 'pipe', 'pipe', this.#fd] });
    this.#serve();
  }

  write(name: string, text: string): void {
    this.#changes += 1;
    const node = this.#files.get(name)?.node ?? ROOT + 1 + this.#files.size;
    const bytes = Buffer.from(text);
    this.#files.set(name, { node, name, bytes, changedSeconds: 1_000_000 + this.#changes });
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    spawnSync('umount', ['-l', this.folder]);
  }

  #serve(): void {
    const request = Buffer.alloc(MAX_REQUEST);
    read(this.#fd, request, 0, MAX_REQUEST, null, (error, length) => {
      if (this.#isOver || error?.code === 'ENODEV') return closeSync(this.#fd);
      if (error === null) void this.#take(request.subarray(0, length));
      this.#serve();
    });
  }

  async #take(request: Buffer): Promise<void> {
    const opcode = request.readUInt32LE(4);
    const { forget, batchForget, interrupt, init } = OPCODE;
    if (opcode === forget || opcode === batchForget || opcode === interrupt) return;
    if (opcode !== init && this.delayMs > 0) await pause(this.delayMs);
    const said = this.#answer(opcode, request.readBigUInt64LE(16), request.subarray(HEAD_IN));
    const body = typeof said === 'number' ? Buffer.alloc(0) : said;
    const answer = Buffer.alloc(HEAD_OUT + body.length);
    answer.writeUInt32LE(answer.length, 0);
    answer.writeInt32LE(typeof said === 'number' ? said : 0, 4);
    request.copy(answer, 8, 8, 16);
    body.copy(answer, HEAD_OUT);
    try {
      writeSync(this.#fd, answer);
    } catch (error) {
      // who asked has been killed meanwhile, or the mount is gone
      if (!(error instanceof Error && 'code' in error)) throw error;
    }
  }

  /** a number: an error of the system */
  #answer(opcode: number, node: bigint, body: Buffer): Buffer | number {
    const file = [...this.#files.values()].find((each) => BigInt(each.node) === node);
    switch (opcode) {
      case OPCODE.init:
        return started();
      case OPCODE.lookup: {
        const found = this.#files.get(body.toString('utf8', 0, body.indexOf(0)));
        return found === undefined ? ENOENT : entry(found);
      }
      case OPCODE.getattr:
        return Buffer.concat([Buffer.alloc(16), attributes(file)]);
      case OPCODE.open:
      case OPCODE.opendir:
        return opened();
      case OPCODE.read: {
        const from = Number(body.readBigUInt64LE(8));
        return file?.bytes.subarray(from, from + body.readUInt32LE(16)) ?? ENOENT;
      }
      case OPCODE.readdir:
        return body.readBigUInt64LE(8) === 0n ? this.#list() : Buffer.alloc(0);
      case OPCODE.release:
      case OPCODE.releasedir:
      case OPCODE.flush:
        return 0;
    }
    return ENOSYS;
  }

  #list(): Buffer {
    const entries = [...this.#files.values()].map(({ node, name }, index) => {
      const bytes = Buffer.from(name);
      const row = Buffer.alloc(24 + Math.ceil(bytes.length / 8) * 8);
      row.writeBigUInt64LE(BigInt(node), 0);
      row.writeBigUInt64LE(BigInt(index + 1), 8);
      row.writeUInt32LE(bytes.length, 16);
      bytes.copy(row, 24);
      return row;
    });
    return Buffer.concat(entries);
  }
}

/** version 7.31, and no feature */
function started(): Buffer {
  const said = Buffer.alloc(64);
  said.writeUInt32LE(7, 0);
  said.writeUInt32LE(31, 4);
  said.writeUInt32LE(65_536, 8);
  said.writeUInt32LE(65_536, 20);
  return said;
}

function opened(): Buffer {
  const said = Buffer.alloc(16);
  said.writeUInt32LE(DIRECT, 8);
  return said;
}

/** valid for no time */
function entry(file: SlowFile): Buffer {
  const said = Buffer.alloc(40);
  said.writeBigUInt64LE(BigInt(file.node), 0);
  return Buffer.concat([said, attributes(file)]);
}

/** undefined: of the folder */
function attributes(file: SlowFile | undefined): Buffer {
  const said = Buffer.alloc(ATTRIBUTES);
  said.writeBigUInt64LE(BigInt(file?.node ?? ROOT), 0);
  said.writeBigUInt64LE(BigInt(file?.bytes.length ?? 0), 8);
  for (const at of [24, 32, 40]) said.writeBigUInt64LE(BigInt(file?.changedSeconds ?? 1), at);
  said.writeUInt32LE(file === undefined ? FOLDER_MODE : FILE_MODE, 60);
  said.writeUInt32LE(1, 64);
  return said;
}
