/**
 * The API server's record of who wrote which field: not kept where only Herald writes, since every agent would read it and every write pay
 * for it; left alone where a person applies. Controller and agent are the program itself.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { nodeLease } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, inNamespace, LEASES, SERVICES } from '../../src/sources/kube/resources.ts';
import { done, notYet, until, untilValue } from '../support/poll.ts';
import { poolBody } from './support/agent-documents.ts';
import { startAgent } from './support/agent-run.ts';
import { at, type Cluster, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { holderOf } from './support/placement-world.ts';
import { type ReceivingRouter, startReceivingRouter } from './support/receiving-router.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const PATIENT = { timeoutMs: 60_000 };
const EXCLUSIVE = '198.51.100.7';
const ANYCAST = '198.51.100.8';

const writers = (object: KubeObject): unknown => at(object, 'metadata', 'managedFields');
const withdrawn = (object: KubeObject): unknown => at(object, 'spec', 'withdrawn', 'reason');

describe('the record of who wrote which field', () => {
  let cluster: Cluster;
  let router: ReceivingRouter;
  let namespace: string;
  const runs: HeraldRun[] = [];

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    router = await startReceivingRouter();
    await cluster.addNode('a');
    await cluster.applyObjects(
      loopbackPeer('router', router, ['a']),
      poolBody('one', [`${EXCLUSIVE}/32`], { autoAssign: false, placement: { mode: 'exclusive' } }),
      poolBody('all', [`${ANYCAST}/32`]),
    );
    runs.push(await startAgent({ cluster, node: 'a' }));
    const options = { name: 'controller', folder: cluster.folder, kubeconfig: cluster.kubeconfig };
    runs.push(startHerald(['controller', '--metrics-address=off'], options));
    namespace = await cluster.namespace();
  });

  after(async () => {
    await Promise.all(runs.map((each) => each.kill()));
    await router?.stop();
    await cluster?.stop();
  });

  const claim = (address: string) => cluster.api.get(IP_CLAIMS, address);

  /** the claim as it then is; one that is not there yet says nothing */
  const claimSays = (address: string, what: string, isSo: (claim: KubeObject) => boolean) =>
    until(
      what,
      async () => {
        const { items } = await cluster.api.list(IP_CLAIMS);
        const found = items.find(({ metadata }) => metadata.name === address);
        return found !== undefined && isSo(found) ? done(found) : notYet(found?.['spec']);
      },
      PATIENT,
    );

  it('is not kept in a claim that has been placed, nor in the Lease of the node that has it', async () => {
    await cluster.setEndpoints({ namespace, name: 'one' }, 1);
    const annotations = { 'herald.dev/pool': 'one' };
    await cluster.addService({ namespace, name: 'one', annotations });
    await claimSays(EXCLUSIVE, 'it is placed', (found) => holderOf(found) === 'a');
    expect(writers(await claim(EXCLUSIVE))).to.equal(undefined);
    await untilValue(
      'the Lease has been renewed',
      () => cluster.api.get(LEASES, nodeLease('a')),
      (lease) => writers(lease) === undefined,
      PATIENT,
    );
  });

  it('is kept where a person applies, and so what is applied no more goes', async () => {
    await cluster.setEndpoints({ namespace, name: 'two' }, 1);
    await cluster.addService({ namespace, name: 'two' });
    await claimSays(ANYCAST, 'it is there', () => true);
    const apply = (spec: object) =>
      cluster.kubectl(
        ['apply', '--server-side', '--field-manager=person', '-f', '-'],
        JSON.stringify({
          apiVersion: 'herald.dev/v1alpha1',
          kind: 'IPClaim',
          metadata: { name: ANYCAST },
          spec,
        }),
      );
    await apply({ withdrawn: { reason: 'maintenance' } });
    const policy = { spec: { externalTrafficPolicy: 'Local' } };
    await cluster.api.patch(inNamespace(SERVICES, namespace), 'two', {
      kind: 'merge',
      body: policy,
    });
    const written = await claimSays(ANYCAST, 'the controller has written it', (found) =>
      Number.isInteger(at(found, 'spec', 'services', '0', 'healthCheckNodePort')),
    );
    expect(JSON.stringify(writers(written))).to.contain('"manager":"person"');
    expect(withdrawn(written)).to.equal('maintenance');
    await apply({});
    expect(withdrawn(await claim(ANYCAST))).to.equal(undefined);
  });
});
