/** docs/metrics.md has every metric with its type and its labels, as a scrape shows them once everything has happened that is counted. */

import { readFileSync } from 'node:fs';
import type { PeerStatus } from 'bgp-ts';
import { expect } from 'chai';
import type { ControllerFacts } from '../../../src/controller/facts.ts';
import { type AgentFacts, createAgentMetrics } from '../../../src/telemetry/agent-metrics.ts';
import { ControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';
import type { ApiMeter } from '../../../src/telemetry/metered-api.ts';
import { createMetricsBase } from '../../../src/telemetry/metrics-base.ts';

const process = {
  version: '',
  startedMs: 0,
  cpuSeconds: () => 0,
  residentBytes: () => 0,
  turns: { longestSeconds: () => 0, long: new Map() },
};

const SESSION: PeerStatus = {
  name: 'tor',
  state: 'established',
  sinceMs: 0,
  routesAdvertised: { ipv4: 1, ipv6: 1 },
  routesPending: 1,
  isSynced: true,
  owesEndOfRib: false,
  routesHeld: 0,
  counters: {
    establishedCount: 1,
    messagesSent: 1,
    messagesReceived: 1,
    bytesSent: 1,
    bytesReceived: 1,
    updatesReceived: 1,
    routesReceived: 1,
    routesWithdrawnByPeer: 0,
    routesTreatedAsWithdraw: 0,
    routesRejected: 0,
    notificationsSent: 1,
    notificationsReceived: 1,
    faults: 0,
  },
};
const AGENT: AgentFacts = {
  sessions: [SESSION],
  announced: 1,
  refused: new Map([['allowed', 1]]),
  isJoined: true,
  isStale: false,
  isDraining: false,
  lease: { isFenced: false, ageMs: 1 },
};
const CONTROLLER: ControllerFacts = {
  isLeading: true,
  unsynced: [],
  pools: [{ name: 'a', total: 1, used: 1, free: 0 }],
  peers: [{ name: 'x', nodes: 1, established: 1 }],
  claims: { pending: 0, placed: 1, refused: 0, withdrawn: 0, released: 0 },
  waiting: new Map([['PoolExhausted', 1]]),
  refusedDocuments: { pools: 0, claims: 0, peers: 0 },
  nodes: { joined: 1, 'not-joined': 0, draining: 0 },
};

function ask(meter: ApiMeter): void {
  meter.call('get', 'ippools', '200');
  meter.watchEnded('ippools', 'closed');
}

const METRICS = {
  controller: () => {
    const base = createMetricsBase({ ...process, role: 'controller' });
    const metrics = new ControllerMetrics(base);
    ask(base.meter);
    metrics.watch(() => CONTROLLER);
    metrics.counters.refused('PoolExhausted');
    metrics.counters.conflict('service');
    metrics.counters.queue('service', () => 1);
    return metrics;
  },
  agent: () => {
    const base = createMetricsBase({ ...process, role: 'agent' });
    const metrics = createAgentMetrics(base);
    ask(base.meter);
    metrics.watch(() => AGENT);
    metrics.applied(0.01);
    return metrics;
  },
};

/** `name type labels`, as a scrape tells them; labels that are there in some lines only are not told apart from others */
async function served(role: keyof typeof METRICS): Promise<readonly string[]> {
  const { text } = await METRICS[role]().text();
  const metrics = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return metrics.map(([, name = '', type = '']) => `${name} ${type} ${labels(text, name)}`).sort();
}

/** of its first line; `le` is every histogram's own */
function labels(text: string, name: string): string {
  const line = new RegExp(`^${name}(?:_bucket)?(?:\\{(.*)\\})? \\S+$`, 'm').exec(text);
  expect(line, `a line of ${name}`).not.to.equal(null);
  const found = [...(line?.[1] ?? '').matchAll(/(\w+)="[^"]*"/g)].map(([, label = '']) => label);
  return found.filter((label) => label !== 'le').join(' ');
}

/** the same of the tables below these headings */
function documented(...headings: readonly string[]): readonly string[] {
  const file = new URL('../../../docs/metrics.md', import.meta.url);
  const sections = readFileSync(file, 'utf8').split('\n## ');
  const wanted = sections.filter((each) => headings.includes(each.split('\n', 1)[0] ?? ''));
  return wanted
    .flatMap((each) => [...each.matchAll(/^\| `(\S+)` \| (\w+) \|([^|]*)\|/gm)])
    .map(([, name, type, cell = '']) => {
      const names = [...cell.matchAll(/`(\w+)`/g)].map(([, label = '']) => label);
      return `${name} ${type} ${names.join(' ')}`;
    })
    .sort();
}

describe('docs/metrics.md', () => {
  for (const role of ['controller', 'agent'] as const) {
    it(`has every metric of the ${role} with its labels, and no other`, async () => {
      expect(documented('Both', `herald ${role}`)).to.deep.equal(await served(role));
    });
  }
});
