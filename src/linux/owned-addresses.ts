/**
 * Which addresses are ours, in a file: for kernels before 5.18, where an IPv6 address can carry no mark. Each is written before it
 * is added, so a crash in between leaves a line too many and never an address that nobody owns.
 *
 * The disk is never waited for: `intend` says whether the line is there, and `onChange` that it has come. Whoever wants the address asks
 * again then, and does not add it before. What came meanwhile is written together, one write at a time.
 *
 * A list of additions and removals that only grows while the process runs, since thousands of claims come at once; it is rewritten
 * when it is opened. It counts for one boot: after the next one the addresses are gone, and whoever has them then is somebody else.
 *
 *   boot 5b0d…
 *   + 2001:db8::7 lo
 *   - 2001:db8::7 lo
 */

import { readFileSync } from 'node:fs';
import { appendFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Address, formatAddress } from 'bgp-ts';
import { errorCode } from '../error-code.ts';
import { makeFolderLater } from './make-folder.ts';
import { NetlinkError } from './netlink-calls.ts';
import { readRegularFile } from './read-regular-file.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';

const lineOf = (address: Address, interfaceName: string) =>
  `${formatAddress(address)} ${interfaceName}`;

/** a line per address that was ever bound in this boot */
const MAX_BYTES = 64 * 1024 * 1024;

type Sign = '+' | '-';
type Lines = ReadonlyMap<string, Sign>;

export interface OwnedAddressesOptions {
  readonly bootId?: string;
  /** the file has more of what was intended, or `trouble` is another; never within a call */
  readonly onChange?: () => void;
}

export class OwnedAddresses {
  readonly #file: string;
  readonly #bootId: string;
  readonly #onChange: () => void;
  /** on an interface, and by us */
  readonly #owned: Set<string>;
  /** what the file is to have: those, and what is to be added */
  readonly #intended: Set<string>;
  /** what it has */
  readonly #written: Set<string>;
  /** how often a line has come to it */
  #arrivals = 0;
  /** not given to the disk yet */
  #changes = new Map<string, Sign>();
  /** it has this boot's line and ends with a whole one; else it is written anew */
  #isSound = false;
  #isWriting = false;
  #trouble: string | undefined;

  /** Reads what is there, at once: before the sessions begin. */
  constructor(file: string, options: OwnedAddressesOptions = {}) {
    this.#file = file;
    this.#bootId = options.bootId ?? readFileSync(BOOT_ID, 'utf8').trim();
    this.#onChange = options.onChange ?? (() => undefined);
    const text = readIfThere(file);
    const lines = parseOwned(text.ok ? text.text : '', this.#bootId);
    [this.#owned, this.#intended, this.#written] = [new Set(lines), new Set(lines), new Set(lines)];
    if (text.ok) {
      this.#write();
      return;
    }
    this.#trouble = text.code;
    queueMicrotask(() => this.#onChange());
  }

  /** the code of what keeps the file from being written; undefined: nothing does */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  has(address: Address, interfaceName: string): boolean {
    return this.#owned.has(lineOf(address, interfaceName));
  }

  /**
   * True: the file has it, so it may be added. False: it is being written. A full disk is one more reason why an address cannot be added,
   * and no reason to die: throws a NetlinkError, and tries again.
   */
  intend(address: Address, interfaceName: string): boolean {
    const line = lineOf(address, interfaceName);
    if (this.#written.has(line)) return true;
    if (!this.#intended.has(line)) {
      this.#intended.add(line);
      this.#changes.set(line, '+');
    }
    this.#write();
    if (this.#trouble === undefined) return false;
    throw new NetlinkError(this.#trouble, `cannot write ${this.#file}: ${this.#trouble}`);
  }

  /** After `intend` said so: it is on the interface. */
  add(address: Address, interfaceName: string): void {
    this.#owned.add(lineOf(address, interfaceName));
  }

  remove(address: Address, interfaceName: string): void {
    const line = lineOf(address, interfaceName);
    this.#owned.delete(line);
    this.#written.delete(line);
    if (!this.#intended.delete(line)) return;
    this.#changes.set(line, '-');
    this.#write();
  }

  #write(): void {
    if (this.#isWriting) return;
    this.#isWriting = true;
    void this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    // what else this turn brings goes with it
    await undefined;
    const before = { arrivals: this.#arrivals, trouble: this.#trouble };
    while (!this.#isSound || this.#changes.size > 0) if (!(await this.#writeOnce())) break;
    this.#isWriting = false;
    // not for each failure: whoever is told asks again, which is one more attempt
    if (this.#arrivals !== before.arrivals || this.#trouble !== before.trouble) this.#onChange();
  }

  /** false: it failed, and is tried again when somebody asks */
  async #writeOnce(): Promise<boolean> {
    const changes = this.#isSound ? this.#changes : signed(this.#intended);
    this.#changes = new Map();
    try {
      if (this.#isSound) await appendFile(this.#file, textOf(changes));
      else await this.#rewrite(changes);
    } catch (error) {
      this.#isSound = false;
      this.#trouble = codeOf(error);
      return false;
    }
    this.#isSound = true;
    this.#trouble = undefined;
    for (const [line, sign] of changes) {
      // one that was removed meanwhile is about to leave the file
      if (sign === '-' || this.#changes.has(line) || this.#written.has(line)) continue;
      this.#written.add(line);
      this.#arrivals += 1;
    }
    return true;
  }

  async #rewrite(lines: Lines): Promise<void> {
    await makeFolderLater(dirname(this.#file));
    const text = `boot ${this.#bootId}\n${textOf(lines)}`;
    await writeFile(`${this.#file}.new`, text, { mode: 0o600 });
    await rename(`${this.#file}.new`, this.#file);
  }
}

const signed = (lines: Iterable<string>): Lines => new Map([...lines].map((line) => [line, '+']));

const textOf = (lines: Lines) => [...lines].map(([line, sign]) => `${sign} ${line}\n`).join('');

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
