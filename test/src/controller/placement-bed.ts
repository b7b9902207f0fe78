/** A controller's loops of liveness and placement on an API in memory, with agents that renew and answer once a second: what tests of placement share. */

import { setImmediate as turn } from 'node:timers/promises';
import { ControllerCaches } from '../../../src/controller/caches.ts';
import type { RecordedEvent } from '../../../src/controller/events.ts';
import { LivenessLoop } from '../../../src/controller/liveness-loop.ts';
import { PlacementLoop } from '../../../src/controller/placement-loop.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import { CONTROLLER_LEASE, NAMESPACE } from '../../../src/model/names.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_POOLS, LEASES } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool, FakeAgent } from '../../support/fake-agents.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { type MemoryCall, MemoryKubeApi } from '../../support/memory-kube-api.ts';

const RANDOM = { next: () => 0.5 };

class Controller {
  readonly events: RecordedEvent[] = [];
  readonly #caches: ControllerCaches;
  readonly #loops: readonly { start(): void; stop(): void }[];

  constructor(
    api: MemoryKubeApi,
    clock: ManualClock,
    more: { rebalanceEveryMs?: number; maxStaleMs?: number } = {},
  ) {
    const base = { api, clock, random: RANDOM, log: SILENT_LOG };
    this.#caches = new ControllerCaches(base);
    const events = { record: (event: RecordedEvent) => void this.events.push(event) };
    const context = { ...base, caches: this.#caches, events };
    const liveness = new LivenessLoop(context);
    this.#loops = [liveness, new PlacementLoop({ ...context, liveness, ...more })];
  }

  start(): this {
    this.#caches.start();
    this.#caches.whenSynced(() => {
      for (const loop of this.#loops) loop.start();
    });
    return this;
  }

  stop(): void {
    for (const loop of this.#loops) loop.stop();
    this.#caches.stop();
  }
}

export class Bed {
  readonly api = new MemoryKubeApi();
  readonly clock = new ManualClock();
  readonly agents: FakeAgent[] = [];
  readonly controllers: Controller[] = [];
  #second = 0;
  /** nothing is written to Leases */
  isFrozen = false;
  isAnswering = true;

  constructor(pool: object = exclusivePool('p')) {
    this.api.put(IP_POOLS, pool);
    this.api.put(LEASES, { metadata: { name: CONTROLLER_LEASE, namespace: NAMESPACE } });
  }

  async join(...names: readonly string[]): Promise<void> {
    for (const name of names) {
      const agent = new FakeAgent(this.api, name);
      this.agents.push(agent);
      await agent.join();
    }
  }

  agent(name: string): FakeAgent {
    const agent = this.agents.find((each) => each.name === name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    return agent;
  }

  control(more: { rebalanceEveryMs?: number; maxStaleMs?: number } = {}): Controller {
    const controller = new Controller(this.api, this.clock, more).start();
    this.controllers.push(controller);
    return controller;
  }

  async run(seconds: number): Promise<void> {
    for (let end = this.#second + seconds; this.#second < end; this.#second += 1) {
      if (!this.isFrozen) await this.#beat();
      for (let step = 0; step < 4; step += 1) {
        await this.rest();
        this.clock.advance(250);
      }
    }
    await this.rest();
  }

  async #beat(): Promise<void> {
    if (this.#second % 2 === 0) {
      const body = { spec: { renewTime: String(this.#second) } };
      await this.api.patch(LEASES, CONTROLLER_LEASE, { kind: 'merge', body });
    }
    for (const [index, agent] of this.agents.entries()) {
      if (agent.isSilent) continue;
      if (this.isAnswering) await agent.answer();
      if (this.#second % 5 === index % 5) await agent.renew();
    }
  }

  async rest(): Promise<void> {
    for (let count = 0; count < 30; count += 1) await turn();
  }

  claim(index: number, spec: object = {}, labels: Record<string, string> = {}): void {
    this.api.put(IP_CLAIMS, claimBody(claimName(index), { ...spec }, labels));
  }

  labels(index: number): Readonly<Record<string, string>> {
    return this.api.object(IP_CLAIMS, claimName(index))?.metadata.labels ?? {};
  }

  node(index: number): unknown {
    return nodeOf(this.api.object(IP_CLAIMS, claimName(index)));
  }

  status(index: number): Record<string, unknown> {
    return JSON.parse(
      JSON.stringify(this.api.object(IP_CLAIMS, claimName(index))?.['status'] ?? {}),
    );
  }

  loads(): readonly number[] {
    const loads = new Map(this.agents.map(({ name }) => [name, 0]));
    for (const claim of this.api.all(IP_CLAIMS)) {
      const node = String(nodeOf(claim));
      loads.set(node, (loads.get(node) ?? 0) + 1);
    }
    return [...loads.values()];
  }

  writes(): readonly MemoryCall[] {
    return this.api.calls.filter(
      ({ verb, resource }) => verb === 'patch' && resource === IP_CLAIMS,
    );
  }

  stop(): void {
    for (const controller of this.controllers) controller.stop();
  }
}

export function nodeOf(claim: KubeObject | undefined): unknown {
  return Object(claim?.['spec'])['node'];
}
