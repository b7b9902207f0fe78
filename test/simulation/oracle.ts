/**
 * What a node should announce, worked out from the facts of the simulation in the plainest way: for each claim a list of ifs. It
 * shares no code with src/agent, knows no gates and keeps no View; where the two disagree, one of them is wrong.
 *
 * It is told what happened to one process: the answers that its probes got, the Books that it was given, the words of people, the
 * files it read. What the kernel has is read from the kernel.
 */

import type { MemoryHost } from '../../src/linux/memory-address-table.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { type Book, type ClaimPage, isPooled } from './book.ts';
import type { Form } from './far-router.ts';

/** of every check in the simulation */
const SUCCESSES = 2;
const FAILURES = 3;

/** Answers in a row; opens at two passes, closes at three failures. */
export class Streak {
  isOpen: boolean;
  /** it is open because it has passed, and not because it was in service before there was a check */
  isProven = false;
  #passes = 0;
  #failures = 0;

  constructor(isOpen: boolean) {
    this.isOpen = isOpen;
  }

  /** true when it has opened or closed */
  answer(isPass: boolean): boolean {
    const wasOpen = this.isOpen;
    this.#passes = isPass ? this.#passes + 1 : 0;
    this.#failures = isPass ? 0 : this.#failures + 1;
    if (this.#passes >= SUCCESSES) {
      this.isOpen = true;
      this.isProven = true;
    }
    if (this.#failures >= FAILURES) this.isOpen = false;
    return this.isOpen !== wasOpen;
  }
}

interface Leaving {
  readonly page: ClaimPage;
  readonly untilMs: number;
}

interface KernelFacts {
  readonly addresses: MemoryHost['addresses'];
  /** addresses of others outside `lo`: the machine's own */
  readonly own: ReadonlySet<string>;
  /** interface and address */
  readonly places: ReadonlySet<string>;
}

export interface Expected {
  /** by peer and claim: the form in which the peer should have it; what is not in it should not be there */
  readonly forms: ReadonlyMap<string, ReadonlyMap<string, Form>>;
  /** claims whose address should be on its interface */
  readonly bound: ReadonlySet<string>;
}

export interface OracleOptions {
  readonly node: string;
  readonly kernel: MemoryHost;
  readonly now: () => number;
}

export class Oracle {
  readonly #options: OracleOptions;
  readonly join = new Streak(false);
  readonly #health = new Map<string, Streak>();
  readonly #leaving = new Map<string, Leaving>();
  #claims: ReadonlyMap<string, ClaimPage> = new Map();
  #book: Book | undefined;
  #staleUntilMs = Number.POSITIVE_INFINITY;
  /** when the whole node is off the network, by a person's word or by the end of the process */
  nodeDrainEndMs: number | undefined;
  /** a person's word alone, which is what a restart must remember */
  isDrainedByPerson = false;
  readonly claimDrainEndMs = new Map<string, number>();
  hasPassword = false;
  isOver = false;
  #seen: KernelFacts | undefined;

  constructor(options: OracleOptions) {
    this.#options = options;
  }

  get book(): Book | undefined {
    return this.#book;
  }

  get claims(): ReadonlyMap<string, ClaimPage> {
    return this.#claims;
  }

  get waitMs(): number {
    return this.#book?.waitMs ?? 0;
  }

  /** a process that starts with what the last one saved */
  restore(
    saved: { readonly book: Book; readonly claims: ReadonlyMap<string, ClaimPage> },
    untilMs: number,
  ): void {
    this.#book = saved.book;
    this.#claims = saved.claims;
    this.#staleUntilMs = untilMs;
    this.#noteHealth();
  }

  learn(book: Book, claims: ReadonlyMap<string, ClaimPage>): void {
    const now = this.#options.now();
    const before = this.#claims;
    const { waitMs } = this;
    const wasOut = this.#outNow();
    const stayed = new Map(this.#leaving);
    this.#book = book;
    this.#claims = claims;
    this.#staleUntilMs = Number.POSITIVE_INFINITY;
    for (const name of new Set([...before.keys(), ...stayed.keys()])) {
      const page = claims.get(name);
      const old = before.get(name);
      if (page !== undefined && this.#isPlacedHere(page)) this.#leaving.delete(name);
      else if (old !== undefined && wasOut.has(name) && !stayed.has(name)) {
        this.#leaving.set(name, { page: old, untilMs: now + waitMs });
      }
    }
    for (const [name, page] of claims) {
      const had = stayed.get(name)?.page ?? before.get(name);
      if (!page.hasCheck || had?.hasCheck !== false) continue;
      // a check that is new on a claim in service has to fail before it counts
      if (!this.#leaving.has(name)) this.#health.set(name, new Streak(wasOut.has(name)));
    }
    this.#noteHealth();
  }

  /** true when that changes something */
  answered(name: string, isPass: boolean): boolean {
    this.#tick();
    return this.#health.get(name)?.answer(isPass) === true;
  }

  /** what should be out and on interfaces now */
  expected(): Expected {
    this.#tick();
    const names = new Set([...this.#claims.keys(), ...this.#leaving.keys()]);
    const bound = [...names].filter((name) => this.#isBindWanted(name));
    return { forms: this.#tableNow(), bound: new Set(bound) };
  }

  #isBindWanted(name: string): boolean {
    const page = this.#page(name);
    if (page?.bind === undefined || this.isOver || !this.join.isOpen) return false;
    return this.#isMine(page) && this.#isHealthy(page) && this.#drainForm(page) !== 'none';
  }

  isExclusiveElsewhere(name: string): boolean {
    const page = this.#claims.get(name);
    return page?.mode === 'exclusive' && page.node !== this.#options.node;
  }

  #tableNow(
    isBound = (page: ClaimPage) => this.#isBound(page),
  ): ReadonlyMap<string, ReadonlyMap<string, Form>> {
    const table = new Map<string, ReadonlyMap<string, Form>>();
    if (this.isOver || this.#book === undefined) return table;
    const names = new Set([...this.#claims.keys(), ...this.#leaving.keys()]);
    const mine = [...names]
      .flatMap((name) => this.#page(name) ?? [])
      .filter((page) => this.#isMine(page) && this.#drainForm(page) !== 'none')
      .toSorted((a, b) => a.createdMs - b.createdMs);
    for (const { name: peer, maxRoutes } of this.#book.peers.values()) {
      if (peer === 'r2' && !this.hasPassword) continue;
      // the oldest have the places, whether they can be served at present or not
      const out = mine
        .slice(0, maxRoutes)
        .filter((page) => this.join.isOpen && this.#isHealthy(page) && isBound(page));
      table.set(peer, new Map(out.map((page) => [page.name, this.#drainForm(page)])));
    }
    return table;
  }

  #outNow(isBound?: (page: ClaimPage) => boolean): ReadonlySet<string> {
    return new Set([...this.#tableNow(isBound).values()].flatMap((claims) => [...claims.keys()]));
  }

  #page(name: string): ClaimPage | undefined {
    return this.#leaving.get(name)?.page ?? this.#claims.get(name);
  }

  /** what changes by time alone */
  #tick(): void {
    const now = this.#options.now();
    for (const [name, { untilMs }] of this.#leaving) if (now >= untilMs) this.#leaving.delete(name);
    this.#noteHealth();
    const unproven = [...this.#health].filter(
      ([name, { isOpen, isProven }]) => isOpen && !isProven && this.#page(name)?.hasCheck === true,
    );
    if (unproven.length === 0) return;
    // an address that was only taken off by hand is back before anything is decided
    const out = this.#outNow((page) => this.#canBind(page));
    for (const [name, streak] of unproven) if (!out.has(name)) streak.isOpen = false;
  }

  /** by the documents, and because nobody else has the address */
  #isPlacedHere(page: ClaimPage): boolean {
    const book = this.#book;
    if (book === undefined || this.#options.now() >= this.#staleUntilMs) return false;
    if (page.isWithdrawn || !isPooled(page, book) || this.#isOwn(page)) return false;
    return page.mode === 'anycast' || page.node === this.#options.node;
  }

  #isMine(page: ClaimPage): boolean {
    if (this.#leaving.has(page.name)) return !this.#isOwn(page);
    return this.#isPlacedHere(page);
  }

  /** somebody gave it to the machine itself */
  #isOwn(page: ClaimPage): boolean {
    return this.#kernel().own.has(page.name);
  }

  #isHealthy(page: ClaimPage): boolean {
    return !page.hasCheck || this.#health.get(page.name)?.isOpen === true;
  }

  #isBound(page: ClaimPage): boolean {
    if (page.bind === undefined) return true;
    return this.#kernel().places.has(`${page.bind} ${page.name}`);
  }

  #canBind(page: ClaimPage): boolean {
    const { links, addresses } = this.#options.kernel;
    if (this.#isBound(page)) return true;
    const isTaken = addresses.some(
      (known) => !known.ours && formatClaimName(known.address) === page.name,
    );
    return !isTaken && links.some(({ name }) => name === page.bind);
  }

  #kernel(): KernelFacts {
    const { addresses } = this.#options.kernel;
    if (this.#seen?.addresses === addresses) return this.#seen;
    const others = addresses.filter((known) => !known.ours && known.interface !== 'lo');
    this.#seen = {
      addresses,
      own: new Set(others.map((known) => formatClaimName(known.address))),
      places: new Set(
        addresses.map((known) => `${known.interface} ${formatClaimName(known.address)}`),
      ),
    };
    return this.#seen;
  }

  #drainForm(page: ClaimPage): Form {
    const now = this.#options.now();
    const ends = [this.nodeDrainEndMs, this.claimDrainEndMs.get(page.name)];
    if (ends.some((end) => end !== undefined && now >= end)) return 'none';
    if (ends.some((end) => end !== undefined)) return 'draining';
    return this.#leaving.has(page.name) ? 'draining' : 'plain';
  }

  /** a claim that is not this node's is asked nothing, and begins from nothing when it comes back */
  #noteHealth(): void {
    for (const name of this.#health.keys()) {
      if (this.#leaving.has(name)) continue;
      const page = this.#claims.get(name);
      if (page === undefined || !page.hasCheck || !this.#isPlacedHere(page)) {
        this.#health.delete(name);
      }
    }
    for (const [name, page] of this.#claims) {
      if (page.hasCheck && !this.#health.has(name) && this.#isPlacedHere(page)) {
        this.#health.set(name, new Streak(false));
      }
    }
  }
}
