/**
 * The password of a router, in a Secret: while it is missing the session stays down and BGPPeer and IPNode say so; it is signed by what the Secret holds, and follows when
 * that changes, before or after the router's own. BIRD has the key on its listening socket, so an unsigned or a wrongly signed packet never
 * reaches it. Nothing that anybody can read has a key in it.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { NAMESPACE } from '../../src/model/names.ts';
import type { KubeObject } from '../../src/sources/kube/api.ts';
import {
  BGP_PEERS,
  EVENTS,
  IP_CLAIMS,
  IP_NODES,
  inNamespace,
  SECRETS,
} from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { anycastClaim, poolBody } from './support/agent-documents.ts';
import { type AgentRun, startAgent } from './support/agent-run.ts';
import { type BirdRouter, startBird } from './support/bird.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { loopbackPeer } from './support/loopback.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const ROOT = join(import.meta.dirname, '../..');
const VIP = '198.51.100.7';
const FIRST = 'first-key-of-the-router';
const SECOND = 'second-key-of-the-router';
/** a Secret is asked for every minute, while its session is not up every 10 s; a router dialled every second, a condition written within seconds */
const PATIENT = { timeoutMs: 120_000 };

describe('the password of a router, in a Secret', function () {
  this.timeout(420_000);
  let cluster: Cluster;
  let router: BirdRouter;
  let controller: HeraldRun | undefined;
  let agent: AgentRun | undefined;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    cluster = await startCluster();
    await cluster.installCrds();
    await cluster.applyKustomization(join(ROOT, 'deploy/base'));
    router = await startBird({ folder: cluster.folder, password: FIRST });
    await cluster.addNode('n1');
    await cluster.applyObjects(
      poolBody('vips', ['198.51.100.0/24']),
      loopbackPeer('tor', router, ['n1'], { password: { secret: 'tor-key' } }),
      anycastClaim(VIP),
    );
    const kubeconfig = await cluster.serviceAccountKubeconfig(NAMESPACE, 'herald-controller');
    const options = { name: 'controller', folder: cluster.folder, kubeconfig };
    controller = startHerald(['controller', '--metrics-address=off', '--log-level=debug'], options);
    agent = await startAgent({ cluster, node: 'n1' });
  });

  afterEach(function () {
    if (this.currentTest?.state === 'failed') process.stderr.write(`${agent?.log()}\n`);
  });

  after(async () => {
    await agent?.kill();
    await controller?.kill();
    await router?.kill();
    await cluster?.stop();
  });

  const peerSays = async () => condition(await cluster.api.get(BGP_PEERS, 'tor'), 'SessionsUp');
  const nodeSays = async () => {
    const found = await cluster.api.get(IP_NODES, 'n1').catch(() => undefined);
    return found === undefined ? '' : condition(found, 'SessionsUp');
  };
  const untilBothSay = async (part: string) => {
    for (const says of [nodeSays, peerSays]) {
      await untilValue(`a condition: ${part}`, says, (now) => now.includes(part), PATIENT);
    }
  };
  const untilSession = (isUp: boolean) =>
    untilValue(
      `the router's session is ${isUp ? 'up' : 'down'}`,
      async () => (await router.established()).length > 0,
      (now) => now === isUp,
      PATIENT,
    );
  const untilRoute = () =>
    untilValue(
      'the route is there',
      () => router.has(`${VIP}/32`),
      (now) => now,
      PATIENT,
    );
  const setKey = (password: string) =>
    cluster.api.patch(SECRETS, 'tor-key', {
      kind: 'merge',
      body: { data: { password: Buffer.from(password).toString('base64') } },
    });
  /** on the same port, with another key */
  const replaceRouter = async (password: string) => {
    await router.kill();
    router = await startBird({ folder: cluster.folder, port: router.port, password });
  };

  it('keeps the session down while there is none, and BGPPeer and IPNode say so', async () => {
    await untilBothSay('the Secret herald-system/tor-key of BGPPeer tor does not exist');
    expect(await router.established()).to.deep.equal([]);
  });

  it('signs the session when it comes', async () => {
    const stringData = { password: `${FIRST}\n` };
    await cluster.api.create(SECRETS, { metadata: { name: 'tor-key' }, stringData });
    await untilRoute();
    await untilBothSay('True');
  });

  it('leaves with the old key when it changes, and is back when the router has the new one', async () => {
    await setKey(SECOND);
    await untilSession(false);
    await untilBothSay('False');
    await replaceRouter(SECOND);
    await untilRoute();
    await untilBothSay('True');
  });

  it('is back when the router has changed first', async () => {
    await replaceRouter(FIRST);
    await untilBothSay('False');
    expect(await router.established()).to.deep.equal([]);
    await setKey(FIRST);
    await untilRoute();
    await untilBothSay('True');
  });

  it('goes down when it is deleted', async () => {
    await cluster.api.delete(SECRETS, 'tor-key');
    await untilSession(false);
    await untilBothSay('does not exist');
  });

  it('stands in no log, no status, no event and no saved View', async () => {
    const machine = join(cluster.folder, 'machine-n1');
    // a file that is written anew may be gone between the look and the reading
    const files = await untilValue(
      'the files of the machine',
      () =>
        readdirSync(machine, { withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map(({ name }) => readFileSync(join(machine, name), 'utf8')),
      (texts) => texts.length > 0,
    );
    const read = [
      agent?.log() ?? '',
      controller?.log() ?? '',
      ...files,
      await (await fetch(`${agent?.url}/metrics`)).text(),
    ];
    expect(read.length, 'the saved View among them').to.be.above(3);
    for (const resource of [
      BGP_PEERS,
      IP_NODES,
      IP_CLAIMS,
      inNamespace(EVENTS, 'default'),
      inNamespace(EVENTS, NAMESPACE),
    ]) {
      read.push(JSON.stringify((await cluster.api.list(resource)).items));
    }
    const text = read.join('\n');
    expect(text).to.include('tor-key');
    for (const key of [FIRST, SECOND]) {
      expect(text).not.to.include(key);
      expect(text).not.to.include(Buffer.from(key).toString('base64'));
      expect(text).not.to.include(Buffer.from(key).toString('hex'));
    }
  });
});

function condition(object: KubeObject, type: string): string {
  const found = conditionOf(object, type);
  return `${at(found, 'status')} ${at(found, 'reason')}: ${at(found, 'message')}`;
}
