import { expect } from 'chai';
import { carriersOf } from '../../../../src/agent/carriers.ts';
import { desired } from '../../../../src/agent/desired.ts';
import { ipNodeStatus } from '../../../../src/agent/kube-report/ip-node-status.ts';
import { needsLease, reportFacts } from '../../../../src/agent/kube-report/report-facts.ts';
import { UnsettledLevels } from '../../../../src/agent/kube-report/unsettled-levels.ts';
import type { AgentStatus } from '../../../../src/agent/status.ts';
import { leftClaim } from '../../../../src/allocator/claim-writes.ts';
import type { ClusterNode } from '../../../../src/model/cluster-node.ts';
import { cutShortOf, mayBeCut } from '../../../../src/model/ip-node.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import * as scenery from '../scenery.ts';

const ANYCAST = { [ANYCAST_LABEL]: '' };
const api = (over: Parameters<typeof scenery.claim>[0]) => ({
  ...scenery.sourced(scenery.claim(over)),
  source: 'api' as const,
});

/** what an agent of these claims would report; port 30001 has no endpoint here */
function factsOf(claims: readonly ReturnType<typeof api>[]) {
  const ownAddresses = new Map([[scenery.keyOf('198.51.100.2'), 'eth0']]);
  const serviceFacts = {
    ports: new Map([[30_001, 'empty' as const]]),
    trusted: new Map(),
    waiting: new Map(),
    isProxyUnwell: false,
  };
  const documents = scenery.documents({
    claims,
    pools: [scenery.pool({ addresses: ['198.51.0.0/16'] })],
  });
  const cluster = {
    joined: { isOpen: true, sentence: 'joined' },
    isReady: true,
    drains: new Map(),
    addresses: [],
  };
  const decided = desired(scenery.view({ documents, ownAddresses, serviceFacts, cluster }));
  const told = { joined: { state: 'open', sentence: '', since: '' }, sessions: [] };
  return reportFacts(
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
}

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
    const facts = factsOf(claims);
    const listed = facts?.refused.map(({ address, gate }) => `${address} ${gate}`);
    expect(listed).to.deep.equal([
      '198.51.100.2 allowed',
      '198.51.100.3 healthy',
      '198.51.100.1 healthy',
      '198.51.100.4 healthy',
    ]);
  });

  describe('where not all have room', () => {
    const local = (namespace: string, at: string) =>
      api({
        at,
        labels: { [nodeLabel(scenery.NODE)]: '0' },
        services: [{ namespace, name: 's', healthCheckNodePort: 30_001 }],
      });
    const many = Array.from({ length: 300 }, (_, index) =>
      local('mallory', `198.51.${Math.floor(index / 200)}.${index % 200}`),
    );
    const statusOf = (claims: Parameters<typeof factsOf>[0]) => {
      const facts = factsOf(claims);
      if (facts === undefined) throw new Error('nothing is reported');
      return ipNodeStatus(facts, {}, '2026-01-01T00:00:00Z');
    };

    it('has the claims of each namespace, and the sentence of the first of each, however many others one has', () => {
      const { refused = [], refusedMore } = statusOf([...many, local('victim', '198.51.200.1')]);
      const victim = refused.find(({ address }) => address === '198.51.200.1');
      expect(victim?.message).to.include('victim/s');
      expect(refused).to.have.length.within(80, 100);
      expect(refused.length + (refusedMore ?? 0)).to.equal(301);
    });

    it('ends with one of those that are not all there', () => {
      const others = Array.from({ length: 200 }, (_, index) =>
        api({
          at: `203.0.113.${index}`,
          labels: { [ANYCAST_LABEL]: '' },
          services: [{ namespace: 'b', name: 's' }],
        }),
      );
      const status = statusOf([...many, ...others]);
      const gates = (status.refused ?? []).map(({ gate }) => gate);
      expect(gates.filter((gate) => gate === 'healthy')).to.have.length.within(40, 60);
      expect(cutShortOf(status)).to.equal('all');
      for (const count of [3, 50]) {
        const few = statusOf([...many, ...others.slice(0, count)]);
        expect(cutShortOf(few)).to.equal('healthy');
      }
    });
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

describe('what an IPNode answers', () => {
  it('is known by the namespace that gave the address back, as the controller writes it', () => {
    const released = (name: string, withdrawn: { readonly reason: string }) =>
      api({ name, labels: ANYCAST, services: [], withdrawn });
    const standing = {
      ...scenery.claim({ services: [{ namespace: 'team-a', name: 'web' }] }),
      uid: 'u',
      resourceVersion: '7',
      createdMs: 0,
      isBeingDeleted: false,
      annotations: {},
      isUnreadable: false,
    };
    const reachOf = () => 'some' as const;
    const { spec } = leftClaim(standing, 'team-a/web', { atText: '', reachOf });
    const facts = factsOf([
      { ...released('198.51.100.1', spec.withdrawn ?? { reason: '' }), version: '70' },
      released('198.51.100.2', { reason: 'by hand: Released: Service team-b/web' }),
    ]);
    expect([...(facts?.released.values() ?? [])]).to.deep.equal([
      { namespace: 'team-a', version: 70n },
      { namespace: '' },
    ]);
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
