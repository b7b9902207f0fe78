/**
 * The claims that concern a node, from two filtered watches: those that all nodes announce, and those with this node's label. Pure but
 * for its own maps.
 *
 * A DELETED of a filtered watch says only that the object left that filter. It may be gone, or be in the other one, which has not said so
 * yet: what is true is known when the other watch has passed that version, or when somebody has asked for the object itself. Until
 * then its last form stands. And a watch that lags brings back nothing that is known to be over.
 */

export const CLAIM_FILTERS = ['anycast', 'node'] as const;
export type ClaimFilter = (typeof CLAIM_FILTERS)[number];

export interface VersionedClaim {
  readonly name: string;
  readonly version: bigint;
  /** it may be announced; false of one that is withdrawn, whose leaving nobody waits for */
  readonly isActive: boolean;
  /** Services have it: where it is withdrawn as well, nobody waits to give its address away */
  readonly hasServices?: boolean;
  /** this node alone has it, as its holder: nobody waits for the answer, unless somebody says so (`await`) */
  readonly isStraight?: boolean;
  /** which filters it is in, by its labels */
  readonly filters: readonly ClaimFilter[];
}

/** What is known of a claim beside the watches; it counts until both have passed its version. */
type Word<T> =
  /** nobody can tell yet: what stood before stands, and somebody should ask */
  | { readonly kind: 'unsure'; readonly version: bigint; readonly claim: T | undefined }
  /** somebody has asked */
  | { readonly kind: 'found'; readonly version: bigint; readonly claim: T }
  | { readonly kind: 'gone'; readonly version: bigint };

const MANY_QUESTIONS = 32;

interface Side<T> {
  readonly claims: Map<string, T>;
  version: bigint;
  /**
   * of the last change that somebody may wait for: of this node's own claims any but a straight
   * placement, and what all nodes had and is given back or leaves; not that they all have one more,
   * nor one that is withdrawn while its Services keep it, nor a bookmark
   */
  awaitedBy: bigint;
  /** how many of them may be announced */
  active: number;
}

export class ClaimUnion<T extends VersionedClaim> {
  readonly #sides: Readonly<Record<ClaimFilter, Side<T>>> = {
    anycast: { claims: new Map(), version: 0n, awaitedBy: 0n, active: 0 },
    node: { claims: new Map(), version: 0n, awaitedBy: 0n, active: 0 },
  };
  readonly #words = new Map<string, Word<T>>();
  /** the versions of those that are unsure */
  readonly #questions = new Map<string, bigint>();
  #newQuestions = new Set<string>();
  /** words in the order of their versions, also some that are no more: what is passed is taken from the front */
  readonly #due: { readonly name: string; readonly version: bigint }[] = [];
  readonly #items = new Map<string, T>();
  #changed = new Set<string>();
  #reported = 0n;

  /** by name */
  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** names whose item has changed since this was asked last */
  takeChanged(): ReadonlySet<string> {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }

  /** names that somebody should ask for, each with what `answer` wants to know */
  get questions(): ReadonlyMap<string, bigint> {
    return this.#questions;
  }

  /** those that are open and have come, or come again, since this was asked last */
  takeNewQuestions(): ReadonlySet<string> {
    const fresh = this.#newQuestions;
    this.#newQuestions = new Set();
    return fresh;
  }

  put(filter: ClaimFilter, claim: T): void {
    const { name, version } = claim;
    const side = this.#sides[filter];
    const before = side.claims.get(name);
    side.active += Number(claim.isActive) - Number(before?.isActive ?? false);
    side.claims.set(name, claim);
    const word = this.#words.get(name);
    if (word?.kind === 'unsure' && version >= word.version) this.#forget(name);
    this.#settle(name);
    const isAwaited =
      filter === 'anycast'
        ? !claim.isActive && claim.hasServices !== true
        : !claim.isActive || claim.isStraight !== true;
    if (isAwaited) side.awaitedBy = later(side.awaitedBy, version);
    this.progress(filter, version);
  }

  /** It has left the filter, by this version. */
  remove(filter: ClaimFilter, name: string, version: bigint): void {
    const side = this.#sides[filter];
    const before = side.claims.get(name);
    side.active -= Number(before?.isActive ?? false);
    side.claims.delete(name);
    const stands = this.#items.get(name);
    const newest = this.#newest(name);
    // an older form in the other watch is no news of what it is now
    const isOpen =
      stands !== undefined &&
      (newest === undefined ? stands.isActive : newest.version < stands.version);
    if (isOpen && (this.#words.get(name)?.version ?? 0n) < version) {
      this.#note(name, { kind: 'unsure', version, claim: stands });
    }
    this.#settle(name);
    side.awaitedBy = later(side.awaitedBy, version);
    this.progress(filter, version);
  }

  /** The watch has passed this version, also where nothing of ours has changed. */
  progress(filter: ClaimFilter, version: bigint): void {
    const side = this.#sides[filter];
    side.version = later(side.version, version);
    // a word that is not passed yet stands whatever else is passed
    const firstLeft = placeAfter(this.#due, this.#passed);
    for (const { name } of this.#due.splice(0, firstLeft)) this.#settle(name);
  }

  /** the version that both watches have passed */
  get #passed(): bigint {
    const { anycast, node } = this.#sides;
    return anycast.version < node.version ? anycast.version : node.version;
  }

  /** Somebody has asked for the object itself, about this question; undefined: there is none. */
  answer(name: string, question: bigint, claim: T | undefined): void {
    const word = this.#words.get(name);
    if (word?.kind !== 'unsure' || word.version !== question) return;
    if (claim !== undefined && this.#isTooLate(word, claim)) {
      this.#note(name, { ...word, version: this.#reported });
      return;
    }
    const version = later(word.version, claim?.version ?? 0n);
    const isOurs = claim !== undefined && claim.filters.length > 0;
    this.#note(name, isOurs ? { kind: 'found', version, claim } : { kind: 'gone', version });
    this.#settle(name);
  }

  /**
   * While the answer was under way somebody was told that more is done than the question was about, and it would open what may be over by
   * then: it is asked again.
   */
  #isTooLate(question: Word<T> & { readonly kind: 'unsure' }, { isActive, version }: T): boolean {
    const opens = isActive && question.claim?.isActive !== true;
    return opens && version <= this.#reported && question.version < this.#reported;
  }

  /**
   * Up to where everything is known that this node could be announcing. A watch none of whose claims may be announced holds nothing
   * back: what it still brings is asked about (see `put`).
   */
  get observed(): bigint {
    const sides = CLAIM_FILTERS.map((filter) => this.#sides[filter]);
    let observed = sides.reduce((most, { version }) => later(most, version), 0n);
    const limit = (version: bigint) => {
      if (version < observed) observed = version;
    };
    for (const { active, version } of sides) if (active > 0) limit(version);
    for (const word of this.#words.values()) {
      if (word.kind === 'found' && word.claim.isActive) limit(word.version);
      if (word.kind === 'unsure' && word.claim?.isActive === true) limit(word.version - 1n);
    }
    return observed;
  }

  /** a watch or an answer has brought a change that somebody may wait for, and `observed` does not answer for it yet */
  get isBehind(): boolean {
    const { anycast, node } = this.#sides;
    let awaited = later(anycast.awaitedBy, node.awaitedBy);
    for (const { kind, version } of this.#words.values()) {
      if (kind === 'found') awaited = later(awaited, version);
    }
    return this.observed < awaited;
  }

  /** Somebody waits for the answer to these as they stand. */
  await(names: Iterable<string>): void {
    const { node } = this.#sides;
    for (const name of names) {
      node.awaitedBy = later(node.awaitedBy, node.claims.get(name)?.version ?? 0n);
    }
  }

  /** somebody was told that `observed` is this far */
  report(version: bigint): void {
    this.#reported = later(this.#reported, version);
  }

  /**
   * Which watch holds `observed` or many questions back, and where the other one is. Only behind a change that somebody may wait for: were it asked about
   * whatever all nodes hear of, a new Service would cost a list by each of them.
   */
  get laggard(): { readonly filter: ClaimFilter; readonly version: bigint } | undefined {
    const { anycast, node } = this.#sides;
    const isAsked = this.hasManyQuestions;
    if ((anycast.active > 0 || isAsked) && anycast.version < node.awaitedBy) {
      return { filter: 'anycast', version: node.version };
    }
    if ((node.active > 0 || isAsked) && node.version < anycast.awaitedBy) {
      return { filter: 'node', version: anycast.version };
    }
    return undefined;
  }

  /** one list of the watch that is behind answers more than a request for each */
  get hasManyQuestions(): boolean {
    return this.#questions.size > MANY_QUESTIONS;
  }

  /** these count as changed */
  touch(names: Iterable<string>): void {
    for (const name of names) this.#changed.add(name);
  }

  claimsIn(filter: ClaimFilter): ReadonlyMap<string, T> {
    return this.#sides[filter].claims;
  }

  #note(name: string, word: Word<T>): void {
    const { kind, version } = word;
    this.#forget(name);
    this.#words.set(name, word);
    this.#due.splice(placeAfter(this.#due, version), 0, { name, version });
    if (kind !== 'unsure') return;
    this.#questions.set(name, version);
    this.#newQuestions.add(name);
  }

  #forget(name: string): void {
    this.#words.delete(name);
    this.#questions.delete(name);
    this.#newQuestions.delete(name);
  }

  #settle(name: string): void {
    const claim = this.#standing(name);
    if (claim !== this.#items.get(name)) this.#changed.add(name);
    if (claim === undefined) this.#items.delete(name);
    else this.#items.set(name, claim);
  }

  #standing(name: string): T | undefined {
    const newest = this.#newest(name);
    const word = this.#words.get(name);
    if (word === undefined || this.#passed >= word.version) {
      this.#forget(name);
      return this.#unlessLate(name, newest);
    }
    if (word.kind === 'unsure') return word.claim;
    if (newest !== undefined && newest.version > word.version)
      return this.#unlessLate(name, newest);
    return word.kind === 'found' ? word.claim : undefined;
  }

  /** Whoever was told that everything up to there is done counts on it: older news of a watch that lags opens nothing unasked. */
  #unlessLate(name: string, newest: T | undefined): T | undefined {
    const stands = this.#items.get(name);
    if (newest === undefined || !newest.isActive || stands?.isActive === true) return newest;
    const isLagging = CLAIM_FILTERS.some((filter) => {
      const { claims, version } = this.#sides[filter];
      return claims.get(name) === newest && version < this.#reported;
    });
    if (newest.version > this.#reported || !isLagging) return newest;
    this.#note(name, { kind: 'unsure', version: this.#reported, claim: stands });
    return stands;
  }

  /** of the forms that the watches have */
  #newest(name: string): T | undefined {
    const a = this.#sides.anycast.claims.get(name);
    const b = this.#sides.node.claims.get(name);
    if (a === undefined || b === undefined) return a ?? b;
    return a.version >= b.version ? a : b;
  }
}

/** where the first one stands that is later than this version */
function placeAfter(due: readonly { readonly version: bigint }[], version: bigint): number {
  let from = 0;
  let to = due.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const isLater = (due[middle]?.version ?? version) > version;
    if (isLater) to = middle;
    else from = middle + 1;
  }
  return from;
}

function later(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
