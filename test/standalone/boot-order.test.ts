/**
 * Machines that boot in any order: every permutation of a router and three masters ends in the same state, which is read from the
 * router's own table, from its kernel and from a client that reaches all three. In every other permutation the API server
 * of a master comes up before its agent, in the rest after. And a master that never joins says nothing on the wire.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { startCapture } from '../support/capture.ts';
import { done, notYet, until } from '../support/poll.ts';
import { vip, vipPrefix } from './support/addresses.ts';
import { type EdgeKind, edgeKinds } from './support/edge-router.ts';
import { percentile, recordBoot, runCount } from './support/measurements.ts';
import { skipWithoutStandalone } from './support/require-standalone.ts';
import { createTopology, type Topology } from './support/topology.ts';

const masters = ['m1', 'm2', 'm3'];
/** Between two machines that boot: long enough for the next to find the one before it half started. */
const spacingMs = 150;
const machines = ['router', ...masters];

type BootTime = { readonly last: string; readonly ms: number };

describe('any boot order', () => {
  const topologies = new Map<EdgeKind, Topology>();
  const bootTimes: Readonly<Record<EdgeKind, BootTime[]>> = { bird: [], frr: [] };
  const each = () => [...topologies.values()];
  const of = (kind: EdgeKind): Topology => {
    const found = topologies.get(kind);
    if (found === undefined) throw new Error(`no ${kind}`);
    return found;
  };

  before(async function () {
    this.timeout(60_000);
    skipWithoutStandalone(this);
    for (const kind of edgeKinds) topologies.set(kind, await createTopology({ kind }));
  });

  after(async function () {
    this.timeout(90_000);
    await Promise.all(each().map((topology) => topology.destroy()));
  });

  afterEach(async function () {
    this.timeout(90_000);
    if (this.currentTest?.state === 'failed') {
      for (const { kind, edge, masters: all } of each()) {
        process.stderr.write(`--- ${kind}: ${edge.log().slice(-1500)}\n`);
        for (const master of all) process.stderr.write(`--- ${master.name}: ${master.log()}\n`);
      }
    }
    await Promise.all(each().map(switchOff));
  });

  for (const [index, order] of permutations(machines).entries()) {
    const isApiFirst = index % 2 === 0;
    const late = isApiFirst ? 'API servers before agents' : 'agents before API servers';
    it(`${order.join(', ')}; ${late}`, async () => {
      await Promise.all(
        each().map(async (topology) => {
          let lastMs = 0;
          for (const machine of order) {
            lastMs = nowMs();
            await bootMachine(topology, machine, isApiFirst);
            await delay(spacingMs);
          }
          await topology.routesOf(masters);
          bootTimes[topology.kind].push({ last: order.at(-1) ?? '', ms: nowMs() - lastMs });
          await reachesAll(topology);
        }),
      );
    });
  }

  it('ends with three ways in every order', () => {
    for (const kind of edgeKinds) {
      const times = bootTimes[kind].map(({ ms }) => ms);
      recordBoot({ id: 'boot-order', kind, times, runs: times.length });
      expect(times, `${kind}: orders`).to.have.length(permutations(machines).length);
      // who waits too long for the one that comes last does so in each of the six orders; a busy machine spoils one
      for (const last of machines) {
        const ofLast = bootTimes[kind].filter((time) => time.last === last).map(({ ms }) => ms);
        const label = `${kind}: ms from the boot of ${last}, the last`;
        expect(percentile(ofLast, 0.5), label).to.be.below(10_000);
      }
      expect(Math.max(...times), `${kind}: ms from the last boot`).to.be.below(20_000);
    }
  });

  for (const kind of edgeKinds) {
    it(`join late: no route until the API server is ready, then at once (${kind})`, async function () {
      this.timeout(120_000 + runCount() * 10_000);
      const topology = of(kind);
      await topology.edge.start();
      for (const name of masters) bootAgent(topology, name);
      const m3 = topology.master('m3');
      topology.master('m1').startApi();
      topology.master('m2').startApi();
      m3.startApi(false);
      await topology.steady(masters);
      await topology.routesOf(['m1', 'm2']);
      expect(await m3.holds(vip), 'the address is not on m3 yet').to.equal(false);
      const times: number[] = [];
      for (const count = runCount(); times.length < count; ) {
        m3.setReady(false);
        await topology.routesOf(['m1', 'm2']);
        const readyMs = nowMs();
        m3.setReady(true);
        await topology.routesOf(masters);
        times.push(nowMs() - readyMs);
      }
      recordBoot({ id: 'join-late', kind, times, runs: times.length });
      expect(percentile(times, 0.5), 'ms from ready to routed, p50').to.be.below(3_000);
      expect(Math.max(...times), 'ms from ready to routed, the worst').to.be.below(8_000);
      await reachesAll(topology);
    });

    it(`join never: not one prefix on the wire (${kind})`, async () => {
      const topology = of(kind);
      const { masters: machines3 } = topology;
      const m3 = topology.master('m3');
      const capture = await startCapture(topology.routerHost, m3.routerDevice);
      await topology.edge.start();
      for (const { name } of machines3) bootAgent(topology, name);
      topology.master('m1').startApi();
      topology.master('m2').startApi();
      // It answers, but never 200: a node whose `kubeadm join` failed.
      m3.startApi(false);
      await topology.routesOf(['m1', 'm2']);
      await topology.steady(masters, 4_000);
      const updates = await capture.frames('bgp.type == 2', ['bgp.length', 'bgp.type']);
      const messages = await capture.frames(`bgp && ip.src == ${m3.address}`, ['bgp.type']);
      const prefixes = await capture.frames(
        'bgp.nlri_prefix || bgp.mp_reach_nlri_ipv4_prefix || bgp.mp_reach_nlri_ipv6_prefix || bgp.update.path_attribute.mp_reach_nlri',
        ['frame.number'],
      );
      await capture.stop();
      const types = new Set(messages.flatMap((message) => message['bgp.type'].split(',')));
      // FRR asks for all routes again: the answer is a pair of ROUTE-REFRESH markers (RFC 7313) with nothing in between.
      types.delete('5');
      expect([...types].sort(), 'OPEN, End-of-RIB, KEEPALIVE').to.deep.equal(['1', '2', '4']);
      expect(prefixes, 'prefixes').to.deep.equal([]);
      const lengths = updates.flatMap((frame) => {
        const kinds = frame['bgp.type'].split(',');
        return frame['bgp.length']
          .split(',')
          .filter((_, at) => kinds[at] === '2')
          .map(Number);
      });
      // 23 octets end IPv4; those of another family carry an empty MP_UNREACH_NLRI and no more.
      expect(Math.max(...lengths), 'octets of the longest UPDATE').to.be.at.most(30);
      expect(await topology.edge.announcers(vipPrefix)).to.not.include(m3.address);
      expect(await m3.holds(vip), 'the address is not on m3').to.equal(false);
      recordBoot({ id: 'join-never', kind, times: [], runs: 1 });
    });
  }
});

function bootAgent(topology: Topology, name: string): void {
  const master = topology.master(name);
  master.writeDocuments({ address: vip });
  master.startAgent();
}

async function bootMachine(
  topology: Topology,
  machine: string,
  isApiFirst: boolean,
): Promise<void> {
  if (machine === 'router') return await topology.edge.start();
  if (isApiFirst) topology.master(machine).startApi();
  else await delay(0);
  bootAgent(topology, machine);
  if (!isApiFirst) {
    await delay(spacingMs);
    topology.master(machine).startApi();
  }
}

/** Power off, and nothing of this life is left for the next: each boot is the first one. */
async function switchOff(topology: Topology): Promise<void> {
  if (topology.edge.isRunning) await topology.edge.stop();
  await Promise.all(
    topology.masters.map(async (master) => {
      await master.stopAll();
      await master.powerCycle(vip);
      master.forget();
    }),
  );
}

/** The client reaches every master through the address, and loses no probe over it. */
async function reachesAll(topology: Topology): Promise<void> {
  const prober = await topology.probe(5, 10);
  try {
    const sinceMs = nowMs();
    await until(
      'the client is answered by all three',
      () => {
        const servers = new Set(prober.read().map((probe) => probe.who));
        return masters.every((name) => servers.has(name)) ? done(true) : notYet([...servers]);
      },
      { everyMs: 20 },
    );
    const untilMs = nowMs();
    const lost = (await prober.stop()).filter(
      ({ sentMs, lost: why }) => sentMs >= sinceMs && sentMs <= untilMs && why !== undefined,
    );
    expect(lost, 'lost probes').to.deep.equal([]);
  } finally {
    await prober.stop();
  }
}

function permutations<T>(items: readonly T[]): T[][] {
  if (items.length <= 1) return [[...items]];
  return items.flatMap((first, index) =>
    permutations(items.filter((_, at) => at !== index)).map((rest) => [first, ...rest]),
  );
}
