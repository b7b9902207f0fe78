/** What an agent hears of claims and what it writes, together: how soon it answers for an address that is given back. */

import { expect } from 'chai';
import { carriersOf } from '../../../../src/agent/carriers.ts';
import { IpNodeObject } from '../../../../src/agent/kube-report/ip-node-object.ts';
import { IpNodeWriter } from '../../../../src/agent/kube-report/ip-node-writer.ts';
import { reportFacts } from '../../../../src/agent/kube-report/report-facts.ts';
import { UnsettledLevels } from '../../../../src/agent/kube-report/unsettled-levels.ts';
import type { AgentStatus } from '../../../../src/agent/status.ts';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import type { Documents } from '../../../../src/model/documents.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import { AgentSource } from '../../../../src/sources/kube/agent-source.ts';
import { convertIpNode } from '../../../../src/sources/kube/convert-ip-node.ts';
import { versionNumber } from '../../../../src/sources/kube/object-key.ts';
import {
  BGP_PEERS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  NODES,
} from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';
import { storedPeer, storedPool } from '../../../support/stored-documents.ts';
import { pass } from './passing.ts';

const ANYCAST = { [ANYCAST_LABEL]: '' };
const NO_ENDPOINTS = { reason: 'NoEndpoints: no Service of this claim has an endpoint' };
const serving = (namespace: string, name: string) => ({
  services: [{ namespace, name, uid: `${namespace}-${name}` }],
});
const givenBack = (by: string) => ({
  services: [],
  withdrawn: { reason: `Released: Service ${by} has given it back` },
});

/** A node that holds one exclusive claim; all that it decides is out at once. */
class Node {
  readonly clock = new ManualClock();
  readonly api = new MemoryKubeApi();
  readonly #source: AgentSource;
  readonly #writer: IpNodeWriter;
  #documents: Documents | undefined;
  #observed = { version: 0n, isBehind: false };

  constructor(seed: number) {
    const { api, clock } = this;
    const random = new SeededRandom(seed);
    const log = SILENT_LOG;
    this.#source = new AgentSource({
      ...{ api, clock, random, log, nodeName: 'n1' },
      agent: {
        setDocuments: (documents) => {
          this.#documents = documents;
          this.#writer.poke();
        },
        setObservedClaims: (version, isBehind) => {
          this.#observed = { version, isBehind };
          this.#writer.poke();
        },
        setNodeFacts: () => undefined,
        setSecrets: () => undefined,
        setApiSilence: () => undefined,
      },
    });
    const object = new IpNodeObject({
      ...{ api, clock, node: 'n1', instance: 'i1', nodeUid: () => 'uid-n1' },
    });
    const levels = new UnsettledLevels('n1');
    const facts = () => this.#facts(levels);
    this.#writer = new IpNodeWriter({ object, clock, random, log, facts });
    api.put(NODES, { metadata: { name: 'n1' } });
    api.put(IP_POOLS, storedPool('any'));
    api.put(BGP_PEERS, storedPeer('tor'));
    this.put('198.51.100.200', { node: 'n1', ...serving('v', 'own') }, { [nodeLabel('n1')]: '0' });
  }

  start(): void {
    this.#source.start();
    this.#writer.start();
  }

  put(name: string, spec: object, labels: object = ANYCAST, annotations: object = {}): bigint {
    const metadata = { ...this.api.object(IP_CLAIMS, name)?.metadata, name, labels, annotations };
    const { resourceVersion } = this.api.put(IP_CLAIMS, {
      metadata,
      spec: { checks: [], ...spec },
    }).metadata;
    return versionNumber(resourceVersion);
  }

  get answer(): bigint {
    const found = this.api.object(IP_NODES, 'n1');
    const status = found === undefined ? undefined : convertIpNode(found)?.status;
    return versionNumber(status?.observedClaims ?? '');
  }

  get lists(): number {
    return this.api.calls.filter(
      ({ verb, resource }) => verb === 'list' && resource.plural === IP_CLAIMS.plural,
    ).length;
  }

  #facts(levels: UnsettledLevels) {
    const { version, isBehind } = this.#observed;
    const told = { joined: { state: 'open', sentence: '', since: '' }, sessions: [] };
    return reportFacts(
      {
        status: () => told as unknown as AgentStatus,
        decided: { claims: [], plans: [] } as never,
        announced: {
          levels: new Map(),
          routes: 0,
          observedClaims: version,
          isCurrent: !isBehind,
        },
        carriers: carriersOf([], { isTold: () => false, refusal: () => undefined }),
        documents: this.#documents,
        clusterNode: undefined,
        subscribe: () => () => undefined,
        setFenced: () => undefined,
        setObjection: () => undefined,
        guard: () => undefined,
        giveBack: () => Promise.resolve(true),
      },
      levels,
      this.clock.now(),
    );
  }
}

describe('the answer of a node with an exclusive claim to an address that is given back', () => {
  const loops: Readonly<Record<string, (node: Node, step: number) => void>> = {
    'edits a Service without endpoints': (node, step) => {
      const spec = { ...serving('m', 's'), withdrawn: NO_ENDPOINTS };
      node.put('198.51.100.1', spec, ANYCAST, { 'herald.dev/share': String(step) });
    },
    'makes and deletes Services': (node, step) => {
      const spec = step % 2 === 0 ? serving('m', 's') : givenBack('m/s');
      node.put(`198.51.100.${1 + (Math.floor(step / 2) % 20)}`, spec);
    },
  };
  for (const [what, step] of Object.entries(loops)) {
    it(`waits for nobody who ${what} in a loop`, async () => {
      const late: string[] = [];
      for (const everyMs of [1000, 500]) {
        for (const seed of [1, 2, 3]) {
          const node = new Node(seed);
          node.put('198.51.100.100', serving('v', 'web'));
          node.start();
          let steps = 0;
          const loop = async (ms: number) => {
            for (let passedMs = 0; passedMs < ms; passedMs += everyMs) {
              step(node, ++steps);
              await pass(node.clock, everyMs);
            }
          };
          await loop(12_000);
          const version = node.put('198.51.100.100', givenBack('v/web'));
          await loop(4000);
          if (node.answer < version) late.push(`each ${everyMs} ms, seed ${seed}`);
        }
      }
      expect(late).to.deep.equal([]);
    });
  }

  it('asks for no list where withdrawn claims change whose Services keep them', async () => {
    const node = new Node(1);
    const spec = { ...serving('m', 's'), withdrawn: NO_ENDPOINTS };
    node.put('198.51.100.1', spec);
    node.start();
    await pass(node.clock, 5000);
    const before = node.lists;
    for (let step = 0; step < 20; step += 1) {
      node.put('198.51.100.1', spec, ANYCAST, { 'herald.dev/share': String(step) });
      await pass(node.clock, 1000);
    }
    expect(node.lists - before).to.equal(0);
    node.put('198.51.100.1', givenBack('m/s'));
    await pass(node.clock, 2000);
    expect(node.lists - before, 'one that is given back').to.equal(1);
  });
});
