/**
 * What is in force, from what was in force and what a reading found. Pure. Here is decided what a fault may take away: nothing.
 *
 * - A document that is refused stays in its last good form, found by kind and name.
 * - While a file has a document whose kind and name cannot be read (or the file cannot be read at all), nothing of that file is
 *   removed: a file that is half written looks like that.
 * - A directory that cannot be read removes nothing.
 * - A document that is gone from a file that can be read is gone.
 *
 * After a start, what was in force is what the saved View has of pools and peers; claims are kept by the agent itself (carriedOver).
 */

import type { BgpPeer } from '../../model/bgp-peer.ts';
import {
  type Candidate,
  type Conflict,
  checkPeers,
  checkPools,
} from '../../model/check-documents.ts';
import type { DocumentFault, Documents, Sourced } from '../../model/documents.ts';
import type { IpClaim } from '../../model/ip-claim.ts';
import type { IpPool } from '../../model/ip-pool.ts';
import type { DirectoryReading, LocatedDocument } from './directory-reader.ts';
import type { BadDocument, GoodDocument, HeraldObject } from './read-document.ts';

/** One object in force, and where it stands. */
export interface LedgerEntry {
  readonly content: HeraldObject;
  readonly file: string;
  readonly line: number;
  readonly createdMs: number;
}

/** by `Kind/name` */
export type Ledger = ReadonlyMap<string, LedgerEntry>;

export interface LedgerInput {
  readonly before: Ledger;
  readonly reading: DirectoryReading;
  readonly directory: string;
  readonly wallTimeMs: number;
  /** when objects of an earlier run were first seen, by `Kind/name` */
  readonly firstSeen: ReadonlyMap<string, number>;
}

export interface LedgerResult {
  readonly ledger: Ledger;
  readonly faults: readonly DocumentFault[];
  /** the directory itself could not be read */
  readonly isUnread?: boolean;
}

/** What was in force when an earlier process ended. */
export type LastGood = Pick<Documents, 'peers' | 'pools'>;

export function ledgerOf({ peers, pools }: LastGood): Ledger {
  const entries = new Map<string, LedgerEntry>();
  const put = (content: HeraldObject, { origin, createdMs }: Sourced<unknown>) => {
    const [, file = origin, line = '1'] = /^(.*):(\d+)$/.exec(origin) ?? [];
    const subject = `${content.kind}/${content.object.name}`;
    entries.set(subject, { content, file, line: Number(line), createdMs });
  };
  for (const each of peers) put({ kind: 'BGPPeer', object: each.object }, each);
  for (const each of pools) put({ kind: 'IPPool', object: each.object }, each);
  return entries;
}

export function updateLedger(input: LedgerInput): LedgerResult {
  const { before, reading, directory } = input;
  if (!reading.ok) {
    const { sentence } = reading;
    return {
      ledger: before,
      faults: [{ file: directory, sentence, keepsLastGood: before.size > 0 }],
      isUnread: true,
    };
  }
  const merge = new Merge(input);
  for (const file of reading.files) {
    if (file.ok) for (const each of file.documents) merge.take(file.name, each);
    else merge.unreadable(file.name, file.sentence);
  }
  merge.keepLastGood();
  merge.resolveConflicts();
  return merge.result();
}

/** What says what it said before stands, although it was read anew: its file was written again, or the process is another one. */
function recognized(before: Ledger, entries: Ledger): Ledger {
  const same = new Map<string, LedgerEntry>();
  for (const [subject, { content }] of entries) {
    const last = before.get(subject);
    if (content.kind === 'IPClaim' || last === undefined) continue;
    if (last.content.object === content.object) continue;
    if (isAlike(last.content.object, content.object)) same.set(subject, { ...last, content });
  }
  return same.size === 0 ? before : new Map([...before, ...same]);
}

/** plain data, built in one order of fields */
function isAlike(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The steps of one update; lives no longer than it. */
class Merge {
  readonly #input: LedgerInput;
  #before: Ledger;
  readonly #entries = new Map<string, LedgerEntry>();
  readonly #refused: { readonly file: string; readonly bad: BadDocument; readonly line: number }[] =
    [];
  readonly #unreadable: { readonly file: string; readonly sentence: string }[] = [];
  readonly #faults: DocumentFault[] = [];

  constructor(input: LedgerInput) {
    this.#input = input;
    this.#before = input.before;
  }

  take(file: string, { result, line }: LocatedDocument): void {
    if (!result.ok) {
      this.#refused.push({ file, bad: result, line });
      return;
    }
    const { subject } = result;
    const other = this.#entries.get(subject);
    if (other === undefined) {
      this.#entries.set(subject, this.#entry(file, line, result));
      return;
    }
    const sentence = `it stands in ${other.file}:${other.line} already; remove one of the two`;
    this.#faults.push({ ...this.#at(file, line), subject, sentence, keepsLastGood: false });
  }

  unreadable(file: string, sentence: string): void {
    this.#unreadable.push({ file, sentence });
  }

  keepLastGood(): void {
    const kept = this.#keepByFile();
    for (const { file, bad, line } of this.#refused) {
      const { subject, sentence } = bad;
      const keepsLastGood = subject === undefined ? kept.has(file) : this.#keep(subject);
      const about = subject === undefined ? {} : { subject };
      this.#faults.push({ ...this.#at(file, line), ...about, sentence, keepsLastGood });
    }
    for (const { file, sentence } of this.#unreadable) {
      this.#faults.push({ file: this.#path(file), sentence, keepsLastGood: kept.has(file) });
    }
  }

  /** The files with something nobody can tell the name of keep what they had; those that had something. */
  #keepByFile(): ReadonlySet<string> {
    const unclear = new Set(this.#unreadable.map(({ file }) => file));
    for (const { file, bad } of this.#refused) if (bad.subject === undefined) unclear.add(file);
    const kept = new Set<string>();
    if (unclear.size === 0) return kept;
    for (const [subject, { file }] of this.#before) {
      if (!unclear.has(file) || this.#entries.has(subject)) continue;
      this.#keep(subject);
      kept.add(file);
    }
    return kept;
  }

  /** Whether there is a last good form of it, which is now in force. */
  #keep(subject: string): boolean {
    const last = this.#before.get(subject);
    if (last === undefined) return false;
    // a good document of that name elsewhere counts more
    if (!this.#entries.has(subject)) this.#entries.set(subject, last);
    return this.#entries.get(subject) === last;
  }

  /** Objects that cannot stand beside others go back to their last good form, or out. Each round takes back one form at least. */
  resolveConflicts(): void {
    // who stands is looked into only where that decides something: it takes a look at every word
    if (this.#conflicts().length === 0) return;
    this.#before = recognized(this.#before, this.#entries);
    for (let isSettled = false; !isSettled; ) {
      isSettled = true;
      for (const { object, sentence, kind } of this.#conflicts()) {
        const subject = `${kind}/${object.name}`;
        const entry = this.#entries.get(subject);
        if (entry === undefined) continue;
        const last = this.#before.get(subject);
        const keepsLastGood = last !== undefined && last.content.object !== entry.content.object;
        if (keepsLastGood) this.#entries.set(subject, last);
        else this.#entries.delete(subject);
        isSettled = false;
        const place = this.#at(entry.file, entry.line);
        this.#faults.push({ ...place, subject, sentence, keepsLastGood });
      }
    }
  }

  #conflicts(): (Conflict<{ readonly name: string }> & { readonly kind: string })[] {
    const pools: Candidate<Extract<HeraldObject, { kind: 'IPPool' }>['object']>[] = [];
    const peers: Candidate<Extract<HeraldObject, { kind: 'BGPPeer' }>['object']>[] = [];
    for (const [subject, { content, createdMs }] of this.#entries) {
      if (content.kind === 'IPClaim') continue;
      const isStanding = this.#before.get(subject)?.content.object === content.object;
      if (content.kind === 'IPPool') pools.push({ object: content.object, createdMs, isStanding });
      else peers.push({ object: content.object, createdMs, isStanding });
    }
    return [
      ...checkPools(pools).map((conflict) => ({ ...conflict, kind: 'IPPool' })),
      ...checkPeers(peers).map((conflict) => ({ ...conflict, kind: 'BGPPeer' })),
    ];
  }

  result(): LedgerResult {
    return { ledger: this.#entries, faults: this.#faults };
  }

  /** The same entry as before where nothing has changed, so that who compares need not look inside. */
  #entry(file: string, line: number, { subject, content }: GoodDocument): LedgerEntry {
    const last = this.#before.get(subject);
    const isSame =
      last?.content.object === content.object && last.file === file && last.line === line;
    if (isSame) return last;
    const { firstSeen, wallTimeMs } = this.#input;
    const createdMs = last?.createdMs ?? firstSeen.get(subject) ?? wallTimeMs;
    return { content, file, line, createdMs };
  }

  #at(file: string, line: number): { readonly file: string; readonly line: number } {
    return { file: this.#path(file), line };
  }

  #path(file: string): string {
    return `${this.#input.directory.replace(/\/+$/, '')}/${file}`;
  }
}

/** True when nobody could tell the two apart. */
export function isSameResult(a: LedgerResult, b: LedgerResult): boolean {
  return (
    a.ledger.size === b.ledger.size &&
    (a.faults === b.faults || areSameFaults(a.faults, b.faults)) &&
    [...a.ledger].every(([subject, entry]) => b.ledger.get(subject) === entry)
  );
}

/** megabytes of bad documents are tens of thousands of faults: field by field, not as text */
function areSameFaults(a: readonly DocumentFault[], b: readonly DocumentFault[]): boolean {
  return a.length === b.length && a.every((fault, index) => isSameFault(fault, b[index]));
}

function isSameFault(a: DocumentFault, b: DocumentFault | undefined): boolean {
  return (
    a.file === b?.file &&
    a.line === b.line &&
    a.subject === b.subject &&
    a.sentence === b.sentence &&
    a.keepsLastGood === b.keepsLastGood
  );
}

/** The faults as the same list where nobody could tell them apart: who has told them need not look again. */
export function withKnownFaults(
  result: LedgerResult,
  before: LedgerResult | undefined,
): LedgerResult {
  if (before === undefined || !areSameFaults(before.faults, result.faults)) return result;
  return { ...result, faults: before.faults };
}

export function documentsOf({ ledger, faults, isUnread }: LedgerResult): Documents {
  const peers: Documents['peers'][number][] = [];
  const pools: Documents['pools'][number][] = [];
  const claims: Documents['claims'][number][] = [];
  for (const entry of ledger.values()) {
    const { content } = entry;
    if (content.kind === 'IPClaim') claims.push(sourced(sourcedClaims, content.object, entry));
    else if (content.kind === 'IPPool') pools.push(sourced(sourcedPools, content.object, entry));
    else peers.push(sourced(sourcedPeers, content.object, entry));
  }
  return { peers, pools, claims, faults, ...(isUnread === true ? { isUnread } : {}) };
}

/** An entry that has not changed is the same object after each reading: what was decided on it counts again. */
const sourcedPeers = new WeakMap<LedgerEntry, Sourced<BgpPeer>>();
const sourcedPools = new WeakMap<LedgerEntry, Sourced<IpPool>>();
const sourcedClaims = new WeakMap<LedgerEntry, Sourced<IpClaim>>();

function sourced<T>(
  known: WeakMap<LedgerEntry, Sourced<T>>,
  object: T,
  entry: LedgerEntry,
): Sourced<T> {
  const before = known.get(entry);
  if (before !== undefined) return before;
  const { file, line, createdMs } = entry;
  const made = { object, origin: `${file}:${line}`, createdMs };
  known.set(entry, made);
  return made;
}
