/** The agent of a cluster and one router, on a clock and a network of their own: what the router hears when the agent comes back, and when it stops. */

import { expect } from 'chai';
import { formatPrefix, ipv4, MemoryNetwork, Speaker } from '../../../protocol/index.ts';
import { Agent } from '../../../src/agent/agent.ts';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import type { AskHttp } from '../../../src/checks/ask-http.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { clusterNode } from '../controller/scenery.ts';
import * as scenery from './scenery.ts';

const AGENT = ipv4('192.0.2.2');
const ROUTER = ipv4('192.0.2.1');
const RANDOM = { next: () => 0.5 };
const PORT = 30_100;
const ANYCAST = { [ANYCAST_LABEL]: '' };
const GRACEFUL_SHUTDOWN = 0xffff0000;

const api = <T extends { readonly name: string }>(object: T): Sourced<T> => ({
  ...scenery.sourced(object),
  source: 'api',
});

function told(claims: readonly IpClaim[], source: 'api' | 'files' = 'api'): Documents {
  const peer = scenery.peer({ gracefulRestart: { restartSeconds: 30 } });
  return {
    peers: [api(peer)],
    pools: [api(scenery.pool())],
    claims: claims.map((one) => ({ ...api(one), source })),
    faults: [],
  };
}

class World {
  readonly clock = new ManualClock();
  readonly heard: string[] = [];
  readonly agent: Agent;
  /** what kube-proxy, and the checks, say */
  status = 200;
  isSilent = false;
  isPassing = true;
  readonly #network = new MemoryNetwork({ clock: this.clock, latencyMs: 1 });

  constructor(
    claims: readonly IpClaim[],
    isBack: boolean,
    over: Partial<AgentOptions> = {},
    source: 'api' | 'files' = 'api',
  ) {
    const { clock } = this;
    this.#startRouter();
    const speaker = new Speaker({
      clock,
      random: RANDOM,
      transport: this.#network.host(AGENT),
      interfaceAddresses: () => undefined,
      restarting: isBack,
    });
    this.agent = new Agent({ ...this.#options(claims, source), ...over, clock, speaker, isBack });
    this.agent.start();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1) {
      this.clock.advance(1);
      for (let turn = 0; turn < 3; turn += 1) await null;
    }
  }

  #startRouter(): void {
    const { clock } = this;
    const transport = this.#network.host(ROUTER);
    const router = new Speaker({
      clock,
      random: RANDOM,
      transport,
      interfaceAddresses: () => undefined,
      listen: { port: 179 },
    });
    router.subscribe((event) => {
      if (event.kind !== 'update-received') return;
      const { nlri, withdrawn, attributes } = event.update;
      const { mpUnreach, communities = [], asPath = [] } = attributes;
      const mark = communities.includes(GRACEFUL_SHUTDOWN) ? '~' : '';
      const length = asPath.flatMap(({ asns }) => asns).length;
      for (const prefix of nlri) this.heard.push(`${mark}${formatPrefix(prefix)} ×${length}`);
      for (const prefix of withdrawn) this.heard.push(`-${formatPrefix(prefix)}`);
      if (nlri.length + withdrawn.length > 0 || mpUnreach !== undefined) return;
      this.heard.push('end');
    });
    void router.start();
    const neighbour = { name: 'n', address: AGENT, localAsn: 64500, peerAsn: 64512, routerId: 2 };
    const settings = {
      ...neighbour,
      passive: true,
      gracefulRestart: { restartSeconds: 30 },
      inbound: { kind: 'keep' as const },
    };
    router.apply({ peers: [{ settings, routes: [] }] });
  }

  #options(
    claims: readonly IpClaim[],
    source: 'api' | 'files',
  ): Omit<AgentOptions, 'clock' | 'speaker'> {
    const { clock } = this;
    const ask: AskHttp = (_, __, answer) =>
      clock.startTimer(8, () =>
        answer(
          this.isSilent
            ? { kind: 'silent', sentence: 'refused' }
            : { kind: 'answered', status: this.status, body: '{}' },
        ),
      );
    const saved: SavedView = {
      version: 1,
      savedAtMs: clock.wallTimeMs(),
      routerId: 7,
      claimDrains: [],
      documents: told(claims, source),
      cluster: {
        node: clusterNode(scenery.NODE, { bootId: 'b' }),
        readyBoot: 'b',
      },
    };
    return {
      random: RANDOM,
      listen: () => undefined,
      addresses: new MemoryAddressTable({ host: new MemoryHost(['lo']) }),
      probe: (_, { answer }) => {
        const kind = () => (this.isPassing ? 'pass' : 'fail');
        clock.startTimer(2, () => answer({ kind: kind(), sentence: 'as told' }));
      },
      kubeProxy: { ask, url: 'http://proxy/healthz' },
      readPassword: () => '',
      store: { load: () => saved, save: () => undefined },
      log: SILENT_LOG,
      node: { name: scenery.NODE, labels: {} },
      asn: 64512,
      routerId: 7,
      isRouterIdFixed: false,
      joinCheck: 'none',
      maxStaleMs: 86_400_000,
      source: 'the API',
      sources: ['api'],
      cluster: { bootId: 'b', ignoresExcludeLabel: false },
      version: '0',
      pid: 1,
    };
  }
}

const plain = scenery.claim({ at: '198.51.100.1', labels: ANYCAST });
const local = scenery.claim({
  at: '198.51.100.2',
  labels: ANYCAST,
  services: [{ namespace: 'a', name: 's', healthCheckNodePort: PORT }],
});
const checked = scenery.claim({
  at: '198.51.100.3',
  labels: ANYCAST,
  checks: [scenery.check('/x', { target: { kind: 'tcp', host: '127.0.0.1', port: 80 } })],
});

describe('after a planned restart', () => {
  it('End-of-RIB waits until checks and kube-proxy have said how things are', async () => {
    const world = new World([plain, local, checked], true);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', '198.51.100.2/32 ×1']);
    await world.pass(1500);
    expect(world.heard.slice(2)).to.deep.equal(['198.51.100.3/32 ×1', 'end']);
  });

  it('it comes at once where nothing is to be waited for, and where something is known to be down', async () => {
    const world = new World([plain, local], true);
    world.status = 503;
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes when a check has failed as often as it may', async () => {
    const world = new World([plain, checked], true);
    world.isPassing = false;
    await world.pass(6000);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes after fifteen seconds, whoever is silent', async () => {
    const world = new World([plain, local], true);
    world.isSilent = true;
    await world.pass(14_900);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1']);
    await world.pass(200);
    expect(world.heard.slice(1)).to.deep.equal(['end']);
  });

  it('it waits for the join check, and comes when that has failed as often as it may', async () => {
    const over = {
      joinCheck: scenery.check('/ready', { failures: 3 }),
      sources: ['files', 'api'] as const,
    };
    const passing = new World([plain], true, over, 'files');
    await passing.pass(3000);
    expect(passing.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
    const failing = new World([plain], true, over, 'files');
    failing.isPassing = false;
    await failing.pass(900);
    expect(failing.heard).to.deep.equal([]);
    await failing.pass(5000);
    expect(failing.heard).to.deep.equal(['end']);
  });

  it('it waits for nothing after any other start', async () => {
    const world = new World([plain, checked], false);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });
});

describe('an agent of a cluster that stops', () => {
  const at = (level: string) =>
    scenery.claim({ at: '198.51.100.4', labels: { [nodeLabel(scenery.NODE)]: level } });

  it('hears that a claim is to step down, and of nothing new', async () => {
    const world = new World([at('0')], false);
    world.agent.setFenced(undefined);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.4/32 ×1', 'end']);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×3');
    world.agent.setDocuments(told([at('2'), plain]), 'api');
    world.agent.setObservedClaims(7n);
    expect(world.agent.announced.observedClaims, 'before it has left').to.equal(undefined);
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×7');
    expect(world.agent.announced.observedClaims).to.equal(7n);
    const count = world.heard.length;
    world.agent.setDocuments(told([plain]), 'api');
    await world.pass(100);
    expect(world.heard.slice(count), 'another has it').to.deep.equal(['-198.51.100.4/32']);
  });

  it('keeps an address whose Service becomes Local meanwhile, until the drain is over', async () => {
    const service = { namespace: 'a', name: 's' };
    const before = { ...local, services: [service] };
    const world = new World([before], false);
    await world.pass(500);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    world.agent.setDocuments(told([local]), 'api');
    await world.pass(8000);
    expect(world.heard).to.deep.equal(['198.51.100.2/32 ×1', 'end', '~198.51.100.2/32 ×1']);
    await world.pass(3000);
    expect(world.heard.at(-1)).to.equal('-198.51.100.2/32');
  });

  it('confirms nothing that it hears after its last word', async () => {
    const world = new World([at('0')], true);
    world.agent.setFenced(undefined);
    await world.pass(500);
    const stopped = world.agent.stopForRestart();
    world.agent.setDocuments(told([]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    await stopped;
    expect(world.agent.announced.observedClaims).to.equal(undefined);
  });
});
