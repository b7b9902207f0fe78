import { expect } from 'chai';
import { podEvidence } from '../../../../src/agent/kube-report/restart-evidence.ts';
import { type RestartEvidence, stopKind } from '../../../../src/agent/kube-report/restart-proof.ts';
import type { ClusterNode } from '../../../../src/model/cluster-node.ts';
import type { KubeObject } from '../../../../src/sources/kube/api.ts';
import {
  DAEMON_SETS,
  DEPLOYMENTS,
  PODS,
  REPLICA_SETS,
} from '../../../../src/sources/kube/resources.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { pass } from './passing.ts';

const NODE: ClusterNode = {
  name: 'n1',
  uid: 'u',
  labels: { 'kubernetes.io/os': 'linux', zone: 'a' },
  taints: [],
  isUnschedulable: false,
  isBeingDeleted: false,
  ready: 'true',
  addresses: [],
};

function pod(over: object = {}): KubeObject {
  return {
    metadata: {
      name: 'herald-agent-x',
      uid: 'p',
      resourceVersion: '1',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'pod-template-generation': '1', 'controller-revision-hash': 'abc' },
      ownerReferences: [{ kind: 'DaemonSet', name: 'herald-agent', uid: 'd', controller: true }],
      ...over,
    },
  };
}

function daemonSet(spec: object = {}, metadata: object = {}): KubeObject {
  return {
    metadata: {
      name: 'herald-agent',
      uid: 'd',
      resourceVersion: '1',
      annotations: { 'deprecated.daemonset.template.generation': '2' },
      ...metadata,
    },
    spec: { template: { spec } },
  };
}

const PROOF: RestartEvidence = {
  pod: pod(),
  daemonSet: daemonSet(),
  node: NODE,
  sessions: [{ peer: 'tor', hasGracefulRestart: true }],
  boundAddresses: 0,
};

const affinity = (expression: object) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [expression] }],
      },
    },
  },
});

describe('a planned restart', () => {
  it('is one where everything proves it', () => {
    expect(stopKind(PROOF).kind).to.equal('restart');
  });

  it('is one where the DaemonSet tolerates every taint and its affinity has this Node', () => {
    const taints = [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }];
    const spec = {
      ...affinity({ key: 'herald.dev/agent', operator: 'NotIn', values: ['host'] }),
      tolerations: [{ operator: 'Exists' }],
    };
    const evidence = { ...PROOF, node: { ...NODE, taints }, daemonSet: daemonSet(spec) };
    expect(stopKind(evidence).kind).to.equal('restart');
  });

  const doubts: readonly (readonly [string, Partial<RestartEvidence>, RegExp])[] = [
    ['no pod', { pod: undefined }, /could not be read/],
    [
      'a pod that is not deleted: a host that shuts down',
      { pod: pod({ deletionTimestamp: undefined }) },
      /not being deleted/,
    ],
    ['a pod of nobody', { pod: pod({ ownerReferences: [] }) }, /no DaemonSet/],
    ['a DaemonSet that is gone', { daemonSet: undefined }, /could not be read/],
    [
      'a DaemonSet that goes',
      { daemonSet: daemonSet({}, { deletionTimestamp: 'x' }) },
      /goes away/,
    ],
    ['another DaemonSet of the same name', { daemonSet: daemonSet({}, { uid: 'e' }) }, /goes away/],
    [
      'a pod deleted by hand',
      { pod: pod({ labels: { 'pod-template-generation': '2' } }) },
      /no newer/,
    ],
    ['no revision', { daemonSet: daemonSet({}, { annotations: {} }) }, /not known/],
    [
      'a strange revision',
      { pod: pod({ labels: { 'pod-template-generation': '-1' } }) },
      /not known/,
    ],
    ['no Node', { node: undefined }, /not known/],
    ['a cordoned Node', { node: { ...NODE, isUnschedulable: true } }, /cordoned/],
    ['a Node that goes', { node: { ...NODE, isBeingDeleted: true } }, /being deleted/],
    ['a Node that shuts down', { node: { ...NODE, ready: 'false' } }, /not Ready/],
    [
      'a nodeSelector that leaves it out',
      { daemonSet: daemonSet({ nodeSelector: { zone: 'b' } }) },
      /selects this Node no more/,
    ],
    [
      'an affinity that leaves it out',
      { daemonSet: daemonSet(affinity({ key: 'zone', operator: 'NotIn', values: ['a'] })) },
      /selects this Node no more/,
    ],
    [
      'an affinity that is not understood',
      { daemonSet: daemonSet(affinity({ key: 'zone', operator: 'Gt', values: ['1'] })) },
      /selects this Node no more/,
    ],
    [
      'a taint',
      { node: { ...NODE, taints: [{ key: 'maintenance', effect: 'NoExecute' }] } },
      /tolerate taint maintenance/,
    ],
    ['no session', { sessions: [] }, /no session is up/],
    [
      'a router that does not wait',
      { sessions: [...PROOF.sessions, { peer: 'b', hasGracefulRestart: false }] },
      /b and this node/,
    ],
    ['bound addresses', { boundAddresses: 1 }, /interfaces/],
  ];
  for (const [what, over, why] of doubts) {
    it(`is none with ${what}`, () => {
      const decided = stopKind({ ...PROOF, ...over });
      expect(decided.kind).to.equal('away');
      expect(decided.sentence).to.match(why);
    });
  }
});

function owned(kind: string, name: string, uid: string): object {
  return { ownerReferences: [{ kind, name, uid, controller: true }] };
}

function replicaSet(replicas = 0, metadata: object = {}): KubeObject {
  const owner = owned('Deployment', 'herald', 'w');
  return {
    metadata: { name: 'herald-1', uid: 'r', resourceVersion: '1', ...owner, ...metadata },
    spec: { replicas },
  };
}

function deployment(spec: object = { replicas: 1 }, metadata: object = {}): KubeObject {
  return {
    metadata: { name: 'herald', uid: 'w', resourceVersion: '1', ...metadata },
    spec: { template: { spec: {} }, ...spec },
  };
}

const ROLLED: RestartEvidence = {
  ...PROOF,
  pod: pod(owned('ReplicaSet', 'herald-1', 'r')),
  daemonSet: undefined,
  replicaSet: replicaSet(),
  deployment: deployment(),
};

describe('a planned restart of simple mode', () => {
  it('is one where its ReplicaSet was scaled down and its Deployment wants a replica', () => {
    expect(stopKind(ROLLED)).to.deep.equal({
      kind: 'restart',
      sentence: 'a newer revision of its Deployment takes its place',
    });
  });

  const doubts: readonly (readonly [string, Partial<RestartEvidence>, RegExp])[] = [
    ['a pod deleted by hand, or evicted', { replicaSet: replicaSet(1) }, /rolls nothing out/],
    ['a Deployment scaled to 0', { deployment: deployment({ replicas: 0 }) }, /no replica/],
    [
      'a Deployment that goes',
      { deployment: deployment({}, { deletionTimestamp: 'x' }) },
      /goes away/,
    ],
    ['another Deployment of the same name', { deployment: deployment({}, { uid: 'v' }) }, /goes/],
    ['another ReplicaSet', { replicaSet: replicaSet(0, { uid: 'q' }) }, /goes away/],
    ['no ReplicaSet', { replicaSet: undefined }, /could not be read/],
    ['no Deployment', { deployment: undefined }, /could not be read/],
    ['a cordoned Node', { node: { ...NODE, isUnschedulable: true } }, /cordoned/],
  ];
  for (const [what, over, why] of doubts) {
    it(`is none with ${what}`, () => {
      const decided = stopKind({ ...ROLLED, ...over });
      expect(decided.kind).to.equal('away');
      expect(decided.sentence).to.match(why);
    });
  }

  it('has the pod, its ReplicaSet and its Deployment as evidence', async () => {
    const api = new MemoryKubeApi();
    const inside = { namespace: 'herald-system' };
    api.put(PODS, pod({ ...inside, ...owned('ReplicaSet', 'herald-1', 'r') }));
    api.put(REPLICA_SETS, replicaSet(0, inside));
    api.put(DEPLOYMENTS, deployment({ replicas: 1 }, inside));
    const found = await podEvidence(api, new ManualClock(), { name: 'herald-agent-x' });
    expect(found.replicaSet?.metadata.name).to.equal('herald-1');
    expect(found.deployment?.metadata.name).to.equal('herald');
  });
});

describe('the evidence of a planned restart', () => {
  const own = { name: 'herald-agent-x' };

  it('is the pod and its DaemonSet', async () => {
    const api = new MemoryKubeApi();
    api.put(PODS, pod({ namespace: 'herald-system' }));
    api.put(DAEMON_SETS, daemonSet({}, { namespace: 'herald-system' }));
    const found = await podEvidence(api, new ManualClock(), own);
    expect(stopKind({ ...PROOF, ...found }).sentence).to.not.match(/could not be read/);
  });

  it('is missing where there is no such pod, and after two seconds of silence', async () => {
    const api = new MemoryKubeApi();
    const clock = new ManualClock();
    expect((await podEvidence(api, clock, own)).pod).to.equal(undefined);
    api.fault = () => ({ kind: 'hold', until: new Promise(() => undefined) });
    const asked = podEvidence(api, clock, own);
    await pass(clock, 2000);
    expect((await asked).pod).to.equal(undefined);
  });
});
