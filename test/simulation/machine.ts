/**
 * A node of the simulation: its kernel's addresses, its files, the servers on it, and at most one agent process. The machine outlives
 * the process: after `kill -9` the addresses stay behind, and the next process finds the saved View. The process is the real Agent
 * with a real Speaker; only the network, the kernel's table, the prober and the clock are in memory.
 */

import {
  type MemoryNetwork,
  parseRouterId,
  prefixAddress,
  type Random,
  Speaker,
  type Timer,
  type Transport,
} from 'bgp-ts';
import { Agent } from '../../src/agent/agent.ts';
import { formatSavedView } from '../../src/agent/saved-view.ts';
import type { Probe } from '../../src/checks/check-runner.ts';
import type { AddressTable } from '../../src/linux/address-table.ts';
import { MemoryAddressTable, MemoryHost } from '../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../src/log/log.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { address, check, savedViewIn } from '../src/agent/scenery.ts';
import { AGENT_ASN, type Book, type ClaimPage, documentsOf, shownClaims } from './book.ts';
import { Oracle } from './oracle.ts';
import type { AgentSpeaker, PlantedBug } from './planted-bugs.ts';
import { ProcessClock, type SimulationClock } from './simulation-clock.ts';

export const JOIN_PATH = '/run/join';
export const MAX_STALE_MS = 20_000;
const AFTER_THAW_MS = 50;

/** what a process left on the disk, and what the oracle knows about it */
export interface StateFile {
  readonly text: string;
  readonly book: Book;
  readonly claims: ReadonlyMap<string, ClaimPage>;
  readonly wallMs: number;
  readonly isNodeDrained: boolean;
  readonly drained: readonly string[];
}

export interface AgentProcess {
  readonly agent: Agent;
  readonly speaker: Speaker;
  readonly clock: ProcessClock;
  readonly oracle: Oracle;
  readonly startedMs: number;
  /** claims that this process has seen in a good form */
  readonly lastGood: Map<string, ClaimPage>;
  carried: ReadonlyMap<string, ClaimPage>;
  isStopping: boolean;
  /** what its source is about to show */
  readonly deliveries: Timer[];
}

export interface MachineOptions {
  readonly name: string;
  readonly address: string;
  readonly clock: SimulationClock;
  readonly random: Random;
  readonly network: MemoryNetwork;
  readonly password: string;
  readonly bug?: PlantedBug;
  /** something that the oracle goes by has changed */
  readonly onFact: (machine: Machine) => void;
  /** the process has learnt something that is meant to end its session with this router */
  readonly onTouch: (machine: Machine, router: string) => void;
  readonly onViolation: (invariant: string, detail: string) => void;
}

export class Machine {
  readonly options: MachineOptions;
  readonly kernel = new MemoryHost(['lo', 'eth0', 'eth1']);
  readonly #transport: Transport;
  process: AgentProcess | undefined;
  stateFile: StateFile | undefined;
  password: string | undefined;
  /** when it was woken last */
  thawedMs = Number.NEGATIVE_INFINITY;
  wallOffsetMs = 0;
  isFrozen = false;
  /** counts what may keep a process from doing its work in time */
  disturbances = 0;
  /** the server that the join check asks: up or down, and how many of the next answers fail all the same */
  api = { isUp: false, failNext: 0 };
  readonly failing = new Set<string>();
  /** what a check that fails says */
  failure: () => string = () => 'refused';
  readonly stumbling = new Map<string, number>();

  constructor(options: MachineOptions) {
    this.options = options;
    this.#transport = options.network.host(address(options.address));
    this.password = options.password;
    this.kernel.addAddress(address(options.address), 'eth0', { prefixLength: 24 });
    this.kernel.addAddress(address('127.0.0.1'), 'lo', { prefixLength: 8 });
    this.kernel.listen(() => options.onFact(this));
  }

  get name(): string {
    return this.options.name;
  }

  start(): void {
    if (this.process !== undefined) return;
    const { clock: world, random, name, bug } = this.options;
    const clock = new ProcessClock(world, () => this.wallOffsetMs);
    const oracle = new Oracle({ node: name, kernel: this.kernel, now: () => world.now() });
    this.#restore(oracle, clock);
    const speaker = new Speaker({
      clock,
      random,
      transport: this.#transport,
      interfaceAddresses: () => undefined,
    });
    const wanted = new Set<string>();
    const watched = this.#watched(speaker, oracle, wanted);
    const agent = new Agent({
      clock,
      random,
      speaker: bug?.speaker?.(watched, clock) ?? watched,
      listen: () => undefined,
      addresses: this.#table(clock, wanted),
      probe: this.#probe(clock, oracle),
      readPassword: () => {
        const has = this.password !== undefined;
        if (oracle.hasPassword !== has) this.options.onTouch(this, 'r2');
        oracle.hasPassword = has;
        this.options.onFact(this);
        if (this.password === undefined) throw Object.assign(new Error('gone'), { code: 'ENOENT' });
        return `${this.password}\n`;
      },
      store: {
        load: () => (this.stateFile === undefined ? undefined : savedViewIn(this.stateFile.text)),
        save: (view) => {
          const { book, claims } = oracle;
          if (clock.isDead || book === undefined) return;
          const isNodeDrained = oracle.isDrainedByPerson;
          const drained = view.claimDrains.map(([claim]) => claim);
          const wallMs = view.savedAtMs;
          const text = formatSavedView(view);
          this.stateFile = { text, book, claims, wallMs, isNodeDrained, drained };
        },
      },
      log: SILENT_LOG,
      node: { name, labels: { 'kubernetes.io/hostname': name } },
      asn: AGENT_ASN,
      routerId: parseRouterId(this.options.address) ?? 1,
      isRouterIdFixed: false,
      joinCheck: check(JOIN_PATH),
      maxStaleMs: MAX_STALE_MS,
      source: 'files:/etc/herald',
      version: 'simulation',
      pid: 1,
    });
    const carried = this.stateFile?.claims ?? new Map<string, ClaimPage>();
    const startedMs = world.now();
    const lastGood = new Map<string, ClaimPage>();
    this.process = {
      agent,
      speaker,
      clock,
      oracle,
      startedMs,
      lastGood,
      carried,
      isStopping: false,
      deliveries: [],
    };
    agent.start();
    this.options.onFact(this);
  }

  /** the source shows the Book, as it is by then, to the process that runs, when it runs */
  show(book: () => Book, delayMs: number): void {
    const process = this.process;
    if (process === undefined) return;
    const delivery = process.clock.startTimer(delayMs, () => {
      process.deliveries.splice(process.deliveries.indexOf(delivery), 1);
      // what became due by time alone while it was frozen comes first, so that the oracle knows the order
      if (this.options.clock.now() < this.thawedMs + AFTER_THAW_MS) {
        this.show(book, AFTER_THAW_MS);
        return;
      }
      if (this.process === process && !process.isStopping) this.#deliver(process, book());
    });
    process.deliveries.push(delivery);
  }

  /** `kill -9`: what is in the kernel and on the disk stays. The caller resets or cuts its connections. */
  kill(): void {
    this.process?.clock.kill();
    this.process = undefined;
    this.isFrozen = false;
  }

  freeze(): void {
    this.disturbances += 1;
    this.isFrozen = true;
    this.process?.clock.freeze();
  }

  thaw(): void {
    this.thawedMs = this.options.clock.now();
    this.isFrozen = false;
    this.process?.clock.thaw();
  }

  /** SIGTERM; `onEnd` after the last word, unless the process was killed meanwhile */
  terminate(onEnd: (process: AgentProcess) => void): void {
    const process = this.process;
    if (process === undefined || process.isStopping) return;
    const { oracle, speaker, agent } = process;
    process.isStopping = true;
    for (const delivery of process.deliveries) delivery.cancel();
    const isHeard = speaker.status().some(({ state }) => state === 'established');
    const endMs = this.options.clock.now() + (isHeard ? oracle.waitMs : 0);
    oracle.nodeDrainEndMs = Math.min(oracle.nodeDrainEndMs ?? endMs, endMs);
    void agent.stop('SIGTERM').then(() => {
      if (process.clock.isDead) return;
      oracle.isOver = true;
      this.process = undefined;
      onEnd(process);
    });
    this.options.onFact(this);
  }

  #restore(oracle: Oracle, clock: ProcessClock): void {
    const file = this.stateFile;
    if (file === undefined) return;
    const ageMs = Math.max(0, clock.wallTimeMs() - file.wallMs);
    oracle.restore(file, clock.now() - ageMs + MAX_STALE_MS);
    const over = Number.NEGATIVE_INFINITY;
    oracle.isDrainedByPerson = file.isNodeDrained;
    if (file.isNodeDrained) oracle.nodeDrainEndMs = over;
    for (const name of file.drained) oracle.claimDrainEndMs.set(name, over);
  }

  #deliver(process: AgentProcess, book: Book): void {
    const { lastGood, oracle, agent } = process;
    for (const name of lastGood.keys()) if (!book.claims.has(name)) lastGood.delete(name);
    for (const [name, page] of book.claims) if (!book.bad.has(name)) lastGood.set(name, page);
    const shown = shownClaims(book, lastGood);
    process.carried = new Map(
      [...process.carried].filter(([name]) => book.bad.has(name) && !shown.has(name)),
    );
    for (const router of ['r1', 'r2']) {
      const [old, now] = [oracle.book?.peers.get(router), book.peers.get(router)];
      if (old?.holdSeconds !== now?.holdSeconds) this.options.onTouch(this, router);
    }
    oracle.learn(book, new Map([...shown, ...process.carried]));
    const documents = documentsOf(book, lastGood);
    agent.setDocuments(this.options.bug?.documents?.(this.name, documents) ?? documents);
    this.options.onFact(this);
  }

  #probe(clock: ProcessClock, oracle: Oracle): Probe {
    const { random } = this.options;
    return (target, { answer, signal, timeoutMs }) => {
      if (target.kind !== 'file') throw new Error('files only here');
      const { path } = target;
      const name = path.slice(path.lastIndexOf('/') + 1);
      const isPass = path === JOIN_PATH ? this.#asksApi() : this.#asksClaim(name);
      // now and then a server that is down hangs instead of refusing
      const hangs = !isPass && random.next() < 0.2;
      const timer = clock.startTimer(hangs ? timeoutMs : random.next() * 20, () => {
        const isNews =
          path === JOIN_PATH ? oracle.join.answer(isPass) : oracle.answered(name, isPass);
        if (isNews) this.options.onFact(this);
        answer({
          kind: isPass ? 'pass' : 'fail',
          sentence: isPass ? 'it is there' : this.failure(),
        });
      });
      signal.addEventListener('abort', () => timer.cancel());
    };
  }

  #asksApi(): boolean {
    if (this.api.failNext === 0) return this.api.isUp;
    this.api.failNext -= 1;
    return false;
  }

  #asksClaim(name: string): boolean {
    const left = this.stumbling.get(name) ?? 0;
    if (left === 0) return !this.failing.has(name);
    this.stumbling.set(name, left - 1);
    return false;
  }

  /** keeps in `wanted` what the sessions were told last, and sees that an address is there before its route goes out */
  #watched(speaker: Speaker, oracle: Oracle, wanted: Set<string>): AgentSpeaker {
    return {
      status: () => speaker.status(),
      stop: (how) => speaker.stop(how),
      subscribe: (onEvent) => speaker.subscribe(onEvent),
      apply: (desired) => {
        const routes = desired.peers.flatMap((peer) => [...peer.routes]);
        wanted.clear();
        for (const { prefix } of routes) wanted.add(formatClaimName(prefixAddress(prefix)));
        const present = new Set(
          this.kernel.addresses.map((known) => formatClaimName(known.address)),
        );
        for (const name of wanted) {
          if (oracle.claims.get(name)?.bind === undefined || present.has(name)) continue;
          this.options.onViolation('address-first', `${this.name} ${name}`);
        }
        return speaker.apply(desired);
      },
    };
  }

  /** a dead process changes nothing any more, whatever promise of it is still on its way */
  #table(clock: ProcessClock, wanted: ReadonlySet<string>): AddressTable {
    const table = new MemoryAddressTable({
      host: this.kernel,
      defer: (run) => void clock.startTimer(0, run),
    });
    const gone = { kind: 'failed', sentence: 'the process is dead' } as const;
    return {
      list: () => table.list(),
      links: () => table.links(),
      add: (...args) => (clock.isDead ? gone : table.add(...args)),
      remove: (known, name) => {
        if (clock.isDead) return gone;
        const claim = formatClaimName(known);
        const page = this.process?.oracle.claims.get(claim);
        // a claim that moved to another interface stays announced
        if (wanted.has(claim) && page?.bind === name) {
          this.options.onViolation('address-last', `${this.name} ${claim}`);
        }
        return table.remove(known, name);
      },
      subscribe: (onChange) => table.subscribe(onChange),
      close: () => table.close(),
    };
  }
}
