/**
 * TCP-MD5 keys from the files that the documents name. Read again and again, so that a file that comes late or changes is
 * noticed; the key is only ever in memory. A file that cannot be read is one peer's trouble.
 */

import { errorCode } from '../error-code.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { readPasswordText } from './password-text.ts';
import type { PasswordFact } from './view.ts';

export class PasswordFiles {
  readonly #read: (path: string) => string;
  #facts: ReadonlyMap<string, PasswordFact> = new Map();

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
    for (const { name, password } of peers) {
      if (password?.kind === 'file') facts.set(name, this.#look(name, password.path));
    }
    const before = JSON.stringify([...this.#facts]);
    this.#facts = facts;
    return before !== JSON.stringify([...facts]);
  }

  #look(peer: string, path: string): PasswordFact {
    let text: string;
    try {
      text = this.#read(path);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return missing(peer, path, `cannot be read (${errorCode(error) ?? error.message})`);
    }
    const read = readPasswordText(text);
    if (!read.ok) return missing(peer, path, read.problem);
    return { kind: 'ready', password: read.password };
  }
}

function missing(peer: string, path: string, problem: string): PasswordFact {
  const sentence = `the password file ${path} of BGPPeer ${peer} ${problem}; its session stays down until it can be read`;
  return { kind: 'missing', sentence };
}
