/**
 * deploy/base as kustomize renders it: what keeps the two programs alive, apart, reachable and polite. An API server accepts the manifests without any of it (deploy.test.ts),
 * so each part has its assertion here, and says why it must be there.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { SETTINGS } from '../../src/config/agent-settings.ts';
import { readCrdSchema } from '../../tools/crd-validators.ts';
import { ensureKubectl } from '../../tools/kubernetes/kubectl.ts';
import { field, items, text } from '../interop/routers/json.ts';
import { run } from '../support/process.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
/** to withdraw, to say goodbye, and to be late */
const AFTER_DRAIN_SECONDS = 20;
const METRICS_PORT = 9179;

describe('deploy/base as it is rendered', function () {
  this.timeout(30 * 60_000);
  let objects: readonly unknown[] = [];

  before(async function render() {
    skipWithoutCluster(this);
    await ensureKubectl((sentence) => process.stderr.write(`kubernetes: ${sentence}\n`));
    const { stdout } = await run('kubectl', ['kustomize', join(ROOT, 'deploy/base')]);
    objects = loadAll(stdout);
  });

  /** the one object of this kind, or of this kind and name */
  const only = (kind: string, name?: string): unknown => {
    const found = objects.filter(
      (each) =>
        field(each, 'kind') === kind &&
        (name === undefined || field(each, 'metadata', 'name') === name),
    );
    expect(found, `${kind} ${name ?? ''}`).to.have.lengthOf(1);
    return found[0];
  };
  const podOf = (owner: unknown) => field(owner, 'spec', 'template', 'spec');
  const labelsOf = (owner: unknown) => field(owner, 'spec', 'template', 'metadata', 'labels');
  const containerOf = (owner: unknown) => {
    const containers = items(field(podOf(owner), 'containers'));
    expect(containers).to.have.lengthOf(1);
    return containers[0];
  };
  const agent = () => only('DaemonSet');
  const controller = () => only('Deployment');

  describe('the controller', () => {
    it('is two, so that one is left', () => {
      expect(field(controller(), 'spec', 'replicas')).to.equal(2);
      expect(field(controller(), 'spec', 'strategy', 'rollingUpdate')).to.deep.equal({
        maxSurge: 0,
        maxUnavailable: 1,
      });
    });

    it('is never twice on one node, and in two zones where there are two', () => {
      const [apart] = items(
        field(podOf(controller()), 'affinity', 'podAntiAffinity', REQUIRED_WHEN_SCHEDULED),
      );
      expect(field(apart, 'topologyKey')).to.equal('kubernetes.io/hostname');
      selects(field(apart, 'labelSelector', 'matchLabels'), labelsOf(controller()));
      const [spread] = items(field(podOf(controller()), 'topologySpreadConstraints'));
      expect(field(spread, 'topologyKey')).to.equal('topology.kubernetes.io/zone');
      expect(field(spread, 'whenUnsatisfiable')).to.equal('ScheduleAnyway');
      selects(field(spread, 'labelSelector', 'matchLabels'), labelsOf(controller()));
    });

    it('is not drained away with both replicas, and a broken one holds no drain up', () => {
      const budget = field(only('PodDisruptionBudget'), 'spec');
      expect(field(budget, 'minAvailable')).to.equal(1);
      expect(field(budget, 'unhealthyPodEvictionPolicy')).to.equal('AlwaysAllow');
      selects(field(budget, 'selector', 'matchLabels'), labelsOf(controller()));
    });

    it('is asked for metrics and asks the API server, and nothing else', () => {
      const policy = field(only('NetworkPolicy'), 'spec');
      selects(field(policy, 'podSelector', 'matchLabels'), labelsOf(controller()));
      expect(field(policy, 'policyTypes')).to.deep.equal(['Ingress', 'Egress']);
      const ports = (direction: string) =>
        items(field(policy, direction)).flatMap((rule) => items(field(rule, 'ports')));
      expect(ports('ingress')).to.deep.equal([{ protocol: 'TCP', port: METRICS_PORT }]);
      expect(ports('egress')).to.deep.equal([
        { protocol: 'TCP', port: 443 },
        { protocol: 'TCP', port: 6443 },
      ]);
    });

    it('goes before ordinary pods', () => {
      const name = text(field(podOf(controller()), 'priorityClassName'));
      const value = field(only('PriorityClass', name), 'value');
      // the highest that is not Kubernetes' own
      expect(value).to.equal(1_000_000_000);
    });

    it('may run on control-plane nodes: a small cluster has no others to run two on', () => {
      const tolerations = items(field(podOf(controller()), 'tolerations'));
      expect(tolerations).to.deep.include({
        key: 'node-role.kubernetes.io/control-plane',
        operator: 'Exists',
        effect: 'NoSchedule',
      });
    });

    it('prefers them: its token may patch every Service (B6)', () => {
      const affinity = field(podOf(controller()), 'affinity', 'nodeAffinity');
      const preferred = items(field(affinity, 'preferredDuringSchedulingIgnoredDuringExecution'));
      const [term] = preferred;
      expect(field(term, 'preference', 'matchExpressions')).to.deep.equal([
        { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists' },
      ]);
    });

    it('has time to give its Lease back', () => {
      expect(field(podOf(controller()), 'terminationGracePeriodSeconds')).to.be.at.least(30);
    });
  });

  describe('the agent', () => {
    it('speaks from the network of the host, and looks names up as the host does', () => {
      expect(field(podOf(agent()), 'hostNetwork')).to.equal(true);
      expect(field(podOf(agent()), 'dnsPolicy')).to.equal('Default');
    });

    it('is on every node, whatever its taints: a tainted node must drain and not lose its agent', () => {
      expect(field(podOf(agent()), 'tolerations')).to.deep.equal([{ operator: 'Exists' }]);
    });

    it('is on Linux, and not where the host has an agent of its own', () => {
      const [term] = items(
        field(
          podOf(agent()),
          'affinity',
          'nodeAffinity',
          REQUIRED_WHEN_SCHEDULED,
          'nodeSelectorTerms',
        ),
      );
      expect(field(term, 'matchExpressions')).to.deep.equal([
        { key: 'kubernetes.io/os', operator: 'In', values: ['linux'] },
        { key: 'herald.dev/agent', operator: 'NotIn', values: ['host'] },
      ]);
    });

    it('is part of the node: never evicted', () => {
      expect(field(podOf(agent()), 'priorityClassName')).to.equal('system-node-critical');
    });

    it('has more time to stop than a drain takes', () => {
      const spec = field(readCrdSchema('ippools'), 'properties', 'spec', 'properties');
      const wait = field(spec, 'drain', 'properties', 'waitSeconds', 'default');
      expect(wait).to.be.a('number');
      const grace = field(podOf(agent()), 'terminationGracePeriodSeconds');
      expect(grace).to.be.above(Number(wait) + AFTER_DRAIN_SECONDS);
      // as long as the agent counts on, for exclusive claims that move
      expect(grace).to.equal(Number(SETTINGS.stopGrace.default));
      // what the page promises, for those who raise the one before the other
      const page = readFileSync(join(ROOT, 'docs/kubernetes.md'), 'utf8');
      const promised = Number(/a longer drain than (\d+) s/.exec(page)?.[1]);
      expect(grace).to.equal(promised + AFTER_DRAIN_SECONDS);
    });

    it('is one per machine, also while it is replaced', () => {
      expect(field(agent(), 'spec', 'updateStrategy', 'rollingUpdate')).to.deep.equal({
        maxSurge: 0,
        maxUnavailable: 1,
      });
      expect(field(agent(), 'spec', 'minReadySeconds')).to.be.above(0);
    });

    it('knows its node and its pod, and serves metrics on the address of the node', () => {
      const env = items(field(containerOf(agent()), 'env')).map((each) => [
        field(each, 'name'),
        field(each, 'valueFrom', 'fieldRef', 'fieldPath'),
      ]);
      expect(Object.fromEntries(env)).to.deep.equal({
        HERALD_NODE_NAME: 'spec.nodeName',
        HERALD_POD_NAME: 'metadata.name',
        HERALD_METRICS_ADDRESS: 'status.hostIP',
      });
    });

    it('keeps its saved View and its lock on the host, where the next one looks', () => {
      const volumes = items(field(podOf(agent()), 'volumes'));
      const places = items(field(containerOf(agent()), 'volumeMounts')).map((mount) => {
        const volume = volumes.find((each) => field(each, 'name') === field(mount, 'name'));
        return [field(mount, 'mountPath'), field(volume, 'hostPath')];
      });
      const onHost = (path: string) => [path, { path, type: 'DirectoryOrCreate' }];
      expect(places).to.have.deep.members([onHost('/var/lib/herald'), onHost('/run/herald')]);
    });
  });

  for (const kind of ['DaemonSet', 'Deployment']) {
    it(`asks the ${kind} whether it has started, lives and is ready, patiently`, () => {
      const container = containerOf(only(kind));
      const ports = items(field(container, 'ports'));
      expect(ports.map((each) => field(each, 'containerPort'))).to.deep.equal([METRICS_PORT]);
      const asked = ['startupProbe', 'livenessProbe', 'readinessProbe'].map((probe) =>
        field(container, probe, 'httpGet'),
      );
      const at = (path: string) => ({ path, port: 'metrics' });
      expect(asked).to.deep.equal([at('/livez'), at('/livez'), at('/readyz')]);
      expect(text(field(ports[0], 'name'))).to.equal('metrics');
      const patience = (probe: string) =>
        Number(field(container, probe, 'periodSeconds')) *
        Number(field(container, probe, 'failureThreshold'));
      // a node that is short of CPU is slow; killing what announces its addresses helps nobody
      expect(patience('startupProbe')).to.be.at.least(60);
      expect(patience('livenessProbe')).to.be.at.least(60);
    });

    it(`gives the ${kind} room that is its own, and no bound of CPU, which would delay keepalives and renewals`, () => {
      const resources = field(containerOf(only(kind)), 'resources');
      expect(field(resources, 'requests', 'cpu')).to.match(/^\d+m$/);
      expect(field(resources, 'requests', 'memory')).to.match(/^\d+Mi$/);
      expect(field(resources, 'limits', 'memory')).to.match(/^\d+[MG]i$/);
      expect(field(resources, 'limits', 'cpu')).to.equal(undefined);
    });
  }
});

const REQUIRED_WHEN_SCHEDULED = 'requiredDuringSchedulingIgnoredDuringExecution';

/** A selector that is not empty, of labels that the pods have. */
function selects(selector: unknown, labels: unknown): void {
  expect(selector).to.be.an('object').that.is.not.empty;
  expect(labels).to.include(selector);
  expect(selector).to.have.property('app.kubernetes.io/component', 'controller');
}
