/**
 * Plays many agents in one process, as the API server sees them: each has the agent's own watches (claims, pools, peers, its Node), Lease, fence and
 * IPNode; the client is the agent's own too, and shared. No routers: whatever a claim's label says counts as announced.
 *
 *   node … reporting-agents-main.ts KUBECONFIG START_MS NAME,NAME,…
 *
 * Reads the line `state` and writes `FENCED LAST`: how many of them stand lower now, and when the last one came up (monotonic milliseconds).
 */

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { nodeClock, nodeRandom } from 'bgp-ts';
import { carriersOf } from '../../../src/agent/carriers.ts';
import { startKubeReport } from '../../../src/agent/kube-report/kube-report.ts';
import { ownLevels, type ReportedAgent } from '../../../src/agent/kube-report/report-facts.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { ClusterNode } from '../../../src/model/cluster-node.ts';
import type { Documents } from '../../../src/model/documents.ts';
import { AgentSource, type ClusterListener } from '../../../src/sources/kube/agent-source.ts';
import { createKubeApi } from '../../../src/sources/kube/api-client.ts';
import { loadKubeAccess } from '../../../src/sources/kube/kube-access.ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';

const NOBODY = carriersOf([], { isTold: () => false, refusal: () => undefined });
const NOTHING = {
  ...{ plans: [], peers: [], ranges: [], claims: [], bindings: new Map(), discards: new Map() },
};
const JOINED = { name: 'joined', state: 'open', sentence: 'it has joined' } as const;
const MOST_CALLS = 64;

class PlayedAgent implements ReportedAgent, ClusterListener {
  readonly decided = NOTHING;
  readonly carriers = NOBODY;
  readonly #name: string;
  readonly #onFence: (isFenced: boolean) => void;
  readonly #listeners = new Set<() => void>();
  documents: Documents | undefined;
  clusterNode: ClusterNode | undefined;
  isFenced = true;
  #observed: bigint | undefined;
  #isBehind = false;
  #guard = (): void => undefined;

  constructor(name: string, onFence: (isFenced: boolean) => void) {
    this.#name = name;
    this.#onFence = onFence;
  }

  get announced() {
    const levels = ownLevels(this.documents, this.#name);
    const observed = this.#observed === undefined ? {} : { observedClaims: this.#observed };
    return { levels, routes: levels.size, isCurrent: !this.#isBehind, ...observed };
  }

  status() {
    const since = '2026-01-01T00:00:00.000Z';
    return {
      ...{ version: 'played', pid: 1, node: { name: this.#name, labels: {} }, source: 'kube' },
      ...{ startedAt: since, joined: { ...JOINED, since } },
      ...{ sessions: [], claims: [], faults: [], warnings: [] },
    };
  }

  subscribe(onChange: () => void): () => void {
    this.#listeners.add(onChange);
    return () => void this.#listeners.delete(onChange);
  }

  guard(check: () => void): void {
    this.#guard = check;
  }

  giveBack(): Promise<boolean> {
    return Promise.resolve(true);
  }

  setFenced(sinceMs: number | undefined): void {
    this.isFenced = sinceMs !== undefined;
    this.#onFence(this.isFenced);
  }

  setObjection(): void {}
  setSecrets(): void {}
  setApiSilence(): void {}

  setDocuments(documents: Documents): void {
    this.#guard();
    this.documents = documents;
    this.#changed();
  }

  setNodeFacts(node: ClusterNode | undefined): void {
    this.clusterNode = node;
    this.#changed();
  }

  setObservedClaims(resourceVersion: bigint, isBehind = false): void {
    this.#observed = resourceVersion;
    this.#isBehind = isBehind;
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

const [, , kubeconfig = '', startMs = '0', list = ''] = process.argv;
let lastUpMs = 0;
const onFence = (isFenced: boolean): void => {
  if (!isFenced) lastUpMs = nowMs();
};
const access = await loadKubeAccess({
  kubeconfig,
  env: {},
  readFile: (path) => readFileSync(path, 'utf8'),
  clock: nodeClock,
});
const shared = { clock: nodeClock, random: nodeRandom, log: SILENT_LOG };
const api = createKubeApi(access, { ...shared, version: 'played', maxCalls: MOST_CALLS });
const agents = list.split(',').map((name) => {
  const agent = new PlayedAgent(name, onFence);
  const source = new AgentSource({ ...shared, api, nodeName: name, agent });
  // not all in one moment, as machines that were not started together
  setTimeout(() => {
    startKubeReport({
      ...{ ...shared, api, agent, node: name, instance: name },
      claimsHeardMs: () => source.placedHeardMs,
      awaitClaims: (names) => source.awaitClaims(names),
    });
    source.start();
  }, Math.random() * Number(startMs));
  return agent;
});
const input = createInterface({ input: process.stdin });
input.on('line', () => {
  const fenced = agents.filter(({ isFenced }) => isFenced).length;
  process.stdout.write(`${fenced} ${lastUpMs}\n`);
});
// whoever started it is gone
input.on('close', () => process.exit(0));
