/**
 * A node that holds many exclusive addresses is cordoned: two routers are looked at until all are with another node. BIRD's table is sampled; the other router
 * keeps every UPDATE that it reads, so that nothing between two samples is missed. How many addresses had no path, or two equal ones, at any moment.
 */

import { formatAddress } from 'bgp-ts';
import { IP_CLAIMS, NODES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { poolBody } from '../../../cluster/support/agent-documents.ts';
import { startBird } from '../../../cluster/support/bird.ts';
import { startCluster } from '../../../cluster/support/cluster.ts';
import { BASE, FullRun, type Path, Sampler } from '../../../cluster/support/full-run.ts';
import { loopbackPeer } from '../../../cluster/support/loopback.ts';
import {
  type ReceivingRouter,
  startReceivingRouter,
} from '../../../cluster/support/receiving-router.ts';
import { claimBody } from '../../../support/fake-agents.ts';
import { untilValue } from '../../../support/poll.ts';
import type { BenchOptions } from '../options.ts';
import { absences, type Drained, drainedOf } from '../path-record.ts';
import { count, ms, NO_ANCHOR, type Row, seconds, verdictOf } from '../report.ts';

const BOTH = ['a', 'b'];
const FIRST_ADDRESS = 0xc6120000; // 198.18.0.0
const PATIENTLY = { timeoutMs: 300_000, everyMs: 50 };
const CLIENTS = 16;

/** What one look at BIRD's table says of the addresses. */
interface Look {
  readonly absent: readonly string[];
  readonly equal: readonly string[];
  /** who has all of them, alone and at full preference; else empty */
  readonly holder: string;
}

export async function measureDrain(
  options: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const { drained } = options.sizes;
  const addresses = Array.from({ length: drained }, (_, index) =>
    formatAddress({ family: 'ipv4', bits: FIRST_ADDRESS + index }),
  );
  const { world, receiver } = await startWorld(options, say);
  try {
    say(`drain: ${drained} claims are made`);
    const make = (name: string) => world.cluster.api.create(IP_CLAIMS, claimBody(name));
    for (let at = 0; at < drained; at += CLIENTS) {
      await Promise.all(addresses.slice(at, at + CLIENTS).map(make));
    }
    return [rowOf(drained, await drain({ world, receiver, addresses, say }))];
  } finally {
    await receiver.stop();
    await world.stop();
  }
}

async function startWorld(
  { sizes: { drained }, release }: BenchOptions,
  say: (line: string) => void,
) {
  const cluster = await startCluster({ audit: false, say });
  await cluster.installCrds(release?.crds);
  await cluster.applyKustomization(release?.base ?? BASE);
  const bird = await startBird({ folder: cluster.folder });
  const receiver = await startReceivingRouter();
  const world = new FullRun(cluster, bird, BOTH);
  await world.furnish();
  const more = { maxRoutes: 2 * drained };
  await cluster.applyObjects(
    loopbackPeer('bird', bird, BOTH, more),
    loopbackPeer('receiver', receiver, BOTH, more),
    poolBody('p', ['198.18.0.0/16'], {
      placement: { mode: 'exclusive', nodeFilter: 'first-alive' },
      drain: { on: ['cordon'], waitSeconds: 10 },
    }),
  );
  await world.controller('one', [], release?.program);
  for (const node of BOTH) await world.agent(node, [], release?.program);
  return { world, receiver };
}

interface Context {
  readonly world: FullRun;
  readonly receiver: ReceivingRouter;
  readonly addresses: readonly string[];
  readonly say: (line: string) => void;
}

async function drain({ world, receiver, addresses, say }: Context): Promise<Drained> {
  const look = async () => lookAt(await world.paths(), addresses);
  const first = await untilValue(
    'one node has all of them',
    look,
    ({ holder }) => BOTH.includes(holder),
    { ...PATIENTLY, everyMs: 500 },
  );
  await receiver.waitFor('all', () => receiver.prefixes.length === addresses.length, 60_000);
  const others = BOTH.filter((node) => node !== first.holder);
  const before = addresses.map((address) => receiver.paths(`${address}/32`));
  receiver.forget();
  const sampler = new Sampler(look);
  await untilValue(
    'a first look',
    () => sampler.samples.length,
    (looks) => looks > 0,
  );
  say(`drain: ${first.holder} is cordoned`);
  const beganMs = nowMs();
  const body = { spec: { unschedulable: true } };
  await world.cluster.api.patch(NODES, first.holder, { kind: 'merge', body });
  await untilValue(
    `all are with ${others}`,
    () => {
      const { absent = [], equal = [], holder = '' } = sampler.samples.at(-1)?.paths ?? {};
      return { absent: absent.length, equal: equal.length, holder };
    },
    ({ holder }) => others.includes(holder),
    PATIENTLY,
  );
  const tookMs = nowMs() - beganMs;
  const samples = await sampler.stop();
  return {
    ...drainedOf(samples.map(({ atMs, paths }) => ({ atMs, ...paths }))),
    ...{ tookMs, told: absences(before.flat(), receiver.history, nowMs()) },
  };
}

function lookAt(paths: ReadonlyMap<string, readonly Path[]>, addresses: readonly string[]): Look {
  const of = (address: string) => paths.get(address) ?? [];
  const rank = ({ localPref, length, med }: Path) => `${localPref} ${length} ${med}`;
  const holders = new Set(
    addresses.map((address) => {
      const [path, ...more] = of(address);
      return more.length === 0 && path?.length === 1 ? path.node : '';
    }),
  );
  const [holder = '', ...others] = holders;
  return {
    absent: addresses.filter((address) => of(address).length === 0),
    equal: addresses.filter((address) => new Set(of(address).map(rank)).size < of(address).length),
    holder: others.length === 0 ? holder : '',
  };
}

function rowOf(drained: number, found: Drained): Row {
  const { absent, equal, looks, lookMs, tookMs, told, absentAtOnce, backMs } = found;
  const back =
    absent === 0
      ? ''
      : ` (${count(absentAtOnce)} at once, the last one back after ${seconds(backMs)})`;
  const longest = told.absent === 0 ? '' : ` (up to ${seconds(told.longestMs)})`;
  return {
    work: `a node with ${count(drained)} exclusive addresses is cordoned: addresses without a path, or with two equal ones, at any sample of BIRD's table, and by the UPDATEs that another router read`,
    anchor: NO_ANCHOR,
    target: '0 and 0 at any sample; 0 and 0 by UPDATEs',
    measured: `${absent}${back} and ${equal} in ${count(looks)} samples, p50 ${ms(lookMs.p50)} apart, at most ${ms(lookMs.most)}; ${told.absent}${longest} and ${told.equal} by UPDATEs; all are with the other node after ${seconds(tookMs)}`,
    // of the time between two samples the UPDATEs tell
    verdict: verdictOf(absent === 0 && equal === 0 && told.absent === 0 && told.equal === 0),
    samples: {
      ...{ absent, absentAtOnce, equal, tookMs, looks, backMs },
      ...{ lookP50Ms: lookMs.p50, lookMostMs: lookMs.most },
      ...{ toldAbsent: told.absent, toldEqual: told.equal, toldLongestMs: told.longestMs },
    },
  };
}
