import { expect } from 'chai';
import fc from 'fast-check';
import {
  CLAIM_FILTERS,
  type ClaimFilter,
  ClaimUnion,
  type VersionedClaim,
} from '../../../../src/sources/kube/claim-union.ts';

function form(
  version: number,
  filters: readonly ClaimFilter[],
  over: Partial<VersionedClaim> = {},
): VersionedClaim {
  return { name: 'c', version: BigInt(version), isActive: true, filters, ...over };
}

describe('claims of two filtered watches', () => {
  it('keeps a claim that changes from one filter to the other, whoever says it first', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast']));
    union.remove('anycast', 'c', 2n);
    expect(union.items.get('c')?.version).to.equal(1n);
    expect([...union.questions]).to.deep.equal([['c', 2n]]);
    union.put('node', form(2, ['node']));
    expect(union.items.get('c')?.version).to.equal(2n);
    expect(union.questions.size).to.equal(0);
    union.put('anycast', form(3, ['anycast']));
    union.remove('node', 'c', 3n);
    expect(union.items.get('c')?.version).to.equal(3n);
    expect(union.questions.size).to.equal(0);
  });

  it('is behind while one watch has brought a change that the other has not passed, and not for a bookmark', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast'], { name: 'a' }));
    union.put('node', form(3, ['node'], { name: 'n' }));
    expect([union.isBehind, union.laggard]).to.deep.equal([
      true,
      { filter: 'anycast', version: 3n },
    ]);
    union.progress('anycast', 8n);
    expect([union.isBehind, union.laggard, union.observed]).to.deep.equal([false, undefined, 3n]);
    union.put('anycast', form(9, ['anycast'], { name: 'a' }));
    expect(union.isBehind).to.equal(false);
    union.put('anycast', form(10, ['anycast'], { name: 'a', isActive: false }));
    expect(union.isBehind).to.equal(true);
  });

  it('waits for no proof of what was placed here straight, until somebody asks for the answer (F13)', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast'], { name: 'a' }));
    union.put('node', form(3, ['node'], { name: 'n', isStraight: true }));
    expect([union.isBehind, union.laggard]).to.deep.equal([false, undefined]);
    union.await(['n', 'of nobody']);
    const laggard = { filter: 'anycast', version: 3n };
    expect([union.isBehind, union.laggard]).to.deep.equal([true, laggard]);
    union.progress('anycast', 3n);
    expect([union.isBehind, union.laggard]).to.deep.equal([false, undefined]);
    union.put('node', form(4, ['node'], { name: 'n', isStraight: true, isActive: false }));
    expect(union.isBehind, 'a release is waited for').to.equal(true);
  });

  it('lets go of one that is gone when the other watch has passed that version', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast']));
    union.remove('anycast', 'c', 5n);
    union.progress('node', 4n);
    expect(union.items.has('c')).to.equal(true);
    union.progress('node', 5n);
    expect(union.items.has('c')).to.equal(false);
    expect(union.questions.size).to.equal(0);
  });

  it('lets go of it when the API says that there is none, and a watch that lags does not bring it back', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast', 'node']));
    union.remove('anycast', 'c', 5n);
    union.answer('c', 5n, undefined);
    expect(union.items.has('c')).to.equal(false);
    union.put('node', form(1, ['anycast', 'node']));
    expect(union.items.has('c')).to.equal(false);
    union.remove('node', 'c', 5n);
    expect(union.items.has('c')).to.equal(false);
    union.put('node', form(6, ['node']));
    expect(union.items.get('c')?.version).to.equal(6n);
  });

  it('takes what the API says of it, until the watch has it too', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast']));
    union.remove('anycast', 'c', 5n);
    union.answer('c', 5n, form(6, ['node']));
    expect(union.items.get('c')?.version).to.equal(6n);
    union.put('node', form(5, ['node']));
    expect(union.items.get('c')?.version).to.equal(6n);
    union.put('node', form(7, ['node']));
    expect(union.items.get('c')?.version).to.equal(7n);
  });

  it('does not listen to an answer to an older question', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast']));
    union.remove('anycast', 'c', 5n);
    union.put('anycast', form(6, ['anycast']));
    union.remove('anycast', 'c', 8n);
    union.answer('c', 5n, undefined);
    expect(union.items.get('c')?.version).to.equal(6n);
  });

  it('does not fall back to an older form that the other watch still has', () => {
    const union = new ClaimUnion();
    union.progress('node', 4n);
    union.report(union.observed);
    union.put('anycast', form(3, ['anycast']));
    union.put('node', form(5, ['node']));
    union.remove('node', 'c', 6n);
    expect(union.items.get('c')?.version).to.equal(5n);
    expect([...union.questions]).to.deep.equal([['c', 6n]]);
    union.answer('c', 6n, undefined);
    expect(union.items.has('c')).to.equal(false);
  });

  it('asks nobody about one that is withdrawn', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(1, ['anycast'], { isActive: false }));
    union.remove('anycast', 'c', 5n);
    expect(union.items.has('c')).to.equal(false);
    expect(union.questions.size).to.equal(0);
  });

  it('says how far all is known: a watch without anything to announce holds nothing back', () => {
    const union = new ClaimUnion();
    union.put('anycast', form(3, ['anycast']));
    expect(union.observed).to.equal(3n);
    union.put('node', form(2, ['node'], { name: 'd' }));
    expect(union.observed).to.equal(2n);
    expect(union.laggard).to.equal(undefined);
    union.put('node', form(4, ['node'], { name: 'd', isActive: false }));
    expect(union.observed).to.equal(3n);
  });

  it('takes no bookmark of one watch for a reason to ask about the other', () => {
    const union = new ClaimUnion();
    union.put('node', form(2, ['node'], { name: 'd' }));
    union.progress('anycast', 9n);
    expect(union.observed).to.equal(2n);
    expect(union.laggard).to.equal(undefined);
    union.put('anycast', form(10, ['anycast']));
    union.remove('anycast', 'c', 11n);
    expect(union.laggard).to.deep.equal({ filter: 'node', version: 11n });
  });

  it('asks about its own claims behind what is taken from all nodes, not behind what all nodes get', () => {
    const union = new ClaimUnion();
    union.put('node', form(2, ['node'], { name: 'd' }));
    union.put('anycast', form(5, ['anycast']));
    union.put('anycast', form(6, ['anycast']));
    expect([union.laggard, union.observed, union.isBehind]).to.deep.equal([undefined, 2n, false]);
    union.put('anycast', form(7, ['anycast'], { isActive: false }));
    expect(union.laggard).to.deep.equal({ filter: 'node', version: 7n });
    union.progress('node', 7n);
    expect([union.laggard, union.observed, union.isBehind]).to.deep.equal([undefined, 7n, false]);
  });

  it('waits for no proof of an anycast claim that is withdrawn while its Services keep it', () => {
    const union = new ClaimUnion();
    const kept = { isActive: false, hasServices: true };
    union.put('node', form(2, ['node'], { name: 'd' }));
    union.progress('anycast', 2n);
    union.put('anycast', form(5, ['anycast']));
    union.put('anycast', form(6, ['anycast'], kept));
    union.put('anycast', form(7, ['anycast'], kept));
    expect([union.laggard, union.observed, union.isBehind]).to.deep.equal([undefined, 2n, false]);
    union.put('anycast', form(8, ['anycast'], { name: 'e' }));
    union.put('anycast', form(9, ['anycast'], { isActive: false }));
    expect(union.laggard, 'given back').to.deep.equal({ filter: 'node', version: 9n });
    union.put('node', form(10, ['node'], { name: 'd', ...kept }));
    expect(union.laggard, 'of this node').to.deep.equal({ filter: 'anycast', version: 10n });
  });

  it('is behind a release that it has read itself until a watch has passed it', () => {
    const union = new ClaimUnion();
    union.put('node', form(1, ['node']));
    union.remove('node', 'c', 2n);
    union.answer('c', 2n, form(3, ['node'], { isActive: false }));
    expect([union.observed, union.isBehind]).to.deep.equal([2n, true]);
    union.put('node', form(3, ['node'], { isActive: false }));
    expect([union.observed, union.isBehind]).to.deep.equal([3n, false]);
  });

  it('asks again when an answer that would open it is older than what was told meanwhile', () => {
    const union = new ClaimUnion();
    union.put('node', form(1, ['node'], { isActive: false }));
    union.put('anycast', form(2, ['anycast'], { isActive: false }));
    union.remove('anycast', 'c', 3n);
    expect([...union.questions]).to.deep.equal([['c', 3n]]);
    // the answer of version 3 is under way while the claim is taken from the node by version 4
    union.progress('anycast', 4n);
    expect(union.observed).to.equal(4n);
    union.report(4n);
    union.answer('c', 3n, form(3, ['node']));
    expect(union.items.get('c')?.isActive).to.equal(false);
    expect([...union.questions]).to.deep.equal([['c', 4n]]);
    // it was another claim that version 4 was about: this one stands since 3
    union.answer('c', 4n, form(3, ['node']));
    expect(union.items.get('c')?.isActive).to.equal(true);
    expect(union.questions.size).to.equal(0);
  });

  // a store with some claims; each watch gets its events in order, in its own time; GETs are answered from the store at any moment
  it('is right in the end, never lets go of what stays, and never says too much, whatever the order', () => {
    const states = fc.record({
      name: fc.constantFrom('a', 'b'),
      anycast: fc.boolean(),
      node: fc.boolean(),
      isActive: fc.boolean(),
      isDeleted: fc.boolean(),
    });
    const steps = fc.oneof(
      { weight: 4, arbitrary: fc.record({ kind: fc.constant('write' as const), state: states }) },
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constantFrom('anycast' as const, 'node' as const) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ kind: fc.constantFrom('ask' as const, 'answer' as const) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('report' as const) }) },
      {
        weight: 1,
        arbitrary: fc.record({
          kind: fc.constantFrom('mark-anycast' as const, 'mark-node' as const),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(steps, { minLength: 5, maxLength: 60, size: 'max' }), (script) => {
        const store = new Store();
        for (const step of script) {
          store.act(step);
          store.check();
        }
        store.finish();
      }),
      { numRuns: 10_000 },
    );
  });
});

type Event =
  | { readonly kind: 'put'; readonly claim: VersionedClaim }
  | { readonly kind: 'remove'; readonly name: string; readonly version: bigint };

interface Written {
  readonly name: string;
  readonly anycast: boolean;
  readonly node: boolean;
  readonly isActive: boolean;
  readonly isDeleted: boolean;
}

type Step =
  | { readonly kind: 'write'; readonly state: Written }
  | { readonly kind: ClaimFilter | 'ask' | 'answer' | 'report' | 'mark-anycast' | 'mark-node' };

/** The truth, two watches of it, and whoever asks. */
class Store {
  readonly union = new ClaimUnion();
  readonly #history = new Map<string, (VersionedClaim & { readonly isThere: boolean })[]>();
  readonly #waiting: Record<ClaimFilter, Event[]> = { anycast: [], node: [] };
  readonly #answers: { name: string; question: bigint; claim: VersionedClaim | undefined }[] = [];
  #version = 0n;
  #reported = 0n;

  act(step: Step): void {
    if (step.kind === 'write') this.write(step.state);
    else if (step.kind === 'mark-anycast') this.mark('anycast');
    else if (step.kind === 'mark-node') this.mark('node');
    else if (step.kind === 'anycast' || step.kind === 'node') this.deliver(step.kind);
    else this[step.kind]();
  }

  write({ name, isActive, isDeleted, ...labels }: Written): void {
    this.#version += 1n;
    const version = this.#version;
    const before = this.#now(name);
    const filters = isDeleted ? [] : CLAIM_FILTERS.filter((filter) => labels[filter]);
    const claim = { name, version, isActive, filters };
    const forms = this.#history.get(name) ?? [];
    this.#history.set(name, [...forms, { ...claim, isThere: !isDeleted }]);
    for (const filter of CLAIM_FILTERS) {
      if (filters.includes(filter)) this.#waiting[filter].push({ kind: 'put', claim });
      else if (before?.filters.includes(filter) === true) {
        this.#waiting[filter].push({ kind: 'remove', name, version });
      }
    }
  }

  deliver(filter: ClaimFilter): void {
    const event = this.#waiting[filter].shift();
    if (event === undefined) return;
    if (event.kind === 'put') this.union.put(filter, event.claim);
    else this.union.remove(filter, event.name, event.version);
  }

  /** a bookmark comes when everything before it has */
  mark(filter: ClaimFilter): void {
    while (this.#waiting[filter].length > 0) this.deliver(filter);
    this.union.progress(filter, this.#version);
  }

  ask(): void {
    for (const [name, question] of this.union.questions) {
      const now = this.#now(name);
      this.#answers.push({ name, question, claim: now?.isThere === true ? now : undefined });
    }
  }

  answer(): void {
    const answer = this.#answers.shift();
    if (answer !== undefined) this.union.answer(answer.name, answer.question, answer.claim);
  }

  report(): void {
    this.#reported = this.union.observed;
    this.union.report(this.#reported);
  }

  check(): void {
    // what was told to be done up to there is done: whoever is announced was to be announced then, or is so anew
    for (const [name, item] of this.union.items) {
      if (!item.isActive || item.version > this.#reported) continue;
      const then = this.#at(name, this.#reported);
      const isRight = then?.isThere === true && then.isActive && then.filters.length > 0;
      expect(isRight, `${name} at ${this.#reported}`).to.equal(true);
    }
    // who was ours at each moment since it was seen first is still here
    for (const [name, forms] of this.#history) {
      const seen = this.union.items.get(name);
      const first = forms.findIndex(({ version }) => version === seen?.version);
      if (seen !== undefined && first >= 0) this.#stays.add(name);
      const isSteady = forms.every((form) => form.isActive && form.filters.length > 0);
      if (isSteady && this.#stays.has(name)) expect(seen, name).not.to.equal(undefined);
    }
  }

  readonly #stays = new Set<string>();

  finish(): void {
    for (const filter of CLAIM_FILTERS) this.mark(filter);
    expect(this.union.questions.size).to.equal(0);
    for (const name of this.#history.keys()) {
      const now = this.#now(name);
      const isOurs = now?.isThere === true && now.filters.length > 0;
      expect(this.union.items.get(name)?.version, name).to.equal(isOurs ? now.version : undefined);
    }
    expect(this.union.observed).to.equal(this.#version);
  }

  #now(name: string) {
    return this.#history.get(name)?.at(-1);
  }

  #at(name: string, version: bigint) {
    return this.#history.get(name)?.findLast((form) => form.version <= version);
  }
}
