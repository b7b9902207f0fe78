/**
 * A Service for which the API refuses one claim for good, by a policy: what it gives up, and what has nobody behind it, leaves the router all the same.
 * Agent and controller are the program itself.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { ANNOTATION } from '../../src/model/names.ts';
import { IP_CLAIMS, inNamespace, SERVICES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const PATIENT = { timeoutMs: 60_000 };
/** the claim of this one cannot be changed once it is announced; before, the controller may hear of the Service sooner than of its endpoints */
const LOCKED = '198.51.100.1';
/** of these no claim can be made */
const REFUSED = ['203.0.113.8', '2001-0db8-0007-0000-0000-0000-0000-0001'];
const EXTERNAL = { type: 'ClusterIP', loadBalancerClass: undefined };

const POLICY = [
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'refuse-claims' },
    spec: {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [
          {
            apiGroups: ['herald.dev'],
            apiVersions: ['*'],
            operations: ['CREATE', 'UPDATE'],
            resources: ['ipclaims'],
          },
        ],
      },
      validations: [
        { expression: `!(object.metadata.name in ${JSON.stringify(REFUSED)})` },
        {
          expression: `oldObject == null || object.metadata.name != '${LOCKED}' || has(oldObject.spec.withdrawn)`,
        },
      ],
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: 'refuse-claims' },
    spec: { policyName: 'refuse-claims', validationActions: ['Deny'] },
  },
];

describe('a Service for which the API refuses a claim', function () {
  this.timeout(240_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let namespace: string;
  const runs: HeraldRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    await cluster.applyObjects(...POLICY);
    bird = await startBird({ folder: cluster.folder });
    await cluster.addNode('a');
    const spec = { allowExternalIPs: true, autoAssign: false };
    await cluster.applyObjects(
      loopbackPeer('bird', bird, ['a'], { nextHop: { ipv6: '2001:db8::1' } }),
      poolBody('seven', ['198.51.100.7/32'], spec),
      poolBody('two', [`${LOCKED}/32`, '198.51.100.2/32'], spec),
      poolBody('eight', ['203.0.113.8/32'], spec),
      poolBody('both', ['192.0.2.1/32', '2001:db8:7::1/128']),
    );
    await untilValue('the policy is in force', isRefused, (refused) => refused, PATIENT);
    runs.push(await startAgent({ cluster, node: 'a' }));
    runs.push(
      startHerald(['controller', '--metrics-address=off'], {
        name: 'controller',
        folder: cluster.folder,
        kubeconfig: cluster.kubeconfig,
      }),
    );
    namespace = await cluster.namespace();
  });

  afterEach(async function () {
    if (this.currentTest?.state !== 'failed') return;
    for (const each of runs) process.stderr.write(`--- ${each.name}\n${each.log().slice(-3000)}`);
  });

  after(async () => {
    await Promise.all(runs.map((each) => each.kill()));
    await bird?.kill();
    await cluster?.stop();
  });

  async function isRefused(): Promise<boolean> {
    const body = {
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPClaim',
      metadata: { name: REFUSED[0] },
      spec: {},
    };
    try {
      await cluster.api.create(IP_CLAIMS, body);
      await cluster.api.delete(IP_CLAIMS, REFUSED[0] ?? '');
      return false;
    } catch {
      return true;
    }
  }

  const route = (prefix: string, wanted: boolean) =>
    untilValue(
      `${wanted ? 'a' : 'no'} route to ${prefix}`,
      () => bird.has(prefix),
      (has) => has === wanted,
      PATIENT,
    );

  async function serve(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
    await cluster.setEndpoints({ namespace, name }, 1);
    await cluster.addService({ namespace, name, spec });
  }

  const edit = (name: string, spec: object) =>
    cluster.api.patch(inNamespace(SERVICES, namespace), name, { kind: 'merge', body: { spec } });
  const remove = (name: string) => cluster.api.delete(inNamespace(SERVICES, namespace), name);

  it('an external IP that is taken out of its list leaves', async () => {
    await serve('listed', { ...EXTERNAL, externalIPs: ['198.51.100.7'] });
    await route('198.51.100.7/32', true);
    await edit('listed', { externalIPs: ['203.0.113.8'] });
    await route('198.51.100.7/32', false);
    await remove('listed');
  });

  it('an external IP whose pool does not allow it any more leaves', async () => {
    await serve('allowed', { ...EXTERNAL, externalIPs: ['198.51.100.7', '203.0.113.8'] });
    await route('198.51.100.7/32', true);
    await cluster.applyObjects(
      poolBody('seven', ['198.51.100.7/32'], { allowExternalIPs: false, autoAssign: false }),
    );
    await route('198.51.100.7/32', false);
    await remove('allowed');
  });

  it('what is left of a Service that is gone leaves, where one of its claims cannot be changed', async () => {
    await serve('gone', { ...EXTERNAL, externalIPs: [LOCKED, '198.51.100.2'] });
    await route(`${LOCKED}/32`, true);
    await route('198.51.100.2/32', true);
    await remove('gone');
    await route('198.51.100.2/32', false);
  });

  it('a load balancer that asks for an address which is refused keeps the one that it has', async () => {
    const name = 'asking';
    await serve(name, { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
    await route('192.0.2.1/32', true);
    const found = () => cluster.api.get(inNamespace(SERVICES, namespace), name);
    const has = async () => JSON.stringify(at(await found(), 'status', 'loadBalancer'));
    await untilValue('it is told', has, (text) => text.includes('192.0.2.1'), PATIENT);
    const annotations = { [ANNOTATION.addresses]: '203.0.113.8' };
    const patch = { kind: 'merge', body: { metadata: { annotations } } } as const;
    await cluster.api.patch(inNamespace(SERVICES, namespace), name, patch);
    await untilValue(
      'it is refused',
      async () => JSON.stringify(await found()),
      (text) => text.includes('WriteRefused'),
      PATIENT,
    );
    expect(await has()).to.contain('192.0.2.1');
    expect(await bird.has('192.0.2.1/32')).to.equal(true);
    await remove(name);
    await route('192.0.2.1/32', false);
  });

  it('an address that it has already is withdrawn with its last endpoint, where it requires the other family as well', async () => {
    await serve('dual', { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
    await route('192.0.2.1/32', true);
    await edit('dual', { ipFamilies: ['IPv4', 'IPv6'], ipFamilyPolicy: 'RequireDualStack' });
    await untilValue(
      'it is told',
      async () => JSON.stringify(await cluster.api.get(inNamespace(SERVICES, namespace), 'dual')),
      (text) => text.includes('WriteRefused'),
      PATIENT,
    );
    await cluster.setEndpoints({ namespace, name: 'dual' }, 0);
    await route('192.0.2.1/32', false);
  });
});
