/** /etc/hosts and /etc/resolv.conf of this machine, read again when they have changed. They are its own and small; libc reads them at each question. */

import { readFileSync, statSync } from 'node:fs';
import { errorCode } from '../error-code.ts';
import { type Hosts, parseHosts, parseSearch, type SearchRules } from './resolv-conf.ts';

export interface NameFiles {
  read(): NameFacts;
}

export interface NameFacts {
  readonly hosts: Hosts;
  readonly search: SearchRules;
  /** of resolv.conf, to see whether it is another */
  readonly text: string;
}

/** of a file of so many names one has more to fear than a name that is not found */
const MAX_BYTES = 4 * 1024 * 1024;
/** how old the look at a file may be */
const LOOK_MS = 1000;
/** is the mark of no file */
const UNREAD = 'unread';

export class SystemNameFiles implements NameFiles {
  readonly #hosts: KnownFile<Hosts>;
  readonly #search: KnownFile<{ readonly search: SearchRules; readonly text: string }>;
  #facts: NameFacts | undefined;
  #lookedMs = 0;

  constructor(hosts = '/etc/hosts', resolvConf = '/etc/resolv.conf') {
    this.#hosts = new KnownFile(hosts, parseHosts);
    this.#search = new KnownFile(resolvConf, (text) => ({ search: parseSearch(text), text }));
  }

  read(): NameFacts {
    const nowMs = performance.now();
    if (this.#facts === undefined || nowMs - this.#lookedMs >= LOOK_MS) {
      this.#facts = { hosts: this.#hosts.read(), ...this.#search.read() };
      this.#lookedMs = nowMs;
    }
    return this.#facts;
  }
}

class KnownFile<Value> {
  readonly #path: string;
  readonly #parse: (text: string) => Value;
  #known: { readonly mark: string; readonly value: Value } | undefined;

  constructor(path: string, parse: (text: string) => Value) {
    this.#path = path;
    this.#parse = parse;
  }

  /** of a file that is not there or not fit: what an empty one says; of one that cannot be read now: what it said last */
  read(): Value {
    try {
      return this.#look();
    } catch (error) {
      // no right to it, no descriptor left, a loop of links: a name is not worth ending for
      if (errorCode(error) === undefined) throw error;
      this.#known ??= { mark: UNREAD, value: this.#parse('') };
      return this.#known.value;
    }
  }

  #look(): Value {
    const stat = statSync(this.#path, { bigint: true, throwIfNoEntry: false });
    const isFit = stat?.isFile() === true && stat.size <= MAX_BYTES;
    const mark = isFit ? [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(' ') : '';
    if (this.#known?.mark !== mark) {
      const value = this.#parse(isFit ? readFileSync(this.#path, 'utf8') : '');
      this.#known = { mark, value };
    }
    return this.#known.value;
  }
}
