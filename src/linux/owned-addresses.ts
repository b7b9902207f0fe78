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
import { type Address, formatAddress } from 'bgp-ts';
import { errorCode } from '../error-code.ts';
import { NetlinkError } from './netlink-calls.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

const lineOf = (address: Address, interfaceName: string) =>
  `${formatAddress(address)} ${interfaceName}`;

export class OwnedAddresses {
  readonly #file: string;
  readonly #owned: Set<string>;

  /** Reads what is there; throws where the folder cannot be written. */
  constructor(file: string, bootId = readFileSync(BOOT_ID, 'utf8').trim()) {
    this.#file = file;
    this.#owned = parseOwned(readIfThere(file), bootId);
    const lines = [`boot ${bootId}`, ...[...this.#owned].map((line) => `+ ${line}`)];
    writeFileSync(`${file}.new`, `${lines.join('\n')}\n`, { mode: 0o600 });
    renameSync(`${file}.new`, file);
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
    try {
      appendFileSync(this.#file, text);
    } catch (cause) {
      if (!(cause instanceof Error && 'code' in cause && typeof cause.code === 'string'))
        throw cause;
      throw new NetlinkError(cause.code, `cannot write ${this.#file}: ${cause.code}`, { cause });
    }
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

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}
