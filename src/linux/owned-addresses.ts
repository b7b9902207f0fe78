/**
 * Which addresses are ours, in a file: for kernels before 5.18, where an IPv6 address can carry no mark. Each is written before it
 * is added, so a crash in between leaves a line too many and never an address that nobody owns.
 *
 * A list of additions and removals that only grows while the process runs, since thousands of claims come at once; it is rewritten
 * when it is opened. It counts for one boot: after the next one the addresses are gone, and whoever has them then is somebody else.
 *
 *   boot 5b0d…
 *   + 2001:db8::7 lo
 *   - 2001:db8::7 lo
 */

import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { type Address, formatAddress } from 'bgp-ts';
import { errorCode } from '../error-code.ts';
import { makeFolder } from './make-folder.ts';
import { NetlinkError } from './netlink-calls.ts';
import { readRegularFile } from './read-regular-file.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

const lineOf = (address: Address, interfaceName: string) =>
  `${formatAddress(address)} ${interfaceName}`;

/** a line per address that was ever bound in this boot */
const MAX_BYTES = 64 * 1024 * 1024;

export class OwnedAddresses {
  readonly #file: string;
  readonly #bootId: string;
  readonly #owned: Set<string>;
  /** why there is no file to add to yet */
  #trouble: string | undefined;

  /** Reads what is there. Where that or the writing fails nothing is owned by file until it can be written: `add` tries again. */
  constructor(file: string, bootId = readFileSync(BOOT_ID, 'utf8').trim()) {
    this.#file = file;
    this.#bootId = bootId;
    const text = readIfThere(file);
    this.#owned = parseOwned(text.ok ? text.text : '', bootId);
    this.#trouble = text.ok ? this.#rewrite() : text.code;
  }

  /** the code of what keeps the file from being written; undefined: nothing does */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  #rewrite(): string | undefined {
    const lines = [`boot ${this.#bootId}`, ...[...this.#owned].map((line) => `+ ${line}`)];
    try {
      makeFolder(dirname(this.#file));
      writeFileSync(`${this.#file}.new`, `${lines.join('\n')}\n`, { mode: 0o600 });
      renameSync(`${this.#file}.new`, this.#file);
      return undefined;
    } catch (error) {
      return codeOf(error);
    }
  }

  has(address: Address, interfaceName: string): boolean {
    return this.#owned.has(lineOf(address, interfaceName));
  }

  add(address: Address, interfaceName: string): void {
    const line = lineOf(address, interfaceName);
    if (this.#owned.has(line)) return;
    this.#append(`+ ${line}\n`);
    this.#owned.add(line);
  }

  remove(address: Address, interfaceName: string): void {
    const line = lineOf(address, interfaceName);
    if (!this.#owned.delete(line)) return;
    this.#append(`- ${line}\n`);
  }

  /** A full disk is one more reason why an address cannot be added, and no reason to die. */
  #append(text: string): void {
    // a file that was never written has no line about the boot, without which it counts for nothing
    if (this.#trouble !== undefined) this.#trouble = this.#rewrite();
    if (this.#trouble !== undefined) throw this.#refusal(this.#trouble);
    try {
      appendFileSync(this.#file, text);
    } catch (error) {
      throw this.#refusal(codeOf(error), error);
    }
  }

  #refusal(code: string, cause?: unknown): NetlinkError {
    return new NetlinkError(code, `cannot write ${this.#file}: ${code}`, { cause });
  }
}

/** Lines that make no sense, such as a last one that was cut short, own nothing. */
export function parseOwned(text: string, bootId: string): Set<string> {
  const [first, ...lines] = text.split('\n').slice(0, -1);
  const owned = new Set<string>();
  if (first !== `boot ${bootId}`) return owned;
  for (const line of lines) {
    if (line.startsWith('+ ')) owned.add(line.slice(2));
    else if (line.startsWith('- ')) owned.delete(line.slice(2));
  }
  return owned;
}

type ReadText =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly code: string };

function readIfThere(file: string): ReadText {
  try {
    return { ok: true, text: readRegularFile(file, MAX_BYTES) };
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? { ok: true, text: '' } : { ok: false, code };
  }
}

/** anything without a code of the system is our mistake */
function codeOf(error: unknown): string {
  const code = errorCode(error);
  if (code === undefined) throw error;
  return code;
}
