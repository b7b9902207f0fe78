/**
 * TCP-MD5 keys from the files that the documents name. Read again and again, so that a file that comes late or changes is
 * noticed; the key is only ever in memory. A file that cannot be read is one peer's trouble.
 */

import { errorCode } from '../error-code.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import type { PasswordFact } from './view.ts';

/** RFC 2385 leaves the length open; the kernel takes 80 octets */
const MAX_OCTETS = 80;

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
    // an editor's line end is not part of the key
    const password = text.replace(/\r?\n$/, '');
    const octets = new TextEncoder().encode(password).length;
    if (octets === 0) return missing(peer, path, 'is empty');
    if (octets > MAX_OCTETS)
      return missing(peer, path, `holds ${octets} octets, at most ${MAX_OCTETS} are possible`);
    return { kind: 'ready', password };
  }
}

function missing(peer: string, path: string, problem: string): PasswordFact {
  const sentence = `the password file ${path} of BGPPeer ${peer} ${problem}; its session stays down until it can be read`;
  return { kind: 'missing', sentence };
}
