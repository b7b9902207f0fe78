/**
 * The world of a simulation: two routers, three nodes, one network, one clock, one seed, and the documents that everybody is shown. It
 * keeps account of what stands between a node and a router, which the invariants need to know. What happens in it is run.ts.
 */

import { type Address, MemoryNetwork } from 'bgp-ts';
import type { KernelAddress } from '../../src/linux/address-table.ts';
import { formatClaimName } from '../../src/model/claim-name.ts';
import { address } from '../src/agent/scenery.ts';
import { SeededRandom } from '../support/seeded-random.ts';
import {
  type Book,
  CLAIM_ADDRESSES,
  firstBook,
  NODES,
  ROUTER_ADDRESSES,
  ROUTER_ASNS,
} from './book.ts';
import { FarRouter } from './far-router.ts';
import { type AgentProcess, Machine } from './machine.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SimulationClock } from './simulation-clock.ts';
import { addressText, Watcher, type Wire } from './watcher.ts';

export interface SimulationOptions {
  readonly seed: number;
  readonly bug?: PlantedBug;
}

const PASSWORD = 'correct horse';
const SAMPLE_MS = 200;
/** bytes that were held up arrive, and the session is back, within this time */
const RECOVERY_MS = 7000;
/** shorter than any hold time here, keepalives included */
const SHORT_MS = 1500;
const FLUSH_MS = 600;

export class Simulation {
  readonly clock = new SimulationClock();
  readonly random: SeededRandom;
  readonly network: MemoryNetwork;
  readonly machines: readonly Machine[];
  readonly routers: readonly FarRouter[];
  readonly watcher: Watcher;
  readonly claimNames: readonly string[];
  readonly #wires = new Map<string, Wire>();
  #updates = 0;
  book: Book;

  constructor({ seed, bug }: SimulationOptions) {
    this.random = new SeededRandom(seed);
    const { clock, random } = this;
    this.network = new MemoryNetwork({ clock, random, latencyMs: 1 });
    this.claimNames = CLAIM_ADDRESSES.map((text) => formatClaimName(address(text)));
    this.book = firstBook();
    this.machines = NODES.map(
      (name, at) =>
        new Machine({
          name,
          address: `192.0.2.${11 + at}`,
          clock,
          random,
          network: this.network,
          password: PASSWORD,
          ...(bug === undefined ? {} : { bug }),
          onFact: (machine) => this.watcher?.note(machine),
          onTouch: (machine, router) => this.#touch(machine, router),
          onViolation: (invariant, detail) => this.watcher.violate(invariant, detail),
        }),
    );
    this.routers = Object.keys(ROUTER_ADDRESSES).map((name) => this.#router(name));
    for (const { name } of this.machines) {
      for (const { options } of this.routers) {
        this.#wires.set(`${name} ${options.name}`, {
          isCut: false,
          clearSinceMs: undefined,
          blockedSinceMs: 0,
          heldUpSinceMs: 0,
          epoch: 0,
        });
      }
    }
    this.watcher = new Watcher({
      clock,
      machines: this.machines,
      routers: this.routers,
      wire: (node, router) => this.wire(node, router),
      claimNames: this.claimNames,
    });
    for (const machine of this.machines) this.ownForeign(machine);
  }

  wire(node: string, router: string): Wire {
    const wire = this.#wires.get(`${node} ${router}`);
    if (wire === undefined) throw new Error(`no wire ${node} ${router}`);
    return wire;
  }

  #router(name: string): FarRouter {
    const { clock, random, network } = this;
    const find = (neighbour: string) => {
      const machine = this.machines.find(({ options }) => options.address === neighbour);
      if (machine === undefined) throw new Error(`no node at ${neighbour}`);
      return machine;
    };
    const router: FarRouter = new FarRouter(
      {
        name,
        asn: ROUTER_ASNS[name] ?? 0,
        address: address(ROUTER_ADDRESSES[name] ?? ''),
        ...(name === 'r2' ? { password: PASSWORD } : {}),
        clock,
        random,
        network,
        neighbours: this.machines.map(({ options }) => address(options.address)),
      },
      {
        onPath: (neighbour, claim, path) => {
          this.#updates += 1;
          this.watcher.onPath(router, find(neighbour), { claim, path });
        },
        onUp: (neighbour) => this.#onUp(find(neighbour), router),
        onDown: (neighbour) => this.watcher.onDown(router, find(neighbour)),
      },
    );
    return router;
  }

  /** What stands between a node and a router now; called after every change of that. */
  rewire(): void {
    for (const machine of this.machines) {
      for (const router of this.routers) this.#rewireOne(machine, router);
    }
  }

  #rewireOne(machine: Machine, router: FarRouter): void {
    const nowMs = this.clock.now();
    const wire = this.wire(machine.name, router.options.name);
    const isSilent = wire.isCut || machine.isFrozen;
    this.#silence(address(machine.options.address), router.options.address, isSilent);
    const isBlocked = isSilent || !router.isUp || machine.process === undefined;
    if (isBlocked) this.#block(wire, nowMs);
    else if (wire.blockedSinceMs !== undefined) {
      this.#unblock(wire, nowMs, router.table.has(machine.options.address));
    }
  }

  #silence(a: Address, b: Address, isSilent: boolean): void {
    for (const [from, to] of [[a, b] as const, [b, a] as const]) {
      if (isSilent) this.network.freeze(from, to);
      else if (this.network.isFrozen(from, to)) this.network.thaw(from, to);
    }
  }

  #block(wire: Wire, nowMs: number): void {
    wire.blockedSinceMs ??= nowMs;
    wire.heldUpSinceMs ??= nowMs;
    wire.clearSinceMs = undefined;
    wire.epoch += 1;
  }

  /** a session that has lived through a short break goes on; otherwise it has to come back first */
  #unblock(wire: Wire, nowMs: number, hasSession: boolean): void {
    const isShort = nowMs - (wire.blockedSinceMs ?? 0) < SHORT_MS;
    wire.blockedSinceMs = undefined;
    this.#clearAfter(wire, isShort && hasSession ? FLUSH_MS : RECOVERY_MS);
  }

  #clearAfter(wire: Wire, ms: number): void {
    const { epoch } = wire;
    this.later(ms, () => {
      if (wire.epoch === epoch) this.#clear(wire);
    });
  }

  #clear(wire: Wire): void {
    wire.heldUpSinceMs = undefined;
    wire.clearSinceMs ??= this.clock.now();
  }

  #onUp(machine: Machine, router: FarRouter): void {
    const wire = this.wire(machine.name, router.options.name);
    if (wire.blockedSinceMs === undefined) this.#clear(wire);
  }

  /** the session itself is touched by something that is meant to end it: a document, a key */
  #touch(machine: Machine, router: string): void {
    const wire = this.wire(machine.name, router);
    const { blockedSinceMs } = wire;
    this.#block(wire, this.clock.now());
    wire.blockedSinceMs = blockedSinceMs;
    if (blockedSinceMs === undefined) this.#clearAfter(wire, RECOVERY_MS);
  }

  /** an address that somebody took off by hand is there again within a second, if it has to be there all that time */
  expectBack(machine: Machine, { address: lost, interface: name }: KernelAddress): void {
    const claim = formatClaimName(lost);
    const fromMs = this.clock.now();
    const { process, disturbances } = machine;
    const sinceMs = this.watcher.bindWantedSince(machine, claim);
    if (process === undefined || machine.isFrozen || sinceMs === undefined) return;
    this.later(1000, () => {
      if (machine.process !== process || machine.disturbances !== disturbances) return;
      const wantedMs = this.watcher.bindWantedSince(machine, claim);
      if (wantedMs === undefined || wantedMs > fromMs) return;
      if (oracleBind(process, claim) !== name) return;
      const isBack = machine.kernel.addresses.some(
        (known) => known.interface === name && formatClaimName(known.address) === claim,
      );
      if (!isBack) this.watcher.violate('put-back', `${machine.name} ${claim} on ${name}`);
    });
  }

  ownForeign(machine: Machine): void {
    const texts = machine.kernel.addresses.filter(({ ours }) => !ours).map(addressText);
    this.watcher.foreign.set(machine.name, new Set(texts));
  }

  /** documents change, and every node hears of it in its own time */
  publish(change: Partial<Omit<Book, 'generation'>>): void {
    this.book = { ...this.book, ...change, generation: this.book.generation + 1 };
    for (const machine of this.machines) machine.show(() => this.book, this.random.next() * 300);
  }

  /** now and then the source cannot be read for long, and the saved View has to do */
  bootSometime(machine: Machine): void {
    const isLate = this.random.next() < 0.15;
    this.boot(machine, this.random.next() * (isLate ? 40_000 : 800));
  }

  boot(machine: Machine, showAfterMs = 100): void {
    if (machine.process !== undefined) return;
    for (const { options } of this.routers) {
      this.network.resetConnections(address(machine.options.address), options.address);
    }
    machine.start();
    machine.show(() => this.book, showAfterMs);
    this.rewire();
  }

  later(ms: number, work: () => void): void {
    this.clock.startTimer(ms, work);
  }

  /** the invariants are checked at every sample from here on */
  watch(): void {
    this.later(SAMPLE_MS, () => {
      this.watcher.sample();
      this.watch();
    });
  }

  get updates(): number {
    return this.#updates;
  }

  async pass(ms: number): Promise<void> {
    await settled();
    await this.clock.advance(ms, settled);
    await settled();
  }
}

/** all promises that can settle have */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function oracleBind({ oracle }: AgentProcess, claim: string): string | undefined {
  return oracle.claims.get(claim)?.bind;
}
