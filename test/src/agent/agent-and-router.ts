/** An agent of a cluster and one router, on a clock and a network of their own: what tests of its starts and stops share. */

import { formatPrefix, ipv4, MemoryNetwork, Speaker } from '../../../protocol/index.ts';
import { Agent } from '../../../src/agent/agent.ts';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import type { AskHttp } from '../../../src/checks/ask-http.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { clusterNode } from '../controller/scenery.ts';
import * as scenery from './scenery.ts';

const AGENT = ipv4('192.0.2.2');
const ROUTER = ipv4('192.0.2.1');
const RANDOM = { next: () => 0.5 };
const GRACEFUL_SHUTDOWN = 0xffff0000;

const api = <T extends { readonly name: string }>(object: T): Sourced<T> => ({
  ...scenery.sourced(object),
  source: 'api',
});

export function told(claims: readonly IpClaim[], source: 'api' | 'files' = 'api'): Documents {
  const peer = scenery.peer({ gracefulRestart: { restartSeconds: 30 } });
  return {
    peers: [api(peer)],
    pools: [api(scenery.pool())],
    claims: claims.map((one) => ({ ...api(one), source })),
    faults: [],
  };
}

export class World {
  readonly clock = new ManualClock();
  readonly heard: string[] = [];
  /** how often the router has lost its session */
  downs = 0;
  readonly agent: Agent;
  /** what kube-proxy, and the checks, say */
  status = 200;
  isSilent = false;
  isPassing = true;
  /** how often kube-proxy was asked */
  asked = 0;
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
      if (event.kind === 'down') this.downs += 1;
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
    const ask: AskHttp = (_, __, answer) => {
      this.asked += 1;
      return clock.startTimer(8, () =>
        answer(
          this.isSilent
            ? { kind: 'silent', sentence: 'refused' }
            : { kind: 'answered', status: this.status, body: '{}' },
        ),
      );
    };
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
