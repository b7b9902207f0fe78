/**
 * The invariants, checked at every UPDATE that reaches a router and at every sample of time, from the far side:
 *
 *   only-claimed       nothing is announced that is not in a claim of this node, and in a pool
 *   one-holder         an exclusive claim is announced by its holder alone; never two paths of equal preference
 *   preference         local preference and AS path say holder, anycast or draining, on internal and external sessions
 *   joined-first       nothing is announced before the join check of this process has passed
 *   only-ready         nothing is announced that the claim's health, its interface or its peer forbids
 *   needless-withdraw  nothing is withdrawn, and nothing drained, without a reason
 *   withdrawn-in-time  what may not be announced any more is gone from the router within 100 ms of the fact
 *   exact-table        after 8 s of peace the router has exactly what each node should announce, in the right form
 *   no-orphans         after 8 s of peace no address of ours is on an interface that should not be
 *   address-first      an address is on its interface before its route goes out, and, address-last, taken off after it was withdrawn
 *   put-back           an address that was taken off by hand is back within a second
 *   foreign-untouched  addresses of others stay as they are, always
 *   no-flap            a session ends only by what was done to it
 *   clean-stop         after a stop no address and no timer of the process is left
 *
 * A form is what a router should have of a claim: plain, draining or none. It may have any that was right within the last 100 ms, or
 * since the network began to hold things up.
 */

import { formatClaimName } from '../../src/model/claim-name.ts';
import { AGENT_ASN, isExclusiveName, PREPEND_STEP, ROUTER_ASNS } from './book.ts';
import type { FarRouter, Form, HeldPath } from './far-router.ts';
import type { AgentProcess, Machine } from './machine.ts';
import type { SimulationClock } from './simulation-clock.ts';

export interface Violation {
  readonly invariant: string;
  readonly atMs: number;
  readonly detail: string;
}

/** what may hold up the packets between a node and a router, kept by the simulation */
export interface Wire {
  isCut: boolean;
  /** since when nothing has been in the way of this session, end to end; undefined while something is */
  clearSinceMs: number | undefined;
  /** since when it has been impossible; undefined while it is possible */
  blockedSinceMs: number | undefined;
  /** when the last obstacle came, for bytes that arrive late */
  heldUpSinceMs: number | undefined;
  /** counts the obstacles */
  epoch: number;
}

interface Moment {
  readonly form: Form;
  readonly sinceMs: number;
}

interface Sampled {
  readonly machine: Machine;
  readonly router: FarRouter;
  readonly claim: string;
  readonly form: Form;
  readonly forMs: number;
}

export interface WatcherOptions {
  readonly clock: SimulationClock;
  readonly machines: readonly Machine[];
  readonly routers: readonly FarRouter[];
  readonly wire: (node: string, router: string) => Wire;
  readonly claimNames: readonly string[];
}

const IN_TIME_MS = 100;
const PEACE_MS = 8000;
/** from a thaw until addresses are off: a second for neighbours that do not read, and some */
const AWAKE_MS = 2000;
const MOST_OF_A_KIND = 5;
const MEMORY_MS = 120_000;

export class Watcher {
  readonly #options: WatcherOptions;
  readonly violations: Violation[] = [];
  readonly #history = new Map<string, Moment[]>();
  readonly #bindSince = new Map<string, { isWanted: boolean; sinceMs: number }>();
  /** addresses of others, per node */
  readonly foreign = new Map<string, Set<string>>();

  constructor(options: WatcherOptions) {
    this.#options = options;
  }

  violate(invariant: string, detail: string): void {
    const same = this.violations.filter((known) => known.invariant === invariant);
    if (same.length >= MOST_OF_A_KIND) return;
    this.violations.push({ invariant, atMs: this.#options.clock.now(), detail });
  }

  /** facts of this node have changed: what should be out from now on? */
  note(machine: Machine): void {
    const expected = machine.process?.oracle.expected();
    const nowMs = this.#options.clock.now();
    for (const { options } of this.#options.routers) {
      const forms = expected?.forms.get(options.name);
      const prefix = `${machine.name} ${options.name}`;
      for (const claim of this.#options.claimNames) {
        this.#noteForm(`${prefix} ${claim}`, forms?.get(claim) ?? 'none', nowMs);
      }
    }
    for (const claim of this.#options.claimNames) {
      const isWanted = expected?.bound.has(claim) === true;
      const key = `${machine.name} ${claim}`;
      if (this.#bindSince.get(key)?.isWanted !== isWanted) {
        this.#bindSince.set(key, { isWanted, sinceMs: nowMs });
      }
    }
  }

  #noteForm(key: string, form: Form, nowMs: number): void {
    const moments = this.#history.get(key) ?? [];
    this.#history.set(key, moments);
    if (moments.at(-1)?.form === form) return;
    moments.push({ form, sinceMs: nowMs });
    while ((moments[1]?.sinceMs ?? nowMs) < nowMs - MEMORY_MS) moments.shift();
  }

  /** an UPDATE has arrived */
  onPath(
    router: FarRouter,
    machine: Machine,
    arrived: { claim: string; path: HeldPath | undefined },
  ): void {
    this.note(machine);
    const { claim, path } = arrived;
    const got = path?.form ?? 'none';
    const key = `${machine.name} ${router.options.name} ${claim}`;
    const right = this.#recent(key, this.#options.wire(machine.name, router.options.name));
    if (!right.has(got)) this.violate(this.#nameOf(machine, claim, got, right), `${key}: ${got}`);
    if (path === undefined) this.#checkDelay(router, machine, claim);
    else {
      this.#checkAttributes(router, key, path);
      this.#checkPreference(router, machine, claim);
    }
  }

  /** a withdrawal that came: how long after the fact that asked for it? */
  #checkDelay(router: FarRouter, machine: Machine, claim: string): void {
    const { name } = router.options;
    const { clearSinceMs } = this.#options.wire(machine.name, name);
    const key = `${machine.name} ${name} ${claim}`;
    const moment = this.#history.get(key)?.at(-1);
    if (clearSinceMs === undefined || moment?.form !== 'none') return;
    const lateMs = this.#options.clock.now() - Math.max(moment.sinceMs, clearSinceMs);
    if (lateMs > IN_TIME_MS) {
      this.violate('withdrawn-in-time', `${key}: after ${lateMs.toFixed(0)} ms`);
    }
  }

  /** the forms that were right lately */
  #recent(key: string, { heldUpSinceMs }: Wire): ReadonlySet<Form> {
    const fromMs =
      Math.min(heldUpSinceMs ?? Number.POSITIVE_INFINITY, this.#options.clock.now()) - IN_TIME_MS;
    const moments = this.#history.get(key) ?? [];
    const forms = new Set<Form>();
    for (const [at, { form }] of moments.entries()) {
      const endMs = moments[at + 1]?.sinceMs ?? Number.POSITIVE_INFINITY;
      if (endMs >= fromMs) forms.add(form);
    }
    return forms;
  }

  #nameOf(machine: Machine, claim: string, got: Form, right: ReadonlySet<Form>): string {
    if (got === 'none' || !right.has('none')) return 'needless-withdraw';
    if (right.size > 1) return 'needless-withdraw';
    const oracle = machine.process?.oracle;
    if (oracle?.join.isOpen !== true) return 'joined-first';
    if (oracle.isExclusiveElsewhere(claim)) return 'one-holder';
    return oracle.claims.has(claim) ? 'only-ready' : 'only-claimed';
  }

  /** Two that hold the same exclusive claim by the same documents are never equal. */
  #checkPreference(router: FarRouter, machine: Machine, claim: string): void {
    const mine = router.path(machine.options.address, claim);
    const book = machine.process?.oracle.book;
    const page = machine.process?.oracle.claims.get(claim);
    if (mine === undefined || book === undefined || page?.mode !== 'exclusive') return;
    for (const other of this.#options.machines) {
      if (other === machine || other.process?.oracle.book !== book) continue;
      const { blockedSinceMs, heldUpSinceMs } = this.#options.wire(other.name, router.options.name);
      if (blockedSinceMs !== undefined || heldUpSinceMs !== undefined) continue;
      const theirs = router.path(other.options.address, claim);
      const key = `${other.name} ${router.options.name} ${claim}`;
      const isOld = !this.#recent(key, this.#options.wire(other.name, router.options.name)).has(
        theirs?.form ?? 'none',
      );
      if (theirs !== undefined && isOld && isEqual(mine, theirs)) {
        this.violate(
          'one-holder',
          `${claim} at ${router.options.name}: ${machine.name}, ${other.name}`,
        );
      }
    }
  }

  onDown(router: FarRouter, machine: Machine): void {
    const { heldUpSinceMs, blockedSinceMs } = this.#options.wire(machine.name, router.options.name);
    const isMeant = !router.isUp || machine.process === undefined || machine.process.isStopping;
    if (!isMeant && heldUpSinceMs === undefined && blockedSinceMs === undefined) {
      this.violate('no-flap', `${machine.name} ${router.options.name}`);
    }
  }

  sample(): void {
    for (const machine of this.#options.machines) {
      this.note(machine);
      for (const router of this.#options.routers) this.#sampleSession(machine, router);
      this.#sampleKernel(machine);
    }
    for (const router of this.#options.routers) {
      const problem = router.disagreement();
      if (problem !== undefined) this.violate('exact-table', `${router.options.name} ${problem}`);
    }
  }

  #sampleSession(machine: Machine, router: FarRouter): void {
    const { name } = router.options;
    const { clearSinceMs, blockedSinceMs } = this.#options.wire(machine.name, name);
    const nowMs = this.#options.clock.now();
    if (clearSinceMs === undefined) {
      const held = router.table.get(machine.options.address)?.size ?? 0;
      const isOver = blockedSinceMs !== undefined && nowMs - blockedSinceMs > PEACE_MS;
      if (isOver && held > 0)
        this.violate('exact-table', `${name}: routes of silent ${machine.name}`);
      return;
    }
    for (const claim of this.#options.claimNames) {
      const moment = this.#history.get(`${machine.name} ${name} ${claim}`)?.at(-1);
      if (moment === undefined) continue;
      const forMs = nowMs - Math.max(moment.sinceMs, clearSinceMs);
      this.#sampleRoute({ machine, router, claim, form: moment.form, forMs });
    }
  }

  /** it should have been in this form for so long */
  #sampleRoute(about: Sampled): void {
    const { machine, router, claim, form, forMs } = about;
    const held = router.path(machine.options.address, claim);
    const got = held?.form ?? 'none';
    const text = `${machine.name} ${router.options.name} ${claim}: ${got}`;
    if (form === 'none' && got !== 'none' && forMs > IN_TIME_MS) {
      this.violate('withdrawn-in-time', `${text} ${forMs.toFixed(0)} ms later`);
    }
    if (forMs <= PEACE_MS) return;
    if (got !== form) this.violate('exact-table', `${text}, not ${form}`);
  }

  /** the preference of a holder is above that of anycast, and what drains is below both, at a router that knows no community too */
  #checkAttributes(router: FarRouter, key: string, held: HeldPath): void {
    const isExclusive = isExclusiveName(key.slice(key.lastIndexOf(' ') + 1));
    const isInternal = ROUTER_ASNS[router.options.name] === AGENT_ASN;
    const isDraining = held.form === 'draining';
    const rank = isExclusive ? 200 : 100;
    const localPref = isInternal ? rank : undefined;
    const prepended = isDraining && isExclusive ? PREPEND_STEP : 0;
    const pathLength = isInternal ? 0 : 1 + prepended;
    // among what drains the levels of exclusive claims stay apart: 5 less the level, which is the holder's 0 here
    const drained = isExclusive ? 5 : 0;
    const isRight =
      held.localPref === (isDraining && isInternal ? drained : localPref) &&
      held.pathLength === pathLength;
    if (!isRight) this.violate('preference', `${key}: ${JSON.stringify(held)}`);
  }

  #sampleKernel(machine: Machine): void {
    const nowMs = this.#options.clock.now();
    const { process } = machine;
    const others = new Set<string>();
    const ours = new Set<string>();
    for (const known of machine.kernel.addresses) {
      const text = addressText(known);
      if (known.ours) ours.add(claimText(known));
      else others.add(text);
    }
    const wanted = this.foreign.get(machine.name) ?? new Set();
    if (!sameSet(others, wanted)) {
      this.violate('foreign-untouched', `${machine.name}: ${[...others]} for ${[...wanted]}`);
    }
    if (process === undefined || machine.isFrozen || nowMs - process.startedMs < PEACE_MS) return;
    // it could do nothing before, and first its neighbours are told
    if (nowMs - machine.thawedMs < AWAKE_MS) return;
    for (const name of ours) {
      const wish = this.#bindSince.get(`${machine.name} ${name}`);
      if (wish?.isWanted === true || nowMs - (wish?.sinceMs ?? 0) <= PEACE_MS) continue;
      this.violate('no-orphans', `${machine.name}: ${name}`);
    }
  }

  /** how long the address has had to be there */
  bindWantedSince(machine: Machine, claim: string): number | undefined {
    const wish = this.#bindSince.get(`${machine.name} ${claim}`);
    return wish?.isWanted === true ? wish.sinceMs : undefined;
  }

  onStopped(machine: Machine, { clock }: AgentProcess): void {
    const left = machine.kernel.addresses.filter(({ ours }) => ours).map(addressText);
    if (left.length > 0) this.violate('clean-stop', `${machine.name} left ${left}`);
    this.#options.clock.startTimer(1000, () => {
      if (clock.pendingTimers > 0 && !clock.isDead) {
        this.violate('clean-stop', `${machine.name}: ${clock.pendingTimers} timers`);
      }
    });
  }
}

type Known = Machine['kernel']['addresses'][number];

export function addressText({ address, interface: name, prefixLength }: Known): string {
  return `${name} ${formatClaimName(address)}/${prefixLength}`;
}

function claimText({ address }: Known): string {
  return formatClaimName(address);
}

function isEqual(a: HeldPath, b: HeldPath): boolean {
  return a.form === b.form && a.pathLength === b.pathLength && a.localPref === b.localPref;
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
