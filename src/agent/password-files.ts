/**
 * TCP-MD5 keys from the files that the documents name. Read again and again, so that a file that comes late or changes is
 * noticed; the key is only ever in memory. A file that cannot be read is one peer's trouble.
 *
 * Not knowing changes nothing that is known: a key that was read holds until the file is gone or says something else. A moment without
 * descriptors, or between the two halves of a writer that empties the file first, must not end a session. What another file held is not
 * known of this one: a session that moves from one to the other keeps its key elsewhere (peer-settings.ts).
 */

import { errorCode } from '../error-code.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { readPasswordText } from './password-text.ts';
import type { PasswordFact } from './view.ts';

export class PasswordFiles {
  readonly #read: (path: string) => string;
  #facts: ReadonlyMap<string, PasswordFact> = new Map();
  /** by path: what it held when it was last read */
  #keys: ReadonlyMap<string, PasswordFact> = new Map();

  /** `read` gives the text of a file, or throws what the file system says */
  constructor(read: (path: string) => string) {
    this.#read = read;
  }

  /** by peer name */
  get facts(): ReadonlyMap<string, PasswordFact> {
    return this.#facts;
  }

  /** true when something has changed */
  refresh(peers: readonly BgpPeer[]): boolean {
    const facts = new Map<string, PasswordFact>();
    const keys = new Map<string, PasswordFact>();
    for (const { name, password } of peers) {
      if (password?.kind !== 'file') continue;
      const fact = this.#look(name, password.path);
      facts.set(name, fact);
      if (fact.kind === 'ready') keys.set(password.path, fact);
    }
    const before = JSON.stringify([...this.#facts]);
    this.#facts = facts;
    this.#keys = keys;
    return before !== JSON.stringify([...facts]);
  }

  #look(peer: string, path: string): PasswordFact {
    let text: string;
    try {
      text = this.#read(path);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      const code = errorCode(error);
      const problem = `${subject(peer, path)} ${unread(code, error.message)}`;
      if (isGone(code)) return missing(problem);
      return this.#keys.get(path) ?? { kind: 'unknown', problem };
    }
    const read = readPasswordText(text);
    if (read.ok) return { kind: 'ready', password: read.password };
    const fact = missing(`${subject(peer, path)} ${read.problem}`);
    return text.trim() === '' ? (this.#keys.get(path) ?? fact) : fact;
  }
}

function unread(code: string | undefined, message: string): string {
  return code === 'EAGAIN' ? 'has not been read yet' : `cannot be read (${code ?? message})`;
}

/** There is no such file, or, without a code of the system, it was looked at and is none. */
function isGone(code: string | undefined): boolean {
  return code === undefined || code === 'ENOENT' || code === 'ENOTDIR';
}

function subject(peer: string, path: string): string {
  return `the password file ${path} of BGPPeer ${peer}`;
}

function missing(problem: string): PasswordFact {
  return { kind: 'missing', sentence: `${problem}; its session stays down until it can be read` };
}
