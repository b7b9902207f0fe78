/**
 * The rights of deploy/base against what a full run really asks for, by the API server's own audit log: nothing is forbidden, and nothing is granted
 * that nobody uses. Whoever adds a grant adds here what needs it; whoever takes a call out of the program takes its grant away.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION, EXCLUDE_LABEL, NAMESPACE } from '../../src/model/names.ts';
import { isNotFound } from '../../src/sources/kube/api.ts';
import {
  DAEMON_SETS,
  IP_CLAIMS,
  IP_NODES,
  inNamespace,
  NODES,
  PODS,
  SECRETS,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { nowMs } from '../../tools/probe/monotonic.ts';
import { untilValue } from '../support/poll.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import type { AuditEntry } from './support/audit.ts';
import { at, type Cluster } from './support/cluster.ts';
import { FullRun, PATIENT } from './support/full-run.ts';
import { grantsOf, grantText, isUse } from './support/grants.ts';
import { loopbackPeer } from './support/loopback.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { rolesInForce } from './support/roles-in-force.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const ROLES = [
  { account: 'herald-agent', file: 'rbac-agent.yaml' },
  { account: 'herald-controller', file: 'rbac-controller.yaml' },
] as const;
const userOf = (account: string) => `system:serviceaccount:${NAMESPACE}:${account}`;
const EXCLUSIVE = {
  placement: { mode: 'exclusive' },
  drain: { on: ['stop', 'exclude-label'], waitSeconds: 3 },
};

describe('the audit log of a full run', function () {
  this.timeout(600_000);
  let world: FullRun;
  let cluster: Cluster;
  let proxy: FailingProxy;
  let namespace = '';
  let log: readonly AuditEntry[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    world = await FullRun.start(['a', 'b', 'c']);
    cluster = world.cluster;
    proxy = await startProxy(cluster);
    namespace = await cluster.namespace();
    for (const { account } of ROLES) await rolesInForce(cluster, account);
    const since = cluster.auditMark();
    await wholeRun().catch((error: unknown) => {
      process.stderr.write(`${world.logs()}\n`);
      throw error;
    });
    log = cluster.audit(since);
  });

  after(async () => {
    await proxy?.stop();
    await world?.stop();
  });

  async function controller(name: string): Promise<void> {
    const own = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    await world.controller(name, ['--kubeconfig', proxy.kubeconfig(own)]);
  }

  const addressOf = async (name: string): Promise<string> =>
    await untilValue(
      `${name} has an address`,
      async () => {
        const found = await cluster.api.get(inNamespace(SERVICES, namespace), name);
        return String(at(found, 'status', 'loadBalancer', 'ingress', '0', 'ip') ?? '');
      },
      (address) => address !== '',
      PATIENT,
    );

  const patchService = (name: string, body: object) =>
    cluster.api.patch(inNamespace(SERVICES, namespace), name, { kind: 'merge', body });

  const isGone = (name: string) =>
    untilValue(
      `${name} is free`,
      async () => {
        const claim = (await cluster.api.list(IP_CLAIMS)).items.find(
          ({ metadata }) => metadata.name === name,
        );
        const { items } = await cluster.api.list(IP_NODES);
        const answers = items.map((node) => at(node, 'status', 'observedClaims'));
        return claim && JSON.stringify({ ...claim.metadata, spec: at(claim, 'spec'), answers });
      },
      (found) => found === undefined,
      PATIENT,
    );

  async function service(name: string, options: object = {}): Promise<void> {
    await cluster.addService({ namespace, name, ...options });
    await cluster.setEndpoints({ namespace, name }, 1);
  }

  async function wholeRun(): Promise<void> {
    const restart = { gracefulRestart: { restartSeconds: 30 } };
    await cluster.applyObjects(
      loopbackPeer('bird', world.bird, world.nodes, restart),
      poolBody('any', ['198.51.100.0/25'], { allowExternalIPs: true }),
      poolBody('one', ['198.51.100.128/25'], { ...EXCLUSIVE, autoAssign: false }),
    );
    for (const name of ['first', 'second']) await controller(name);
    await Promise.all(world.nodes.map((node) => world.agent(node, ['--pod-name', podOf(node)])));
    await firstWords();
    const saidMs = nowMs();
    await passwords();
    await claimsOfPeople();
    await exclusiveOnes();
    await externalOnes();
    await conflicts();
    // a controller that starts anew begins new series
    await sameWordsLater(saidMs);
    await servicesThatWentUnseen();
    await nodeThatIsGone();
    await plannedRestart();
    await silenceOfAll();
  }

  /** no agent renews any more: the controller looks whether the API serves the kubelets */
  async function silenceOfAll(): Promise<void> {
    for (const agent of world.agents.values()) agent.freeze();
    await untilValue(
      'the Leases of kubelets are asked for',
      () => cluster.audit().filter(({ namespace: of }) => of === 'kube-node-lease'),
      (found) => found.some(({ user }) => user === userOf('herald-controller')),
      PATIENT,
    );
    for (const agent of world.agents.values()) agent.thaw();
  }

  async function firstWords(): Promise<void> {
    await service('toggled');
    await addressOf('toggled');
  }

  async function passwords(): Promise<void> {
    const spec = { address: '127.0.0.99', asn: 64_501, password: { secret: 'tor' } };
    await cluster.api.create(SECRETS, { metadata: { name: 'tor' }, stringData: { password: 'x' } });
    await cluster.applyObjects({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'BGPPeer',
      metadata: { name: 'secret' },
      spec,
    });
  }

  /** deleted while it is announced: its agents have to ask whether it is gone */
  async function claimsOfPeople(): Promise<void> {
    await cluster.applyObjects(anycastClaim('198.51.100.77'));
    await world.heldBy('198.51.100.77', 'a b c');
    await cluster.api.delete(IP_CLAIMS, '198.51.100.77');
    await world.heldBy('198.51.100.77', '');
  }

  async function exclusiveOnes(): Promise<void> {
    const annotations = { [ANNOTATION.pool]: 'one' };
    await service('alone', { annotations });
    const address = await addressOf('alone');
    const holder = await untilValue(
      'one holds it',
      () => world.holders(address),
      (found) => found !== '',
      PATIENT,
    );
    // a planned move: the node is not to have traffic any more
    await cluster.setNode(holder, { labels: { [EXCLUDE_LABEL]: '' } });
    await untilValue(
      'another holds it',
      () => world.holders(address),
      (found) => found !== '' && found !== holder,
      PATIENT,
    );
    await cluster.setNode(holder, { labels: { [EXCLUDE_LABEL]: null } });
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'alone');
    await isGone(address);
  }

  async function externalOnes(): Promise<void> {
    const spec = { type: 'ClusterIP', loadBalancerClass: undefined };
    await service('external', { spec, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await untilValue(
      'an external IP is written',
      async () =>
        at(
          await cluster.api.get(inNamespace(SERVICES, namespace), 'external'),
          'spec',
          'externalIPs',
        ),
      (found) => found !== undefined,
      PATIENT,
    );
  }

  /** somebody was there before: the controller looks how the claim stands now */
  async function conflicts(): Promise<void> {
    const fault = { kind: 'status', code: 409, reason: 'Conflict' } as const;
    const rule = proxy.add({ match: { verb: 'patch', resource: 'ipclaims' }, fault, times: 2 });
    await service('contested');
    const address = await addressOf('contested');
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'contested');
    await isGone(address);
    expect(rule.applied).to.be.above(0);
  }

  async function servicesThatWentUnseen(): Promise<void> {
    await service('unseen');
    const address = await addressOf('unseen');
    await Promise.all([...world.controllers.values()].map((each) => each.stop()));
    world.controllers.clear();
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'unseen');
    await controller('third');
    await isGone(address);
  }

  async function nodeThatIsGone(): Promise<void> {
    await world.agents.get('c')?.kill();
    world.agents.delete('c');
    await cluster.api.delete(NODES, 'c');
    await untilValue(
      'its IPNode is gone',
      () => cluster.api.get(IP_NODES, 'c').then(() => false, isNotFound),
      (gone) => gone,
      PATIENT,
    );
  }

  const podOf = (node: string) => `herald-agent-${node}`;

  /** an agent that is told to stop asks whether its DaemonSet is about to replace it */
  async function plannedRestart(): Promise<void> {
    const sets = inNamespace(DAEMON_SETS, NAMESPACE);
    const { metadata } = await cluster.api.get(sets, 'herald-agent');
    const owner = {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      name: 'herald-agent',
      uid: metadata.uid,
      controller: true,
    };
    const body = { metadata: { ownerReferences: [owner] } };
    await cluster.api.patch(PODS, podOf('a'), { kind: 'merge', body });
    expect(await world.agents.get('a')?.stop()).to.equal(0);
    world.agents.delete('a');
  }

  /** The same words about the same Service, more than a minute after they were written: the Event that is there is counted up. */
  async function sameWordsLater(saidMs: number): Promise<void> {
    const first = await addressOf('toggled');
    await untilValue(
      'a minute',
      () => nowMs() - saidMs,
      (ms) => ms > 61_000,
      { timeoutMs: 70_000 },
    );
    await patchService('toggled', { spec: { type: 'ClusterIP', loadBalancerClass: null } });
    await isGone(first);
    const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' };
    // by name, since for a minute it is the last that is given to anybody else
    const metadata = { annotations: { 'herald.dev/addresses': first } };
    await patchService('toggled', { metadata, spec });
    expect(await addressOf('toggled')).to.equal(first);
  }

  for (const { account, file } of ROLES) {
    it(`${account} was forbidden nothing`, () => {
      const own = log.filter(({ user }) => user === userOf(account));
      expect(own.length).to.be.above(50);
      const forbidden = own.filter(({ code, decision }) => code === 403 || decision === 'forbid');
      expect(forbidden).to.deep.equal([]);
    });

    it(`${account} has used every verb of every resource that ${file} grants`, () => {
      const own = log.filter(({ user }) => user === userOf(account));
      const grants = grantsOf(join(BASE, file));
      expect(grants.length).to.be.above(10);
      const unused = grants.filter((grant) => !own.some((entry) => isUse(grant, entry)));
      expect(unused.map(grantText)).to.deep.equal([]);
    });
  }
});
