/**
 * Claims of Services that the API server takes and Herald does not (`kubectl edit ipclaim` with a check by command; a newer release's field): judged
 * in BIRD's own table. Agents and controller are the program itself.
 */

import { join } from 'node:path';
import { expect } from 'chai';
import { isNotFound, type KubeObject } from '../../src/sources/kube/api.ts';
import {
  IP_CLAIMS,
  inNamespace,
  NODES as NODE_RESOURCE,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { passes, untilValue } from '../support/poll.ts';
import { EXCLUSIVE_POOL, poolBody } from './support/agent-documents.ts';
import { type AgentRun, startAgent, untilSaved } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer, nodeSource } from './support/loopback.ts';
import { holderOf } from './support/placement-world.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const BASE = join(import.meta.dirname, '../../deploy/base');
const NODES = ['a', 'b'];
const PATIENT = { timeoutMs: 120_000 };
/** the CRD knows it, for documents in files */
const UNREADABLE = { spec: { checks: [{ exec: { command: ['/bin/true'] } }] } };

describe('a claim that cannot be read', function () {
  this.timeout(480_000);
  let cluster: Cluster;
  let bird: BirdRouter;
  let namespace: string;
  const agents = new Map<string, AgentRun>();
  const runs: HeraldRun[] = [];

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.applyKustomization(BASE);
    bird = await startBird({ folder: cluster.folder });
    for (const node of NODES) await cluster.addNode(node);
    await cluster.applyObjects(
      loopbackPeer('bird', bird, NODES),
      poolBody('everywhere', ['198.51.100.0-198.51.100.9']),
      poolBody('one-node', ['203.0.113.7/32'], {
        ...EXCLUSIVE_POOL,
        autoAssign: false,
        drain: { on: ['stop', 'exclude-label'], waitSeconds: 0 },
      }),
    );
    namespace = await cluster.namespace();
    for (const node of NODES) agents.set(node, await startAgent({ cluster, node }));
    runs.push(
      startHerald(['controller', '--metrics-address=off'], {
        name: 'controller',
        folder: cluster.folder,
        kubeconfig: cluster.kubeconfig,
      }),
    );
  });

  afterEach(function () {
    if (this.currentTest?.state !== 'failed') return;
    for (const each of [...agents.values(), ...runs])
      process.stderr.write(`--- ${each.name}\n${each.log().slice(-3000)}`);
  });

  after(async () => {
    await Promise.all([...agents.values(), ...runs].map((each) => each.kill()));
    await bird?.kill();
    await cluster?.stop();
  });

  const announcers = async (address: string) =>
    (await bird.routes(`${address}/32`))
      .map(({ from }) => NODES.find((_, index) => nodeSource(index) === from) ?? from)
      .sort()
      .join();
  const announcedBy = (address: string, wanted: string) =>
    untilValue(
      `${address} is announced by '${wanted}'`,
      () => announcers(address),
      (found) => found === wanted,
      PATIENT,
    );

  async function claim(address: string): Promise<KubeObject | undefined> {
    try {
      return await cluster.api.get(IP_CLAIMS, address);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  const service = (name: string) => cluster.api.get(inNamespace(SERVICES, namespace), name);
  const ingressOf = (object: KubeObject) =>
    JSON.stringify(at(object, 'status', 'loadBalancer', 'ingress') ?? []);
  const allocated = async (name: string) =>
    JSON.stringify(conditionOf(await service(name), 'herald.dev/Allocated') ?? {});

  async function serve(name: string, address: string, annotations = {}): Promise<void> {
    await cluster.setEndpoints({ namespace, name }, 1);
    await cluster.addService({
      namespace,
      name,
      annotations: { 'herald.dev/addresses': address, ...annotations },
    });
  }

  const spoil = (address: string) =>
    cluster.api.patch(IP_CLAIMS, address, { kind: 'merge', body: UNREADABLE });

  const saysUnreadable = (name: string) =>
    untilValue(
      `Service ${name} is told`,
      () => allocated(name),
      (text) => text.includes('"ClaimUnreadable"') && text.includes('exec'),
      PATIENT,
    );

  const isFree = (address: string) =>
    untilValue(
      'the claim is deleted',
      () => claim(address),
      (now) => now === undefined,
      PATIENT,
    );

  it('stays that of its Service, which keeps its address and is told; after the Service it is withdrawn and deleted', async () => {
    // by no name: the address is the pool's choice, so another one could take its place
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await cluster.addService({ namespace, name: 'web' });
    const found = await untilValue(
      'an address',
      async () => ingressOf(await service('web')),
      (text) => text !== '[]',
      PATIENT,
    );
    expect(found).to.equal('[{"ip":"198.51.100.0","ipMode":"VIP"}]');
    await announcedBy('198.51.100.0', 'a,b');
    await spoil('198.51.100.0');
    await saysUnreadable('web');
    expect(ingressOf(await service('web')), 'the same address').to.equal(found);
    const claims = (await cluster.api.list(IP_CLAIMS)).items.map(({ metadata }) => metadata.name);
    expect(claims, 'no other one').to.deep.equal(['198.51.100.0']);
    expect(await announcers('198.51.100.0')).to.equal('a,b');

    // no endpoint, then one again: written without a loss of what cannot be read
    await cluster.setEndpoints({ namespace, name: 'web' }, 0);
    await announcedBy('198.51.100.0', '');
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    await announcedBy('198.51.100.0', 'a,b');
    const stands = await claim('198.51.100.0');
    expect(JSON.stringify(at(stands, 'spec', 'checks')), 'the check is left').to.include('exec');

    // an agent that starts again has the last good form from its saved View
    // the claim, not the range of the pool, which begins with the same address
    await untilSaved(cluster, 'a', (view) => view.includes('"name":"198.51.100.0"'));
    await agents.get('a')?.kill();
    await announcedBy('198.51.100.0', 'b');
    agents.set('a', await startAgent({ cluster, node: 'a' }));
    await announcedBy('198.51.100.0', 'a,b');

    await cluster.api.delete(inNamespace(SERVICES, namespace), 'web');
    await announcedBy('198.51.100.0', '');
    await isFree('198.51.100.0');
    // the address is anybody's again
    await serve('next', '198.51.100.0');
    await announcedBy('198.51.100.0', 'a,b');
  });

  it('stays on its node where it is exclusive, and moves when it is put right', async () => {
    const vip = '203.0.113.7';
    await serve('alone', vip);
    await untilValue(
      'it is placed',
      () => announcers(vip),
      (who) => NODES.includes(who),
      PATIENT,
    );
    const holder = holderOf((await claim(vip)) as KubeObject);
    const other = NODES.find((node) => node !== holder) ?? '';
    await spoil(vip);
    await saysUnreadable('alone');
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'alone');
    await announcedBy(vip, '');
    await isFree(vip);

    await serve('again', vip);
    await announcedBy(vip, holder ?? '');
    await spoil(vip);
    await saysUnreadable('again');
    const exclude = { 'node.kubernetes.io/exclude-from-external-load-balancers': '' };
    await cluster.api.patch(NODE_RESOURCE, holder ?? '', {
      kind: 'merge',
      body: { metadata: { labels: exclude } },
    });
    // the other node cannot read it: it must not be given to it
    await passes(5000);
    expect(holderOf((await claim(vip)) as KubeObject), 'it stays').to.equal(holder);
    expect(await announcers(vip)).to.equal(holder);
    await cluster.api.patch(IP_CLAIMS, vip, { kind: 'merge', body: { spec: { checks: null } } });
    await announcedBy(vip, other);
  });

  it('is left alone where it was made by hand', async () => {
    const vip = '198.51.100.8';
    await cluster.applyObjects({
      apiVersion: 'herald.dev/v1alpha1',
      kind: 'IPClaim',
      metadata: { name: vip },
      ...UNREADABLE,
    });
    await serve('wants-it', vip);
    await untilValue(
      'it is refused',
      () => allocated('wants-it'),
      (text) => text.includes('AddressTaken') && text.includes('made by hand'),
      PATIENT,
    );
    const stands = await claim(vip);
    expect(JSON.stringify(at(stands, 'spec', 'services') ?? [])).to.equal('[]');
    expect(at(stands, 'spec', 'withdrawn')).to.equal(undefined);
  });
});
