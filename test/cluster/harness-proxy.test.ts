/** The failing proxy: each fault does what it says, to the client and to the server, and no more often than told. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import {
  ApiError,
  ApiUnreachable,
  isNotFound,
  type WatchEvent,
} from '../../src/sources/kube/api.ts';
import { IP_POOLS, NODES } from '../../src/sources/kube/resources.ts';
import { done, notYet, passes, until, untilValue } from '../support/poll.ts';
import { matches, readRequest } from './support/api-request.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { type FailingProxy, startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import type { TestApi } from './support/test-api.ts';

const pool = (name: string, description = '') => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind: 'IPPool',
  metadata: { name, annotations: { description } },
  spec: { addresses: ['192.0.2.0/24'] },
});
const writes = { verb: 'create', resource: 'ippools' };

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it should have failed');
}

describe('requests as the API server reads them', () => {
  const read = (method: string, url: string) => readRequest(method, url, 'agent');

  it('knows verbs, resources, subresources and names', () => {
    expect(read('GET', '/api/v1/services?watch=true')).to.include({
      verb: 'watch',
      resource: 'services',
    });
    expect(read('GET', '/api/v1/namespaces/a/services?limit=1')).to.deep.equal({
      verb: 'list',
      resource: 'services',
      namespace: 'a',
      userAgent: 'agent',
    });
    expect(read('PATCH', '/apis/herald.dev/v1alpha1/ipnodes/n1/status')).to.deep.equal({
      verb: 'patch',
      resource: 'ipnodes',
      subresource: 'status',
      name: 'n1',
      userAgent: 'agent',
    });
    expect(read('GET', '/api/v1/namespaces/a')).to.include({ resource: 'namespaces', name: 'a' });
    expect(read('PUT', '/api/v1/namespaces/a/finalize')).to.include({
      resource: 'namespaces',
      subresource: 'finalize',
    });
    expect(read('DELETE', '/api/v1/nodes')).to.include({ verb: 'deletecollection' });
    expect(read('GET', '/readyz')).to.include({ verb: 'other', resource: '' });
  });

  it('matches by each word that is given', () => {
    const request = read('PATCH', '/apis/herald.dev/v1alpha1/ipnodes/n1/status');
    expect(matches({}, request)).to.equal(true);
    expect(matches({ verb: ['patch', 'update'], subresource: 'status' }, request)).to.equal(true);
    expect(matches({ subresource: '' }, request)).to.equal(false);
    expect(matches({ name: 'n2' }, request)).to.equal(false);
    expect(matches({ userAgent: 'controller' }, request)).to.equal(false);
  });
});

describe('the failing proxy', () => {
  let cluster: Cluster;
  let proxy: FailingProxy;
  let api: TestApi;

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
    proxy = await startProxy(cluster);
    api = cluster.apiAs(proxy.kubeconfig(), 'through-proxy/1');
  });

  afterEach(async () => {
    proxy?.clear();
    await proxy?.accept();
    await cluster?.reset();
  });

  after(async () => {
    api?.close();
    await proxy?.stop();
    await cluster?.stop();
  });

  const exists = async (name: string): Promise<boolean> => {
    try {
      await cluster.api.get(IP_POOLS, name);
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  };

  /** A watch from now on, its events as text. */
  async function watching() {
    const events: string[] = [];
    const ending = new AbortController();
    const { resourceVersion } = await api.list(IP_POOLS);
    const onEvent = (event: WatchEvent) => {
      if (event.kind !== 'bookmark') events.push(`${event.kind} ${event.object.metadata.name}`);
    };
    const { signal } = ending;
    let isOpen = false;
    const onOpen = () => {
      isOpen = true;
    };
    const options = { resourceVersion, signal, timeoutSeconds: 60, onEvent, onOpen };
    const over = api.watch(IP_POOLS, options);
    await until('the watch is open', () => (isOpen ? done(true) : notYet('none')));
    return { events, over, end: () => ending.abort() };
  }

  const saw = (events: readonly string[], event: string) =>
    until(event, () => (events.includes(event) ? done(true) : notYet([...events])));

  it('passes everything on, streams at once, and counts', async () => {
    const requests = proxy.count(writes);
    const watch = await watching();
    await api.create(IP_POOLS, pool('one'));
    await saw(watch.events, 'added one');
    watch.end();
    expect(await watch.over).to.deep.equal({ kind: 'closed' });
    expect(proxy.count(writes) - requests).to.equal(1);
    expect(proxy.count({ userAgent: 'through-proxy', verb: 'watch' })).to.be.greaterThan(0);
    expect(proxy.bytes({ userAgent: 'through-proxy', verb: 'watch' })).to.be.greaterThan(100);
    expect(proxy.count({ userAgent: 'somebody-else' })).to.equal(0);
  });

  it('passes on who asks, by certificate and by token', async () => {
    await cluster.namespace('who');
    const kubeconfig = await cluster.serviceAccountKubeconfig('default', 'nobody');
    const nobody = cluster.apiAs(proxy.kubeconfig(kubeconfig));
    expect(await failure(nobody.list(NODES))).to.include({ status: 403 });
    const user = cluster.apiAs(
      proxy.kubeconfig(cluster.userKubeconfig('jane', ['system:masters'])),
    );
    expect((await user.list(NODES)).items).to.deep.equal([]);
    const { stdout } = await cluster.kubectl(['auth', 'whoami'], '', proxy.kubeconfig());
    expect(stdout).to.match(/Username +admin/);
  });

  for (const [code, reason] of [
    [409, 'Conflict'],
    [410, 'Expired'],
    [429, 'TooManyRequests'],
    [500, 'InternalError'],
    [503, 'ServiceUnavailable'],
  ] as const) {
    it(`answers ${code} in the server's place, as often as told`, async () => {
      const fault = { kind: 'status', code, reason, retryAfterSeconds: 2 } as const;
      const rule = proxy.add({ match: writes, fault, times: 2, after: 1 });
      await api.create(IP_POOLS, pool('one'));
      for (const name of ['two', 'three']) {
        const error = await failure(api.create(IP_POOLS, pool(name)));
        expect(error).to.be.instanceOf(ApiError);
        expect(error).to.include({ status: code, reason, retryAfterMs: 2_000 });
        expect(await exists(name)).to.equal(false);
      }
      await api.create(IP_POOLS, pool('four'));
      expect([rule.matched, rule.applied]).to.deep.equal([4, 2]);
    });
  }

  it('stalls, and then it goes on', async () => {
    proxy.add({ match: writes, fault: { kind: 'stall', ms: 200 } });
    const started = performance.now();
    await api.create(IP_POOLS, pool('one'));
    expect(performance.now() - started).to.be.greaterThan(195);
    proxy.clear();
    proxy.add({ match: writes, fault: { kind: 'stall', ms: 60_000 } });
    const late = await failure(api.create(IP_POOLS, pool('two'), { timeoutMs: 200 }));
    expect(late).to.be.instanceOf(ApiUnreachable);
    expect(await exists('two')).to.equal(false);
  });

  it('drops the answer to what was done', async () => {
    proxy.add({ match: writes, fault: { kind: 'drop-response' }, times: 1 });
    expect(await failure(api.create(IP_POOLS, pool('one')))).to.be.instanceOf(ApiUnreachable);
    expect(await exists('one')).to.equal(true);
    expect(await failure(api.create(IP_POOLS, pool('one')))).to.include({
      reason: 'AlreadyExists',
    });
  });

  it('drops a request before it is done', async () => {
    proxy.add({ match: writes, fault: { kind: 'drop-request' }, times: 1 });
    expect(await failure(api.create(IP_POOLS, pool('one')))).to.be.instanceOf(ApiUnreachable);
    expect(await exists('one')).to.equal(false);
  });

  it('lets a connection hang: a new request and a watch that is open', async () => {
    const watch = await watching();
    await cluster.api.create(IP_POOLS, pool('before'));
    await saw(watch.events, 'added before');
    const match = { resource: 'ippools', userAgent: 'through-proxy' };
    const rule = proxy.add({ match, fault: { kind: 'half-open' } });
    expect(rule.applied).to.equal(1);
    const patience = new AbortController();
    const mute = failure(api.list(IP_POOLS, { signal: patience.signal }));
    await untilValue(
      'the proxy has the request',
      () => rule.applied,
      (count) => count === 2,
    );
    await passes(300);
    patience.abort();
    expect(await mute).to.be.instanceOf(ApiUnreachable);
    expect(rule.applied).to.equal(2);
    await cluster.api.create(IP_POOLS, pool('after'));
    proxy.clear();
    // the way is free again for whoever asks anew; the old watch stays mute and open
    const again = await watching();
    await cluster.api.create(IP_POOLS, pool('last'));
    await saw(again.events, 'added last');
    expect(watch.events).to.deep.equal(['added before']);
    const isOver = await Promise.race([watch.over, Promise.resolve('open')]);
    expect(isOver).to.equal('open');
    watch.end();
    again.end();
    await Promise.all([watch.over, again.over]);
  });

  it('makes an answer slow', async () => {
    await cluster.api.create(IP_POOLS, pool('one', 'x'.repeat(20_000)));
    proxy.add({ match: { verb: 'get' }, fault: { kind: 'slow', bytesPerSecond: 40_000 } });
    const started = performance.now();
    await api.get(IP_POOLS, 'one');
    expect(performance.now() - started).to.be.greaterThan(450);
  });

  it('ends a watch with an ERROR event, an open one too', async () => {
    const watch = await watching();
    const fault = { kind: 'watch-error', code: 410, reason: 'Expired' } as const;
    proxy.add({ match: { verb: 'watch' }, fault, times: 2 });
    expect(await watch.over).to.deep.equal({ kind: 'gone' });
    const options = {
      signal: new AbortController().signal,
      timeoutSeconds: 60,
      resourceVersion: '1',
    };
    const next = await api.watch(IP_POOLS, { ...options, onEvent: () => undefined });
    expect(next).to.deep.equal({ kind: 'gone' });
  });

  it('cuts connections, refuses them and takes them again', async () => {
    const watch = await watching();
    proxy.cut();
    expect(await watch.over).to.include({ kind: 'failed' });
    // a connection that was idle may not have heard of its end yet
    await until('a new connection is taken', async () => done(await api.list(IP_POOLS)));
    await proxy.refuse();
    expect(await failure(api.list(IP_POOLS))).to.be.instanceOf(ApiUnreachable);
    await proxy.accept();
    await api.list(IP_POOLS);
  });

  it('refuses at once, whatever handshake is under way', async () => {
    const { hostname, port } = new URL(proxy.url);
    const silent = connect(Number(port), hostname);
    const ended = once(silent, 'close');
    silent.on('error', () => undefined);
    await once(silent, 'connect');
    // the proxy has it by then, too: connections are taken in the order in which they came
    await api.list(NODES);
    await proxy.refuse();
    await ended;
    await proxy.accept();
    await until('a new connection is taken', async () => done(await api.list(IP_POOLS)));
  });
});
