/**
 * The longest turn of the agent's main thread in each kind of work, with many claims and eight neighbours, by a timer inside the process that every
 * release has alike (turn-probe.ts); and whether the sessions, hold time 9 s, live through all of it. The agent's own measure is held against it.
 */

import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { ControlClient } from '../../../../src/control/client.ts';
import { untilValue } from '../../../support/poll.ts';
import {
  AgentProcess,
  address,
  claimDocument,
  claimDocuments,
  METRICS_PORT,
  peerDocument,
  poolDocument,
} from '../agent-process.ts';
import { askStatus } from '../ask-status.ts';
import { LoopbackBird } from '../loopback-bird.ts';
import type { Row } from '../report.ts';
import { NOW, onBoth, PEERS, type Stage } from '../stage.ts';
import { longestTurn, ownLongestMs } from '../turn-file.ts';

const LIMIT_MS = 200;
const HOLD_SECONDS = 9;
const DRAIN_SECONDS = 10;
/** a release that stands still for minutes is told of after so long */
const PATIENCE_MS = 300_000;
const NARROW = '198.18.0.0/20';
const NARROW_SIZE = 4096;
/** stays in the pool, and no claim has it at first */
const SPARE = '198.19.255.0/24';
const WIDE = '198.18.0.0/15';
const BAD_OCTETS = 4_000_000;

/** by the name of the work: the longest turn of each round */
type Turns = Map<string, number[]>;

interface Outcome {
  readonly turns: Turns;
  /** works in which a session was lost */
  readonly lost: number[];
  /** by how much the agent's own measure differs from the probe's; each round */
  readonly apart: number[];
}

/** 10,000 claims: each turn has its bound. */
export async function measureTurns(stage: Stage): Promise<readonly Row[]> {
  const claims = stage.options.claims ?? 10_000;
  const times = Math.min(stage.options.runs, 3);
  const { now, old } = await onBoth(stage, (program) => rounds(stage, { program, claims, times }));
  const words = `${claims.toLocaleString('en')} × ${PEERS}, longest turn: `;
  const rows = [...now.turns].map(([name, values]): Row => {
    const before = old?.turns.get(name);
    const own = { name: `${words}${name}`, unit: 'ms', limit: LIMIT_MS, values } as const;
    return before === undefined ? own : { ...own, old: before };
  });
  return [...rows, lostRow(claims, now, old), ...apartRows(claims, now)];
}

/** 20,000 claims: sessions live. */
export async function measureAlive(stage: Stage): Promise<readonly Row[]> {
  const claims = stage.options.claims ?? 20_000;
  const { now, old } = await onBoth(stage, (program) =>
    rounds(stage, { program, claims, times: 1 }),
  );
  const name = `${claims.toLocaleString('en')} × ${PEERS}, longest turn of all`;
  const longest = ({ turns }: Outcome) => [Math.max(...[...turns.values()].flat())];
  const before = old === undefined ? {} : { old: longest(old) };
  return [lostRow(claims, now, old), { name, unit: 'ms', values: longest(now), ...before }];
}

function lostRow(claims: number, now: Outcome, old: Outcome | undefined): Row {
  const name = `${claims.toLocaleString('en')} × ${PEERS}: works in which a session was lost (hold ${HOLD_SECONDS} s)`;
  const before = old === undefined ? {} : { old: old.lost };
  return { name, unit: 'lost', limit: 0, isWorst: true, values: now.lost, ...before };
}

function apartRows(claims: number, { apart }: Outcome): readonly Row[] {
  if (apart.length === 0) return [];
  const name = `${claims.toLocaleString('en')} × ${PEERS}: herald_longest_turn_seconds is apart from the probe by`;
  return [{ name, unit: 'ms', limit: 55, isWorst: true, values: apart }];
}

interface Asked {
  readonly program: string | undefined;
  readonly claims: number;
  readonly times: number;
}

async function rounds(stage: Stage, { program, claims, times }: Asked): Promise<Outcome> {
  const outcome: Outcome = { turns: new Map(), lost: [], apart: [] };
  for (let round = 0; round < times; round += 1) {
    const works = await Works.begin(stage, { program, claims, outcome });
    try {
      await works.all();
    } finally {
      await works.end();
    }
  }
  return outcome;
}

class Works {
  readonly #stage: Stage;
  readonly #agent: AgentProcess;
  readonly #bird: LoopbackBird;
  readonly #claims: number;
  readonly #outcome: Outcome;
  #lost = 0;

  private constructor(
    stage: Stage,
    parts: { agent: AgentProcess; bird: LoopbackBird; claims: number; outcome: Outcome },
  ) {
    this.#stage = stage;
    this.#agent = parts.agent;
    this.#bird = parts.bird;
    this.#claims = parts.claims;
    this.#outcome = parts.outcome;
  }

  static async begin(
    stage: Stage,
    { program, claims, outcome }: Omit<Asked, 'times'> & { outcome: Outcome },
  ): Promise<Works> {
    const peers = Array.from({ length: PEERS }, (_, index) =>
      peerDocument({ number: index + 1, holdSeconds: HOLD_SECONDS }),
    );
    const agent = new AgentProcess(stage.folder, {
      ...(program === undefined ? {} : { program }),
      peers,
      pool: poolDocument([WIDE], DRAIN_SECONDS),
      isProbed: true,
    });
    agent.reset();
    const bird = await LoopbackBird.start(stage.folder, PEERS);
    return new Works(stage, { agent, bird, claims, outcome });
  }

  async end(): Promise<void> {
    this.#outcome.lost.push(this.#lost);
    await this.#agent.end('SIGKILL');
    await this.#bird.stop();
  }

  async all(): Promise<void> {
    const agent = this.#agent;
    const claims = this.#claims;
    agent.write('claims.yaml', claimDocuments(claims));
    await this.#work('first documents', async () => {
      agent.start(NOW);
      await this.#has(claims);
    });
    await untilValue(
      'all sessions',
      async () => (await this.#bird.sessions()).size,
      (up) => up === PEERS,
    );
    await this.#isSaved();
    await this.#compare();
    await this.#work('one claim more, and the View saved', async () => {
      const savedMs = statSync(agent.savedView).mtimeMs;
      agent.write('one.yaml', [claimDocument(address(claims))]);
      await this.#has(claims + 1);
      await this.#isSaved(savedMs);
    });
    await this.#work('a link of the machine comes and goes', async () => {
      ip('link add bench0 type veth peer name bench1');
      await this.#isCalm();
      ip('link del bench0');
      await this.#isCalm();
    });
    await this.#work('an address of the machine comes and goes', async () => {
      ip('address add 192.0.2.1/24 dev lo');
      await this.#isCalm();
      ip('address del 192.0.2.1/24 dev lo');
      await this.#isCalm();
    });
    await this.#work('herald status', async () => {
      // a client that has too little of a CPU to read it is sent away; the turns of the agent are what counts here
      if (!(await askStatus(agent))) this.#stage.say('herald status was not answered in full');
    });
    await this.#work('metrics scraped', async () => {
      await ownLongestMs(METRICS_PORT);
    });
    await this.#drained();
    await this.#narrowed();
    await this.#work('4 MB of bad documents', async () => {
      agent.write('bad.yaml', [badList()]);
      agent.write('two.yaml', [claimDocument(address(claims + 10))]);
      await this.#has(claims + 5);
      await this.#isCalm();
    });
    agent.remove('bad.yaml');
    await this.#isCalm();
    await agent.end('SIGKILL');
    await this.#has(0);
    await this.#work('start from the saved View', async () => {
      agent.start(NOW);
      await this.#has(claims + 5);
    });
  }

  async #drained(): Promise<void> {
    const control = new ControlClient(this.#agent.socket);
    await this.#work('the node drained', async () => {
      await control.drain();
      await this.#has(0);
    });
    await this.#work('the drain undone', async () => {
      await control.undrain();
      await this.#has(this.#claims + 1);
    });
  }

  /** most of the claims leave; others come while those drain */
  async #narrowed(): Promise<void> {
    const agent = this.#agent;
    const peers = Array.from({ length: PEERS }, (_, index) =>
      peerDocument({ number: index + 1, holdSeconds: HOLD_SECONDS }),
    );
    const stay = Math.min(this.#claims + 1, NARROW_SIZE);
    await this.#work('a pool narrowed', async () => {
      agent.write('base.yaml', [...peers, poolDocument([NARROW, SPARE], DRAIN_SECONDS)]);
      await untilValue(
        'what leaves asks to be left',
        () => this.#bird.drainingCount(),
        (count) => count === (this.#claims + 1 - stay) * PEERS,
        { timeoutMs: PATIENCE_MS, everyMs: 100 },
      );
    });
    await this.#work('each decision while those leave', async () => {
      for (let n = 1; n <= 3; n += 1) {
        agent.write(`more-${n}.yaml`, [claimDocument(`198.19.255.${n}`)]);
        const isThere = () => this.#bird.has(`198.19.255.${n}/32`);
        await this.#bird.moment('one more', isThere, PATIENCE_MS);
      }
      ip('link add bench0 type veth peer name bench1');
      ip('link del bench0');
    });
    await this.#work('what has left is withdrawn', () => this.#has(stay + 3));
    await this.#work('the pool widened again', async () => {
      agent.write('base.yaml', [...peers, poolDocument([WIDE], DRAIN_SECONDS)]);
      await this.#has(this.#claims + 4);
    });
  }

  /** Until BIRD has so many routes of every neighbour. */
  async #has(routes: number): Promise<void> {
    await untilValue(
      `${routes} routes of ${PEERS} neighbours`,
      () => this.#bird.count(),
      (count) => count === routes * PEERS,
      { timeoutMs: PATIENCE_MS, everyMs: 100 },
    );
  }

  async #isSaved(beforeMs = 0): Promise<void> {
    const { savedView } = this.#agent;
    await untilValue(
      'the View is saved',
      async () => (existsSync(savedView) ? statSync(savedView).mtimeMs : 0),
      (at) => at > beforeMs,
      { timeoutMs: PATIENCE_MS, everyMs: 100 },
    );
  }

  /** a second with hardly any work */
  async #isCalm(): Promise<void> {
    let before = this.#agent.cpuMs();
    await untilValue(
      'the agent is calm',
      async () => {
        await pause(1000);
        const used = this.#agent.cpuMs() - before;
        before += used;
        return used;
      },
      (used) => used < 150,
      { timeoutMs: PATIENCE_MS, everyMs: 0 },
    );
  }

  async #work(name: string, work: () => Promise<void>): Promise<void> {
    const before = await this.#bird.sessions();
    const sinceMs = Date.now();
    await work();
    // what is late because of this work is written down by then
    await pause(500);
    const isLost = (await this.#bird.lostSince(before)) > 0;
    if (isLost) this.#lost += 1;
    const { ms, cpuMs } = longestTurn(this.#agent.turns, sinceMs);
    const known = this.#outcome.turns.get(name) ?? [];
    this.#outcome.turns.set(name, [...known, ms]);
    const told = `${ms.toFixed(0)} ms, at most ${cpuMs.toFixed(0)} ms of a CPU in one`;
    this.#stage.say(`${name}: ${told}${isLost ? '; A SESSION WAS LOST' : ''}`);
  }

  /** within the minute for which the agent remembers its longest turn */
  async #compare(): Promise<void> {
    const own = await ownLongestMs(METRICS_PORT);
    if (own === undefined) return;
    const { ms } = longestTurn(this.#agent.turns, 0);
    this.#stage.say(
      `herald_longest_turn_seconds: ${own.toFixed(0)} ms, the probe: ${ms.toFixed(0)} ms`,
    );
    this.#outcome.apart.push(Math.abs(own - ms));
  }
}

function ip(words: string): void {
  execFileSync('ip', words.split(' '));
}

/** a List that shares one mistake in every item */
function badList(): string {
  const item = `- apiVersion: herald.dev/v1alpha1\n  kind: IPClaim\n  metadata: {name: 198.19.200.1}\n  spec: {chekcs: []}\n`;
  const head = 'apiVersion: v1\nkind: List\nitems:\n';
  return `${head}${item.repeat(Math.floor((BAD_OCTETS - head.length) / item.length))}`;
}
