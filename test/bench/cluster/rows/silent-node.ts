/**
 * The node that holds an exclusive address dies in silence (its processes are frozen, no FIN, no RST, no NOTIFICATION; its kernel still acknowledges): how
 * long until FRR has the path of another node alone. With the leader elsewhere, and with the leader on the dead node.
 */

import { CONTROLLER_LEASE, NAMESPACE } from '../../../../src/model/names.ts';
import { IP_CLAIMS, IP_NODES, LEASES } from '../../../../src/sources/kube/resources.ts';
import { nowMs } from '../../../../tools/probe/monotonic.ts';
import { poolBody } from '../../../cluster/support/agent-documents.ts';
import { startAgent } from '../../../cluster/support/agent-run.ts';
import { at, type Cluster, conditionOf, startCluster } from '../../../cluster/support/cluster.ts';
import { BASE } from '../../../cluster/support/full-run.ts';
import { type HeraldRun, startHerald } from '../../../cluster/support/herald-run.ts';
import { loopbackPeer, nodeSource } from '../../../cluster/support/loopback.ts';
import type { OldRelease } from '../../../cluster/support/old-release.ts';
import { freePorts } from '../../../cluster/support/servers.ts';
import { claimBody } from '../../../support/fake-agents.ts';
import { untilValue } from '../../../support/poll.ts';
import { FrrRouter } from '../frr-router.ts';
import { programOf } from '../herald-balancer.ts';
import type { BenchOptions } from '../options.ts';
import { ms, NO_ANCHOR, p50, type Row, seconds, verdictOf } from '../report.ts';

const NODES = ['a', 'b', 'c'];
const ADDRESS = '198.18.0.1';
const PATIENTLY = { timeoutMs: 180_000, everyMs: 50 };
/** of looks at FRR's table while the next node is waited for */
const LOOK_EACH_MS = 20;

interface Times {
  readonly leaseSeconds: number;
  readonly holdSeconds: number;
  /** of the leader's Lease */
  readonly leaderSeconds: number;
  readonly targetMs: number;
}

const TIMES: readonly Times[] = [
  { leaseSeconds: 2, holdSeconds: 3, leaderSeconds: 4, targetMs: 7000 },
  { leaseSeconds: 15, holdSeconds: 9, leaderSeconds: 15, targetMs: 18_000 },
];

interface Death {
  readonly tookMs: number;
  /** from the last look at which FRR had the dead node's path to the first at which it had the next one's */
  readonly withoutMs: number;
  /** the longest time between two looks */
  readonly lookMs: number;
  /** looks at which FRR had both */
  readonly both: number;
}

export async function measureSilentNode(
  { sizes: { deaths }, release }: BenchOptions,
  say: (line: string) => void,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const times of TIMES) {
    const world = await World.start({ times, say, ...(release !== undefined && { release }) });
    try {
      rows.push(await rowOf(world, 'elsewhere', deaths));
      rows.push(await rowOf(world, 'on it', deaths));
    } finally {
      await world.stop();
    }
  }
  return rows;
}

type Leader = 'elsewhere' | 'on it';

async function rowOf(world: World, leader: Leader, deaths: number): Promise<Row> {
  const runs: Death[] = [];
  for (let run = 0; run < deaths; run += 1) runs.push(await world.death(leader));
  const tookMs = runs.map((run) => run.tookMs);
  const withoutMs = runs.map((run) => run.withoutMs);
  const lookMs = Math.max(...runs.map((run) => run.lookMs));
  const both = runs.reduce((sum, run) => sum + run.both, 0);
  const { leaseSeconds, holdSeconds, leaderSeconds, targetMs } = world.times;
  const isBound = leader === 'elsewhere';
  const leads = isBound
    ? 'the leader elsewhere'
    : `the leader on it (--leader-lease=${leaderSeconds})`;
  return {
    work: `exclusive address, its node dead in silence, ${leads}: lease ${leaseSeconds} s, FRR with hold time ${holdSeconds} s → FRR has the next node alone, ${deaths} runs`,
    anchor: NO_ANCHOR,
    target: isBound ? `each ≤ ${targetMs / 1000} s, never both` : '',
    measured: `p50 ${seconds(p50(tookMs))}, longest ${seconds(Math.max(...tookMs))}; FRR without any path p50 ${seconds(p50(withoutMs))}, with both nodes' paths at ${both} looks (at most ${ms(lookMs)} apart)`,
    verdict: isBound ? verdictOf(Math.max(...tookMs) <= targetMs && both === 0) : 'beside',
    samples: { tookMs, withoutMs, lookMs, both },
  };
}

interface Settings {
  readonly times: Times;
  readonly say: (line: string) => void;
  readonly release?: OldRelease;
}

class World {
  readonly times: Times;
  readonly #cluster: Cluster;
  readonly #router: FrrRouter;
  readonly #say: (line: string) => void;
  readonly #release: OldRelease | undefined;
  readonly #agents = new Map<string, HeraldRun>();
  readonly #controllers = new Map<string, HeraldRun>();

  private constructor(
    { times, say, release }: Settings,
    { cluster, router }: { readonly cluster: Cluster; readonly router: FrrRouter },
  ) {
    this.times = times;
    this.#cluster = cluster;
    this.#router = router;
    this.#say = say;
    this.#release = release;
  }

  static async start(settings: Settings): Promise<World> {
    const { times, say, release } = settings;
    const cluster = await startCluster({ audit: false, say });
    await cluster.installCrds(release?.crds);
    await cluster.applyKustomization(release?.base ?? BASE);
    const router = await FrrRouter.start(cluster.folder, times.holdSeconds);
    for (const node of NODES) await cluster.addNode(node);
    const { holdSeconds } = times;
    const timers = { holdSeconds, keepaliveSeconds: holdSeconds / 3, connectRetrySeconds: 1 };
    // bgpd takes no next hop of 127.0.0.0/8
    const more = { timers, nextHop: { ipv4: '192.0.2.1' } };
    await cluster.applyObjects(
      loopbackPeer('frr', router, NODES, more),
      poolBody('p', ['198.18.0.0/24'], { placement: { mode: 'exclusive' } }),
    );
    const world = new World(settings, { cluster, router });
    for (const node of NODES) await world.#boot(node);
    await cluster.api.create(IP_CLAIMS, claimBody(ADDRESS));
    return world;
  }

  async death(leader: Leader): Promise<Death> {
    for (const node of NODES) if (!this.#agents.has(node)) await this.#boot(node);
    const holder = await this.#ready();
    if (leader === 'elsewhere') await this.#leave(holder);
    else await this.#leadAt(holder);
    await this.#ready();
    const before = await this.#leader();
    if ((before === holder) !== (leader === 'on it')) throw new Error(`${before} leads by now`);
    const diedMs = nowMs();
    this.#agents.get(holder)?.freeze();
    this.#controllers.get(holder)?.freeze();
    const death = await this.#next(holder, diedMs);
    const after = await this.#leader();
    this.#say(
      `silent: lease ${this.times.leaseSeconds} s, leader ${leader}: ${seconds(death.tookMs)} (${holder} died, ${before} led, ${after} leads)`,
    );
    // a leader that lived and lost its Lease has measured the election too
    if (leader === 'elsewhere' && after !== before) this.#say('silent: the leader has changed');
    await this.#end(holder);
    return death;
  }

  /** Looks at FRR until it has another node's path and that alone. */
  async #next(dead: string, diedMs: number): Promise<Death> {
    let seen = { lastDeadMs: diedMs, lookedMs: diedMs, lookMs: 0, both: 0 };
    await untilValue(
      'the next node alone',
      async () => {
        const askedMs = nowMs();
        const found = await this.#holders();
        const hasDead = found.includes(dead);
        const both = seen.both + (hasDead && found !== dead ? 1 : 0);
        const lookMs = Math.max(seen.lookMs, nowMs() - seen.lookedMs);
        const lastDeadMs = hasDead ? askedMs : seen.lastDeadMs;
        seen = { lastDeadMs, lookedMs: nowMs(), lookMs, both };
        return found;
      },
      (found) => found !== dead && found.length === 1,
      { timeoutMs: PATIENTLY.timeoutMs, everyMs: LOOK_EACH_MS },
    );
    const { lastDeadMs, lookMs, both } = seen;
    return { tookMs: nowMs() - diedMs, withoutMs: nowMs() - lastDeadMs, lookMs, both };
  }

  async stop(): Promise<void> {
    for (const node of NODES) await this.#end(node);
    await this.#router.kill();
    await this.#cluster.stop();
  }

  /** an agent; and a controller, though one that comes leads only when the last one is gone */
  async #boot(node: string): Promise<void> {
    // 0.1 has 15 s for both, and no flags for it
    const isOld = this.#release !== undefined;
    const flags = isOld ? [] : [`--lease-duration=${this.times.leaseSeconds}`];
    const options = { cluster: this.#cluster, node, flags, ...programOf(this.#release) };
    this.#agents.set(node, await startAgent(options));
    await this.#control(node);
  }

  async #control(node: string): Promise<void> {
    const cluster = this.#cluster;
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const isOld = this.#release !== undefined;
    const lease = isOld ? [] : [`--leader-lease=${this.times.leaderSeconds}`];
    const [port = 0] = await freePorts(1);
    const address = `127.0.0.1:${port}`;
    const args = ['controller', `--identity=${node}`, `--metrics-address=${address}`, ...lease];
    const run = startHerald(args, {
      name: `controller-${node}`,
      folder: cluster.folder,
      kubeconfig,
      ...programOf(this.#release),
    });
    this.#controllers.set(node, run);
    // its lists are read: it can lead from now on
    const ready = async () => (await fetch(`http://${address}/readyz`)).ok;
    await untilValue(`the controller of ${node} is ready`, ready, (isReady) => isReady, PATIENTLY);
  }

  /** `a`: whom FRR has a path of */
  async #holders(): Promise<string> {
    const found = await this.#router.neighbours(ADDRESS);
    return found.map((from) => NODES.find((_, index) => nodeSource(index) === from)).join(' ');
  }

  /** every node is counted on, and one holds the address */
  async #ready(): Promise<string> {
    await untilValue(
      'every agent lives',
      async () => {
        const { items } = await this.#cluster.api.list(IP_NODES);
        return items.filter((each) => at(conditionOf(each, 'AgentAlive'), 'status') === 'True')
          .length;
      },
      (alive) => alive === NODES.length,
      PATIENTLY,
    );
    return await untilValue(
      'one holds it',
      () => this.#holders(),
      (found) => found.length === 1,
      PATIENTLY,
    );
  }

  /** another node leads: the controller of this one is started anew, behind the others */
  async #leave(node: string): Promise<void> {
    if ((await this.#leader()) !== node) return;
    await this.#controllers.get(node)?.stop();
    await this.#untilLeader((found) => found !== '' && found !== node);
    await this.#control(node);
  }

  async #leadAt(node: string): Promise<void> {
    const others = NODES.filter((each) => each !== node);
    for (const other of others) await this.#controllers.get(other)?.stop();
    await this.#untilLeader((found) => found === node);
    for (const other of others) await this.#control(other);
  }

  async #untilLeader(accept: (name: string) => boolean): Promise<void> {
    await untilValue('who leads', () => this.#leader(), accept, PATIENTLY);
  }

  async #leader(): Promise<string> {
    const { items } = await this.#cluster.api.list(LEASES);
    const lease = items.find(({ metadata }) => metadata.name === CONTROLLER_LEASE);
    return String(at(lease, 'spec', 'holderIdentity') ?? '').split('_')[0] ?? '';
  }

  async #end(node: string): Promise<void> {
    for (const runs of [this.#agents, this.#controllers]) {
      runs.get(node)?.thaw();
      await runs.get(node)?.kill();
      runs.delete(node);
    }
  }
}
