import { expect } from 'chai';
import { carriersOf } from '../../../../src/agent/carriers.ts';
import { desired } from '../../../../src/agent/desired.ts';
import { needsLease, reportFacts } from '../../../../src/agent/kube-report/report-facts.ts';
import { UnsettledLevels } from '../../../../src/agent/kube-report/unsettled-levels.ts';
import type { AgentStatus } from '../../../../src/agent/status.ts';
import type { ClusterNode } from '../../../../src/model/cluster-node.ts';
import { cutShortOf, mayBeCut } from '../../../../src/model/ip-node.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import * as scenery from '../scenery.ts';

const ANYCAST = { [ANYCAST_LABEL]: '' };
const api = (over: Parameters<typeof scenery.claim>[0]) => ({
  ...scenery.sourced(scenery.claim(over)),
  source: 'api' as const,
});

describe('what an IPNode lists of what its node refuses', () => {
  it('ends with what is not served here, of which a claim that could go elsewhere comes first', () => {
    const services = [{ namespace: 'a', name: 's', healthCheckNodePort: 30_001 }];
    const claims = [
      api({ at: '198.51.100.1', labels: ANYCAST, services }),
      api({ at: '198.51.100.2', labels: ANYCAST }),
      api({
        at: '198.51.100.3',
        labels: { [nodeLabel(scenery.NODE)]: '0' },
        checks: [scenery.check()],
      }),
      api({ at: '198.51.100.4', labels: ANYCAST, services }),
    ];
    const serviceFacts = {
      ports: new Map([[30_001, 'empty' as const]]),
      trusted: new Map(),
      waiting: new Map(),
      isProxyUnwell: false,
    };
    const documents = scenery.documents({ claims });
    const ownAddresses = new Map([[scenery.keyOf('198.51.100.2'), 'eth0']]);
    const cluster = {
      joined: { isOpen: true, sentence: 'joined' },
      isReady: true,
      drains: new Map(),
      addresses: [],
    };
    const decided = desired(scenery.view({ documents, ownAddresses, serviceFacts, cluster }));
    const told = { joined: { state: 'open', sentence: '', since: '' }, sessions: [] };
    const facts = reportFacts(
      {
        status: () => told as unknown as AgentStatus,
        decided,
        announced: { levels: new Map(), routes: 0, isCurrent: true },
        carriers: carriersOf([], { isTold: () => false, refusal: () => undefined }),
        documents,
        clusterNode: undefined,
        subscribe: () => () => undefined,
        setFenced: () => undefined,
        setObjection: () => undefined,
        guard: () => undefined,
        giveBack: () => Promise.resolve(true),
      },
      new UnsettledLevels(scenery.NODE),
      0,
    );
    const listed = facts?.refused.map(({ address, gate }) => `${address} ${gate}`);
    expect(listed).to.deep.equal([
      '198.51.100.2 allowed',
      '198.51.100.3 healthy',
      '198.51.100.1 healthy',
      '198.51.100.4 healthy',
    ]);
  });

  it('tells of which addresses nothing is known where it has no room for all', () => {
    const local = scenery.claim({
      services: [{ namespace: 'a', name: 's', healthCheckNodePort: 30_001 }],
    });
    const plain = scenery.claim();
    const checked = scenery.claim({ checks: [scenery.check()] });
    const entry = (gate: string) => ({ address: '198.51.100.1', gate, message: '' });
    const unknown = (gates: readonly string[], refusedMore: number) => {
      const cut = cutShortOf({ refused: gates.map(entry), refusedMore });
      return [plain, local, checked].map((claim) => mayBeCut(cut, claim));
    };
    expect(unknown(['allowed', 'healthy'], 0)).to.deep.equal([false, false, false]);
    expect(unknown(['allowed', 'healthy'], 3)).to.deep.equal([false, true, true]);
    expect(unknown(['healthy', 'allowed'], 3)).to.deep.equal([true, true, true]);
    expect(unknown([], 3)).to.deep.equal([true, true, true]);
  });
});

describe('whether a node renews a Lease', () => {
  const node: ClusterNode = {
    name: scenery.NODE,
    uid: 'u',
    labels: { rack: 'a' },
    taints: [],
    isUnschedulable: false,
    isBeingDeleted: false,
    ready: 'true',
    addresses: [],
  };
  const placement = { mode: 'exclusive', nodeFilter: 'fair', prependStep: 3 } as const;
  const pool = (over: Parameters<typeof scenery.pool>[0]) => ({
    ...scenery.sourced(scenery.pool(over)),
    source: 'api' as const,
  });
  const elsewhere = { matchLabels: { rack: 'b' } };
  const rows = [
    { name: 'not for anycast pools', pools: [pool({})], is: false },
    { name: 'for an exclusive pool', pools: [pool({ placement })], is: true },
    {
      name: 'not for one that is for other nodes',
      pools: [pool({ placement: { ...placement, nodeSelector: elsewhere } })],
      is: false,
    },
    {
      name: 'for one that is gone: a Service may have an address of it (C5)',
      pools: [],
      formerPools: [pool({ placement })],
      is: true,
    },
    {
      name: 'for an anycast pool whose claims are exclusive by their own words (C6)',
      pools: [pool({ hasExclusiveClaims: true })],
      is: true,
    },
  ];
  for (const { name, pools, formerPools = [], is } of rows) {
    it(name, () => {
      const documents = { ...scenery.documents({ claims: [] }), pools, formerPools };
      expect(needsLease(documents, node)).to.equal(is);
    });
  }
});
