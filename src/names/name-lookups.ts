/**
 * Names to addresses, for all that an agent asks by name: checks, kube-proxy, the API. In the place of getaddrinfo, which has two of Node's
 * threads for the whole process and holds each for as long as DNS does not answer: two such names would stop all others.
 *
 *   `localhost` and what is below it are the loopbacks, and nobody is asked (RFC 6761 §6.3);
 *   /etc/hosts comes first, then DNS with the search list of /etc/resolv.conf, by sockets and without a thread;
 *   what neither knows is asked of getaddrinfo, one name at a time, for names that only a module of nsswitch.conf knows;
 *   a name is asked about once at a time, whoever waits for it, and no longer than a bound;
 *   an answer is used for some seconds, and for a minute while the name is asked about again: DNS that is late, or away for a moment,
 *   closes no check whose name was known.
 *
 * A name that does not answer costs its own askers their time and nobody else anything.
 */

import { lookup as askSystem } from 'node:dns';
import { Resolver } from 'node:dns/promises';
import type { LookupFunction } from 'node:net';
import { errorCode } from '../error-code.ts';
import { candidates, type NameAddress } from './resolv-conf.ts';
import { type NameFiles, SystemNameFiles } from './system-name-files.ts';

type NameAnswer =
  | { readonly kind: 'found'; readonly addresses: readonly NameAddress[] }
  /** there is no such name, or it has no address */
  | { readonly kind: 'unknown' }
  /** `isLate`: nobody answered; else somebody answered that it cannot say */
  | { readonly kind: 'silent'; readonly isLate: boolean };

type Waiting = (answer: NameAnswer) => void;

interface Known {
  readonly answer: NameAnswer;
  readonly atMs: number;
  /** when it was last asked for */
  usedMs: number;
}

export interface NameLookupsOptions {
  /** of DNS, in the place of those of /etc/resolv.conf */
  readonly servers?: readonly string[];
  readonly files?: NameFiles;
  /** milliseconds of a clock that never goes back */
  readonly now?: () => number;
}

const FRESH_MS = 5000;
const LONGEST_MS = 60_000;
/** of one question to one server; each server is asked twice, the second time with twice the patience */
const SERVER_MS = 1000;
const SERVER_TRIES = 2;
/** of a look-up, with all servers and all domains */
const LOOKUP_MS = 10_000;
const LATE: NameAnswer = { kind: 'silent', isLate: true };
const UNKNOWN: NameAnswer = { kind: 'unknown' };
/** DNS has answered, and the answer is no */
const NO = ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ENONAME'];
const LOOPBACKS: NameAnswer = {
  kind: 'found',
  addresses: [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ],
};

export class NameLookups {
  readonly #servers: readonly string[] | undefined;
  readonly #files: NameFiles;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  readonly #underWay = new Map<string, Waiting[]>();
  #resolver: { readonly of: string; readonly resolver: Resolver } | undefined;
  /** the question to getaddrinfo that is out */
  #system: Promise<unknown> = Promise.resolve();

  constructor({ servers, files, now }: NameLookupsOptions = {}) {
    this.#servers = servers;
    this.#files = files ?? new SystemNameFiles();
    this.#now = now ?? (() => performance.now());
  }

  /** how many names are remembered */
  get size(): number {
    return this.#known.size;
  }

  /** As `dns.lookup`, for the `lookup` of sockets. */
  readonly lookup: LookupFunction = (name, { family, all }, callback) => {
    this.#ask(name.toLowerCase(), (answer) => {
      const wanted = answer.kind === 'found' ? ofFamily(answer.addresses, family) : [];
      const [first] = wanted;
      if (first === undefined) return callback(failure(name, answer), '', 0);
      if (all === true) return callback(null, [...wanted]);
      return callback(null, first.address, first.family);
    });
  };

  /** Gives up what DNS has been asked; who waits gets an error. */
  close(): void {
    this.#resolver?.resolver.cancel();
    this.#resolver = undefined;
  }

  #ask(name: string, waiting: Waiting): void {
    if (isLoopback(name)) {
      queueMicrotask(() => waiting(LOOPBACKS));
      return;
    }
    const nowMs = this.#now();
    const known = this.#known.get(name);
    const ageMs = known === undefined ? Number.POSITIVE_INFINITY : nowMs - known.atMs;
    if (known !== undefined) known.usedMs = nowMs;
    if (ageMs >= FRESH_MS) this.#refresh(name);
    const isUsable = ageMs < (known?.answer.kind === 'found' ? LONGEST_MS : FRESH_MS);
    if (known !== undefined && isUsable) queueMicrotask(() => waiting(known.answer));
    else this.#underWay.get(name)?.push(waiting);
  }

  #refresh(name: string): void {
    if (this.#underWay.has(name)) return;
    this.#underWay.set(name, []);
    void this.#bounded(name).then((answer) => {
      const waiting = this.#underWay.get(name) ?? [];
      this.#underWay.delete(name);
      this.#learn(name, answer);
      for (const each of waiting) each(answer);
    });
  }

  #learn(name: string, answer: NameAnswer): void {
    const nowMs = this.#now();
    for (const [each, { usedMs }] of this.#known) {
      if (nowMs - usedMs >= LONGEST_MS) this.#known.delete(each);
    }
    // silence says nothing: what was known is used until it is too old
    if (answer.kind !== 'silent') this.#known.set(name, { answer, atMs: nowMs, usedMs: nowMs });
  }

  async #bounded(name: string): Promise<NameAnswer> {
    const ending = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<NameAnswer>((settle) => {
      timer = setTimeout(() => {
        ending.abort();
        settle(LATE);
      }, LOOKUP_MS);
      // sockets and their owners have timers of their own
      timer.unref();
    });
    const answer = await Promise.race([this.#find(name, ending.signal), late]);
    clearTimeout(timer);
    return answer;
  }

  async #find(name: string, signal: AbortSignal): Promise<NameAnswer> {
    const { hosts, search, text } = this.#files.read();
    const own = hosts.get(name.replace(/\.$/, ''));
    if (own !== undefined) return { kind: 'found', addresses: own };
    const resolver = this.#resolverOf(text);
    let last: NameAnswer = UNKNOWN;
    for (const candidate of candidates(name, search)) {
      const answer = await askDns(resolver, candidate);
      if (answer.kind === 'found' || (answer.kind === 'silent' && answer.isLate)) return answer;
      // a server that does not serve one domain of the list may know the name in another
      if (answer.kind === 'silent') last = answer;
    }
    return last.kind === 'unknown' ? await this.#askSystem(name, signal) : last;
  }

  /** one of its own for each version of resolv.conf, which is read when it is made */
  #resolverOf(text: string): Resolver {
    if (this.#resolver?.of !== text) {
      const resolver = new Resolver({ timeout: SERVER_MS, tries: SERVER_TRIES });
      if (this.#servers !== undefined) resolver.setServers(this.#servers);
      this.#resolver = { of: text, resolver };
    }
    return this.#resolver.resolver;
  }

  /** getaddrinfo cannot be given up: so that it never holds more than one thread, a name waits for the one before */
  async #askSystem(name: string, signal: AbortSignal): Promise<NameAnswer> {
    const before = this.#system;
    const { promise, resolve } = Promise.withResolvers<NameAnswer>();
    this.#system = promise;
    await before;
    if (signal.aborted) resolve(LATE);
    else askSystem(name, { all: true }, (error, found) => resolve(systemAnswer(error, found)));
    return await promise;
  }
}

async function askDns(resolver: Resolver, name: string): Promise<NameAnswer> {
  const answers = await Promise.all([
    resolver.resolve6(name).then((found) => foundOf(found, 6), refused),
    resolver.resolve4(name).then((found) => foundOf(found, 4), refused),
  ]);
  const addresses = answers.flatMap((each) => (each.kind === 'found' ? each.addresses : []));
  if (addresses.length > 0) return { kind: 'found', addresses };
  return answers.find(({ kind }) => kind === 'silent') ?? UNKNOWN;
}

function foundOf(found: readonly string[], family: 4 | 6): NameAnswer {
  return { kind: 'found', addresses: found.map((address) => ({ address, family })) };
}

function refused(error: unknown): NameAnswer {
  const code = errorCode(error);
  if (code === undefined) throw error;
  if (NO.includes(code)) return UNKNOWN;
  return { kind: 'silent', isLate: code !== 'ESERVFAIL' && code !== 'EREFUSED' };
}

function systemAnswer(
  error: Error | null,
  found: readonly { readonly address: string; readonly family: number }[] | undefined,
): NameAnswer {
  if (error === null) {
    const addresses = (found ?? []).map(({ address, family }) => {
      return { address, family: family === 6 ? 6 : 4 } as const;
    });
    return { kind: 'found', addresses };
  }
  return errorCode(error) === 'ENOTFOUND' ? UNKNOWN : LATE;
}

function ofFamily(
  addresses: readonly NameAddress[],
  family: number | 'IPv4' | 'IPv6' | undefined,
): readonly NameAddress[] {
  const wanted = family === 'IPv4' ? 4 : family === 'IPv6' ? 6 : (family ?? 0);
  return wanted === 0 ? addresses : addresses.filter((each) => each.family === wanted);
}

function isLoopback(name: string): boolean {
  return /(^|\.)localhost\.?$/.test(name);
}

/** with the codes of getaddrinfo, which all readers of errors know */
function failure(name: string, answer: NameAnswer): NodeJS.ErrnoException {
  const code = answer.kind === 'silent' ? 'EAI_AGAIN' : 'ENOTFOUND';
  const says = answer.kind === 'silent' ? 'DNS does not answer' : 'DNS does not know the name';
  return Object.assign(new Error(`${name}: ${says}`), { code });
}

/** Those of this process. */
export const nameLookups = new NameLookups();
