/** The program's way to the API, against real servers: what they say, what the network does to it, and how soon it is noticed. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect as netConnect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { nodeClock, nodeRandom } from 'bgp-ts';
import { expect } from 'chai';
import { SILENT_LOG } from '../../src/log/log.ts';
import { API_VERSION } from '../../src/model/names.ts';
import type { KubeApi, KubeObject, Resource } from '../../src/sources/kube/api.ts';
import {
  type ClosableKubeApi,
  createKubeApi,
  type KubeApiOptions,
} from '../../src/sources/kube/api-client.ts';
import { Informer } from '../../src/sources/kube/informer.ts';
import { type KubeAccessOptions, loadKubeAccess } from '../../src/sources/kube/kube-access.ts';
import { IP_CLAIMS, inNamespace } from '../../src/sources/kube/resources.ts';
import { describeKubeApi } from '../compliance/kube-api.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { type Cluster, startCluster } from './support/cluster.ts';
import { startProxy } from './support/proxy.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { serviceAccountToken } from './support/service-account.ts';

const CONFIG_MAPS: Resource = { group: '', version: 'v1', plural: 'configmaps' };
const readFile = (path: string) => readFileSync(path, 'utf8');
const soon = { timeoutMs: 60_000 };

describe('the way to a real API server', () => {
  let cluster: Cluster;
  const open: ClosableKubeApi[] = [];
  const informers: Informer<string>[] = [];

  const access = (options: Partial<KubeAccessOptions>) =>
    loadKubeAccess({ env: {}, readFile, clock: nodeClock, ...options });
  const connect = async (
    options: Partial<KubeAccessOptions>,
    more: Partial<KubeApiOptions> = {},
  ): Promise<KubeApi> => {
    const api = createKubeApi(await access(options), {
      clock: nodeClock,
      log: SILENT_LOG,
      version: 'test',
      ...more,
    });
    open.push(api);
    return api;
  };
  const follow = (api: KubeApi, resource: Resource) => {
    const seen: string[] = [];
    const informer = new Informer<string>({
      api,
      resource,
      clock: nodeClock,
      random: nodeRandom,
      log: SILENT_LOG,
      convert: (object: KubeObject) => JSON.stringify(object['data'] ?? object['spec']),
      onChange: (key, now) =>
        seen.push(`${key.split('/').at(-1)} ${now === undefined ? 'gone' : 'there'}`),
      freeze: true,
    });
    informers.push(informer);
    informer.start();
    const synced = () =>
      untilValue(
        'the informer has listed',
        () => informer.hasSynced,
        (has) => has,
        soon,
      );
    const sees = (event: string, timeoutMs = soon.timeoutMs) =>
      untilValue(
        `the informer sees: ${event}`,
        () => seen,
        (all) => all.includes(event),
        { timeoutMs },
      );
    return { informer, seen, synced, sees };
  };
  const map = (name: string) => ({ metadata: { name }, data: { a: 'b' } });

  /** listens from the start: servers send a bookmark about every minute, and the tests before it take nearly that long */
  let bookmarks = 0;

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster({ servers: 2 });
    const api = await connect({ kubeconfig: cluster.adminKubeconfig(1) });
    const maps = inNamespace(CONFIG_MAPS, 'nothing-is-here');
    const { resourceVersion } = await api.list(maps, { resourceVersion: '0' });
    const { signal } = new AbortController();
    const onEvent = () => {
      bookmarks += 1;
    };
    void api.watch(maps, { resourceVersion, timeoutSeconds: 280, signal, onEvent });
  });

  after(async () => {
    for (const informer of informers) informer.stop();
    for (const api of open) api.close();
    await cluster?.stop();
  });

  it('waits for CRDs that are installed later (SEEDS C3)', async () => {
    const { informer, synced } = follow(
      await connect({ kubeconfig: cluster.kubeconfig }),
      IP_CLAIMS,
    );
    await untilValue(
      'it has been told that there is none',
      () =>
        cluster.audit().filter(({ uri, code }) => uri.includes('ipclaims') && code === 404).length,
      (count) => count >= 2,
      soon,
    );
    expect(informer.hasSynced).to.equal(false);
    await cluster.installCrds();
    await synced();
    expect(informer.items.size).to.equal(0);
  });

  describe('the client', () => {
    let api: KubeApi;
    before(async () => {
      api = await connect({ kubeconfig: cluster.kubeconfig });
    });
    describeKubeApi('a real server', () => api);

    it('tells a refusal in the words of the server', async () => {
      const metadata = { name: 'not-an-address' };
      const body = { apiVersion: API_VERSION, kind: 'IPClaim', metadata, spec: {} };
      const error: unknown = await api.create(IP_CLAIMS, body).catch((reason: unknown) => reason);
      expect(error).to.include({ status: 422, reason: 'Invalid' });
      const nobody = await connect({ kubeconfig: cluster.userKubeconfig('nobody') });
      const forbidden: unknown = await nobody.list(IP_CLAIMS).catch((reason: unknown) => reason);
      expect(forbidden).to.include({ status: 403, reason: 'Forbidden' });
    });

    it('is known by its name in the audit log', () => {
      expect(cluster.audit().some(({ userAgent }) => userAgent === 'herald/test')).to.equal(true);
    });
  });

  it('hears the next event within 20 s when packets to the server in use are dropped (SEEDS B8)', async function drop() {
    this.timeout(120_000);
    skipWithoutCluster(this, { lab: true });
    const maps = inNamespace(CONFIG_MAPS, await cluster.namespace());
    const [first, second] = cluster.servers;
    if (first === undefined || second === undefined) throw new Error('two servers are needed');
    const api = await connect({ kubeconfig: cluster.kubeconfig, servers: [second.url] });
    const { synced, sees } = follow(api, maps);
    await synced();
    await second.api.create(maps, map('before'));
    await sees('before there');
    const drop = await dropPackets(new URL(first.url).port);
    try {
      const droppedMs = performance.now();
      await second.api.create(maps, map('after'));
      const call = api.get(maps, 'before', { timeoutMs: 5000 }).catch((error: unknown) => error);
      await sees('after there');
      const tookMs = Math.round(performance.now() - droppedMs);
      process.stderr.write(`      next event ${tookMs} ms after the drop\n`);
      expect(tookMs).to.be.within(100, 20_000);
      await call;
      expect(await api.get(maps, 'after')).to.have.nested.property('metadata.name', 'after');
    } finally {
      await drop.undo();
    }
  });

  it('goes through the proxy that the kubeconfig names', async () => {
    const tunnels: string[] = [];
    const tunnel = createServer();
    tunnel.on('connect', (request, client) => {
      tunnels.push(request.url ?? '');
      const { hostname, port } = new URL(`http://${request.url}`);
      const server = netConnect(Number(port), hostname, () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n');
        server.pipe(client).pipe(server);
      });
      for (const socket of [server, client]) socket.on('error', () => server.destroy());
    });
    await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve));
    const address = tunnel.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const path = join(cluster.folder, 'tunnel.kubeconfig');
    const named = readFile(cluster.kubeconfig).replace(
      /( *)server: .*/,
      `$&\n$1proxy-url: http://127.0.0.1:${port}`,
    );
    writeFileSync(path, named, { mode: 0o600 });
    const maps = inNamespace(CONFIG_MAPS, await cluster.namespace());
    const { synced, sees } = follow(await connect({ kubeconfig: path }), maps);
    await synced();
    await cluster.api.create(maps, map('one'));
    await sees('one there');
    expect(new Set(tunnels)).to.deep.equal(new Set([new URL(cluster.url).host]));
    for (const informer of informers) informer.stop();
    tunnel.closeAllConnections();
    tunnel.close();
  });

  it('leaves a watch on which nothing comes any more, though the connection lives', async () => {
    const maps = inNamespace(CONFIG_MAPS, await cluster.namespace());
    const proxy = await startProxy(cluster);
    try {
      const api = await connect(
        { kubeconfig: proxy.kubeconfig(), servers: [cluster.servers[1]?.url ?? ''] },
        { silentAfterMs: 3000 },
      );
      const { synced, sees } = follow(api, maps);
      await synced();
      await untilValue(
        'it watches',
        () => proxy.openStreams.filter(({ verb }) => verb === 'watch').length,
        (count) => count > 0,
      );
      proxy.add({ match: {}, fault: { kind: 'half-open' } });
      await cluster.api.create(maps, map('after'));
      // less than the 90 s after which it would take any watch for dead
      await sees('after there', 45_000);
    } finally {
      await proxy.stop();
    }
  });

  it('goes on with the new token of a pod when the old one is no longer taken', async function rotate() {
    this.timeout(120_000);
    const namespace = await cluster.namespace();
    const folder = mkdtempSync(join(tmpdir(), 'herald-token-'));
    const roles = (verb: string): Resource => ({
      group: 'rbac.authorization.k8s.io',
      version: 'v1',
      plural: verb,
      namespace,
    });
    const subjects = ['old', 'new'].map((name) => ({ kind: 'ServiceAccount', name, namespace }));
    await cluster.api.create(roles('roles'), {
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }],
    });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'r' };
    await cluster.api.create(roles('rolebindings'), { metadata: { name: 'r' }, roleRef, subjects });
    const tokenOf = (name: string) => serviceAccountToken(cluster.api, { namespace, name }, {});
    try {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'token'), await tokenOf('old'));
      writeFileSync(join(folder, 'ca.crt'), cluster.pki.ca);
      const { hostname, port } = new URL(cluster.url);
      const env = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
      const api = await connect({ env, serviceAccountFolder: folder });
      const maps = inNamespace(CONFIG_MAPS, namespace);
      const mark = cluster.auditMark();
      await untilValue(
        'the role counts',
        () => api.list(maps),
        () => true,
        soon,
      );
      writeFileSync(join(folder, 'token'), await tokenOf('new'));
      await cluster.api.delete(
        { group: '', version: 'v1', plural: 'serviceaccounts', namespace },
        'old',
      );
      const users = () =>
        cluster
          .audit(mark)
          .filter(({ userAgent, code }) => userAgent === 'herald/test' && code === 200)
          .map(({ user }) => user.split(':').at(-1));
      await untilValue(
        'the new token is used, and no call fails',
        async () => {
          await api.list(maps);
          return users();
        },
        (all) => all.includes('old') && all.includes('new'),
        { timeoutMs: 60_000, everyMs: 250 },
      );
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('hears from a server where nothing happens, sooner than it takes that for silence', async function quiet() {
    this.timeout(120_000);
    await untilValue(
      'a bookmark',
      () => bookmarks,
      (count) => count >= 1,
      { timeoutMs: 90_000 },
    );
  });

  it('lists again when the server has forgotten the version, and tells what went meanwhile (SEEDS H16)', async function gone() {
    this.timeout(180_000);
    const maps = inNamespace(CONFIG_MAPS, await cluster.namespace());
    const [, second] = cluster.servers;
    if (second === undefined) throw new Error('two servers are needed');
    const proxy = await startProxy(cluster, { server: 1 });
    try {
      const { informer, seen, synced, sees } = follow(
        await connect({ kubeconfig: proxy.kubeconfig() }),
        maps,
      );
      await synced();
      await cluster.api.create(maps, map('stays'));
      await cluster.api.create(maps, map('goes'));
      await sees('goes there');
      await proxy.refuse();
      const mark = cluster.auditMark();
      await cluster.api.delete(maps, 'goes');
      await cluster.api.create(maps, map('comes'));
      await compact(cluster);
      // what it remembers of the past it has in memory
      await second.kill();
      await second.start();
      seen.length = 0;
      await proxy.accept();
      await sees('comes there', 60_000);
      expect(seen).to.have.members(['comes there', 'goes gone']);
      expect([...informer.items.keys()].map((key) => key.split('/').at(-1))).to.have.members([
        'stays',
        'comes',
      ]);
      const ours = () =>
        cluster
          .audit(mark)
          .filter(
            ({ uri, userAgent }) =>
              userAgent === 'herald/test' && uri.includes(maps.namespace ?? ''),
          )
          .map(({ verb }) => verb);
      // the server says so in a status, or as an event of a watch that it had begun
      await untilValue('the audit log has a list', ours, (verbs) => verbs.includes('list'));
    } finally {
      await proxy.stop();
    }
  });
});

/** in both directions, without an answer: as a machine that is gone, or a firewall that has forgotten */
async function dropPackets(port: string): Promise<{ undo(): Promise<void> }> {
  const table = `herald_test_${process.pid}`;
  const chain = `chain input {
    type filter hook input priority 0
    tcp dport ${port} drop
    tcp sport ${port} drop
  }`;
  const rules = `table inet ${table} {\n${chain}\n}\n`;
  await run('nft', ['-f', '-'], { input: rules });
  return { undo: async () => void (await run('nft', ['delete', 'table', 'inet', table])) };
}

/** etcd's own HTTP door: there is no etcdctl everywhere */
async function compact(cluster: Cluster): Promise<void> {
  const { resourceVersion } = await cluster.api.list(CONFIG_MAPS);
  const body = JSON.stringify({ revision: Number(resourceVersion), physical: true });
  const answer = await fetch(`${cluster.etcd.url}/v3/kv/compaction`, { method: 'POST', body });
  expect(answer.status, await answer.text()).to.equal(200);
}
