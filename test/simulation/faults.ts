/**
 * What can happen. Each fault picks its victim by the run's random numbers, happens, and arranges for its own end; undefined means that
 * there was nothing to happen to, and does not count. What a person or a document does counts as a fault too: to the agent it is one.
 */

import { parseClaimName } from '../../src/model/claim-name.ts';
import { address } from '../src/agent/scenery.ts';
import { CLAIM_ADDRESSES, type ClaimPage, claimPage, POOL_SIZE } from './book.ts';
import type { AgentProcess, Machine } from './machine.ts';
import type { Simulation } from './simulation.ts';

export interface Fault {
  readonly name: string;
  readonly weight: number;
  /** what it was, for the story; undefined = nothing happened */
  readonly happen: (run: Simulation) => string | undefined;
}

const HOUR_MS = 3_600_000;

function pick<T>(run: Simulation, from: readonly T[]): T | undefined {
  return from[run.random.below(from.length)];
}

function someMs(run: Simulation, mostMs: number): number {
  return 50 + run.random.next() ** 2 * mostMs;
}

function machineOf(run: Simulation): Machine {
  const machine = pick(run, run.machines);
  if (machine === undefined) throw new Error('no machines');
  return machine;
}

/** a process that hears people and signals at once */
function awake(run: Simulation): { machine: Machine; process: AgentProcess } | undefined {
  const machine = machineOf(run);
  const { process } = machine;
  if (process === undefined || process.isStopping || machine.isFrozen) return undefined;
  return { machine, process };
}

/**
 * What happens in the kernel of a frozen process happens to it when it thaws, in an order with everything else that waited for
 * it; what is right then depends on that order, so the oracle could not say.
 */
function whenThawed(run: Simulation, machine: Machine, work: () => void): void {
  if (machine.isFrozen) run.later(500, () => whenThawed(run, machine, work));
  else work();
}

function fail(run: Simulation, machine: Machine, name: string): void {
  machine.failing.add(name);
  run.later(someMs(run, 12_000), () => machine.failing.delete(name));
}

function edit(
  run: Simulation,
  change: (page: ClaimPage) => Partial<ClaimPage> | undefined,
): string | undefined {
  const page = pick(run, [...run.book.claims.values()]);
  const over = page && change(page);
  if (page === undefined || over === undefined) return undefined;
  const edited = { ...page, ...over, edition: page.edition + 1 };
  run.publish({ claims: new Map([...run.book.claims, [page.name, edited]]) });
  return `${page.name} ${JSON.stringify(over)}`;
}

const CHECKS: readonly Fault[] = [
  {
    name: 'api-down',
    weight: 4,
    happen: (run) => {
      const machine = machineOf(run);
      if (!machine.api.isUp) return undefined;
      machine.api = { isUp: false, failNext: 0 };
      run.later(someMs(run, 9000), () => {
        machine.api = { isUp: true, failNext: 0 };
      });
      return machine.name;
    },
  },
  {
    name: 'api-stumbles',
    weight: 5,
    happen: (run) => {
      const machine = machineOf(run);
      machine.api = { ...machine.api, failNext: 2 };
      return machine.name;
    },
  },
  {
    name: 'claim-unhealthy',
    weight: 6,
    happen: (run) => {
      const machine = machineOf(run);
      const name = pick(run, run.claimNames) ?? '';
      fail(run, machine, name);
      return `${machine.name} ${name}`;
    },
  },
  {
    name: 'claim-stumbles',
    weight: 5,
    happen: (run) => {
      const machine = machineOf(run);
      const name = pick(run, run.claimNames) ?? '';
      machine.stumbling.set(name, 2);
      return `${machine.name} ${name}`;
    },
  },
];

const DOCUMENTS: readonly Fault[] = [
  { name: 'claim-edited', weight: 4, happen: (run) => edit(run, () => ({})) },
  {
    name: 'claim-moved',
    weight: 9,
    happen: (run) =>
      edit(run, (page) => {
        const node = pick(run, run.machines)?.name ?? 'n1';
        return page.mode === 'exclusive' && page.node !== node ? { node } : undefined;
      }),
  },
  {
    name: 'claim-check-changed',
    weight: 4,
    happen: (run) =>
      edit(run, ({ name, hasCheck }) => {
        // now and then what the new check asks is not there at all
        if (!hasCheck && run.random.next() < 0.5) fail(run, machineOf(run), name);
        return { hasCheck: !hasCheck };
      }),
  },
  {
    name: 'claim-withdrawn',
    weight: 3,
    happen: (run) => edit(run, ({ isWithdrawn }) => ({ isWithdrawn: !isWithdrawn })),
  },
  {
    name: 'claim-added',
    weight: 6,
    happen: (run) => {
      const at = run.random.below(CLAIM_ADDRESSES.length);
      const page = claimPage(at, { createdMs: run.clock.now() });
      if (run.book.claims.has(page.name)) return undefined;
      run.publish({ claims: new Map([...run.book.claims, [page.name, page]]) });
      return page.name;
    },
  },
  {
    name: 'claim-removed',
    weight: 4,
    happen: (run) => {
      const page = pick(run, [...run.book.claims.values()]);
      if (page === undefined || run.book.claims.size < 6) return undefined;
      const claims = new Map([...run.book.claims].filter(([name]) => name !== page.name));
      const bad = new Set([...run.book.bad].filter((name) => name !== page.name));
      run.publish({ claims, bad });
      return page.name;
    },
  },
  {
    name: 'pool-resized',
    weight: 4,
    happen: (run) => {
      const poolEnd = POOL_SIZE - 1 - run.random.below(8);
      run.publish({ poolEnd });
      return `${poolEnd}`;
    },
  },
  {
    name: 'bad-document',
    weight: 4,
    happen: (run) => {
      const page = pick(run, [...run.book.claims.values()]);
      if (page === undefined) return undefined;
      run.publish({ bad: new Set([...run.book.bad, page.name]) });
      run.later(someMs(run, 15_000), () => {
        run.publish({ bad: new Set([...run.book.bad].filter((name) => name !== page.name)) });
      });
      return page.name;
    },
  },
  {
    name: 'peer-edited',
    weight: 1,
    happen: (run) => {
      const page = run.book.peers.get('r2');
      if (page === undefined) return undefined;
      const edited = { ...page, holdSeconds: 7 - page.holdSeconds };
      run.publish({ peers: new Map([...run.book.peers, ['r2', edited]]) });
      return `r2 ${edited.holdSeconds}`;
    },
  },
  {
    name: 'peer-removed',
    weight: 1,
    happen: (run) => {
      const page = run.book.peers.get('r2');
      if (page === undefined) return undefined;
      run.publish({ peers: new Map([...run.book.peers].filter(([name]) => name !== 'r2')) });
      run.later(someMs(run, 8000), () => {
        run.publish({ peers: new Map([...run.book.peers, ['r2', page]]) });
      });
      return 'r2';
    },
  },
  {
    name: 'max-routes-changed',
    weight: 2,
    happen: (run) => {
      const page = run.book.peers.get('r2');
      if (page === undefined) return undefined;
      const maxRoutes = 3 + run.random.below(8);
      run.publish({ peers: new Map([...run.book.peers, ['r2', { ...page, maxRoutes }]]) });
      return `r2 ${maxRoutes}`;
    },
  },
];

const PROCESSES: readonly Fault[] = [
  {
    name: 'sigterm',
    weight: 3,
    happen: (run) => {
      const found = awake(run);
      if (found === undefined) return undefined;
      const { machine } = found;
      machine.terminate((process) => {
        run.watcher.onStopped(machine, process);
        run.rewire();
        run.later(someMs(run, 6000), () => run.bootSometime(machine));
      });
      return machine.name;
    },
  },
  {
    name: 'kill',
    weight: 3,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.process === undefined) return undefined;
      machine.kill();
      for (const { options } of run.routers) {
        run.network.resetConnections(address(machine.options.address), options.address);
      }
      run.later(someMs(run, 6000), () => run.bootSometime(machine));
      return machine.name;
    },
  },
  {
    name: 'power-off',
    weight: 1,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.process === undefined) return undefined;
      machine.kill();
      const wires = run.routers.map(({ options }) => run.wire(machine.name, options.name));
      for (const wire of wires) wire.isCut = true;
      // what was in the memory of the machine is gone, with the addresses of its kernel
      for (const { address: known, interface: name, ours } of machine.kernel.addresses) {
        if (ours) machine.kernel.removeAddress(known, name);
      }
      run.later(someMs(run, 8000), () => {
        for (const wire of wires) wire.isCut = false;
        run.bootSometime(machine);
      });
      return machine.name;
    },
  },
  {
    name: 'freeze',
    weight: 3,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.process === undefined || machine.isFrozen) return undefined;
      const { process } = machine;
      machine.freeze();
      run.later(someMs(run, 9000), () => {
        if (machine.process !== process) return;
        machine.thaw();
        run.rewire();
      });
      return machine.name;
    },
  },
  {
    name: 'wall-clock-stepped',
    weight: 2,
    happen: (run) => {
      const machine = machineOf(run);
      machine.wallOffsetMs += run.random.next() < 0.5 ? HOUR_MS : -HOUR_MS;
      return `${machine.name} ${machine.wallOffsetMs}`;
    },
  },
  {
    name: 'state-file-lost',
    weight: 1,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.stateFile === undefined) return undefined;
      machine.stateFile = undefined;
      return machine.name;
    },
  },
];

const NETWORK: readonly Fault[] = [
  {
    name: 'link-cut',
    weight: 3,
    happen: (run) => {
      const machine = machineOf(run);
      const router = pick(run, run.routers);
      if (router === undefined) return undefined;
      const wire = run.wire(machine.name, router.options.name);
      if (wire.isCut) return undefined;
      wire.isCut = true;
      run.later(someMs(run, 9000), () => {
        // a machine that was switched off meanwhile comes back by itself
        if (machine.process === undefined) return;
        wire.isCut = false;
        run.rewire();
      });
      return `${machine.name} ${router.options.name}`;
    },
  },
  {
    name: 'router-restart',
    weight: 1,
    happen: (run) => {
      const router = pick(run, run.routers);
      if (router === undefined || !router.isUp) return undefined;
      router.crash();
      run.later(someMs(run, 4000), () => {
        router.start();
        run.rewire();
      });
      return router.options.name;
    },
  },
  {
    name: 'password-file-vanished',
    weight: 2,
    happen: (run) => {
      const machine = machineOf(run);
      const { password } = machine;
      if (password === undefined) return undefined;
      machine.password = undefined;
      run.later(someMs(run, 7000), () => {
        machine.password = password;
      });
      return machine.name;
    },
  },
];

const KERNEL: readonly Fault[] = [
  {
    name: 'address-removed',
    weight: 4,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.isFrozen) return undefined;
      const victim = pick(
        run,
        machine.kernel.addresses.filter(({ ours }) => ours),
      );
      if (victim === undefined) return undefined;
      run.expectBack(machine, victim);
      machine.kernel.removeAddress(victim.address, victim.interface);
      return `${machine.name} ${victim.interface}`;
    },
  },
  {
    name: 'foreign-address',
    weight: 2,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.isFrozen) return undefined;
      const foreign = address(`203.0.113.${run.random.below(50)}`);
      machine.kernel.removeAddress(foreign, 'lo');
      machine.kernel.addAddress(foreign, 'lo');
      run.ownForeign(machine);
      return machine.name;
    },
  },
  {
    name: 'claimed-address-taken',
    weight: 3,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.isFrozen) return undefined;
      const text = pick(run, CLAIM_ADDRESSES) ?? '';
      const name = run.random.next() < 0.5 ? 'eth0' : 'lo';
      const taken = address(text);
      const prefixLength = taken.family === 'ipv4' ? 32 : 128;
      if (machine.kernel.addresses.some(({ address: known }) => same(known, taken)))
        return undefined;
      machine.kernel.addAddress(taken, name, { prefixLength });
      machine.disturbances += 1;
      run.ownForeign(machine);
      run.later(someMs(run, 9000), () => {
        whenThawed(run, machine, () => {
          machine.kernel.removeAddress(taken, name, prefixLength);
          run.ownForeign(machine);
        });
      });
      return `${machine.name} ${text} on ${name}`;
    },
  },
  {
    name: 'interface-vanished',
    weight: 2,
    happen: (run) => {
      const machine = machineOf(run);
      if (machine.isFrozen) return undefined;
      if (!machine.kernel.links.some(({ name }) => name === 'eth1')) return undefined;
      machine.kernel.removeLink('eth1');
      machine.disturbances += 1;
      run.later(someMs(run, 9000), () => {
        whenThawed(run, machine, () => machine.kernel.addLink('eth1'));
      });
      return machine.name;
    },
  },
];

const PEOPLE: readonly Fault[] = [
  {
    name: 'drain-node',
    weight: 3,
    happen: (run) => {
      const found = awake(run);
      if (found === undefined) return undefined;
      const { machine, process } = found;
      const { oracle, agent } = process;
      if (oracle.book === undefined) return undefined;
      oracle.nodeDrainEndMs ??= run.clock.now() + oracle.waitMs;
      oracle.isDrainedByPerson = true;
      agent.drain(undefined, 'a person asked');
      run.watcher.note(machine);
      run.later(someMs(run, 9000), () => undrain(run, machine, process));
      return machine.name;
    },
  },
  {
    name: 'drain-claim',
    weight: 3,
    happen: (run) => {
      const found = awake(run);
      if (found === undefined) return undefined;
      const { machine, process } = found;
      const { oracle, agent } = process;
      const name = pick(run, run.claimNames) ?? '';
      const target = parseClaimName(name);
      if (target === undefined) return undefined;
      const { ok } = agent.drain(target, 'a person asked');
      if (ok !== oracle.claims.has(name)) run.watcher.violate('answers', `drain ${name}: ${ok}`);
      if (!ok) return undefined;
      const endMs = oracle.claimDrainEndMs.get(name) ?? run.clock.now() + oracle.waitMs;
      oracle.claimDrainEndMs.set(name, endMs);
      run.watcher.note(machine);
      run.later(someMs(run, 9000), () => undrain(run, machine, process, name));
      return `${machine.name} ${name}`;
    },
  },
  {
    name: 'undrain',
    weight: 3,
    happen: (run) => {
      const found = awake(run);
      if (found === undefined) return undefined;
      const { machine, process } = found;
      const { claimDrainEndMs, nodeDrainEndMs } = process.oracle;
      if (nodeDrainEndMs !== undefined) undrain(run, machine, process);
      for (const name of [...claimDrainEndMs.keys()]) undrain(run, machine, process, name);
      return machine.name;
    },
  },
];

function undrain(run: Simulation, machine: Machine, process: AgentProcess, name?: string): void {
  if (machine.process !== process || process.isStopping || machine.isFrozen) return;
  const { oracle, agent } = process;
  if (name === undefined) {
    oracle.nodeDrainEndMs = undefined;
    oracle.isDrainedByPerson = false;
    agent.undrain(undefined);
  } else {
    const target = parseClaimName(name);
    if (target === undefined || !agent.undrain(target).ok) return;
    oracle.claimDrainEndMs.delete(name);
  }
  run.watcher.note(machine);
}

function same(a: ReturnType<typeof address>, b: ReturnType<typeof address>): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export const FAULTS: readonly Fault[] = [
  ...CHECKS,
  ...DOCUMENTS,
  ...PROCESSES,
  ...NETWORK,
  ...KERNEL,
  ...PEOPLE,
];
