/** What the controller tells people: conditions, events and metrics, on a real API server (SEEDS H8, H18). Agents are what a test writes. */

import { expect } from 'chai';
import {
  BGP_PEERS,
  EVENTS,
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  inNamespace,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { passes, untilStill, untilValue } from '../support/poll.ts';
import type { AuditMark } from './support/audit.ts';
import { at, type Cluster, conditionOf, startCluster } from './support/cluster.ts';
import { type HeraldRun, startHerald } from './support/herald-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

const NODES = ['node-a', 'node-b', 'node-c'];
const PEERS = ['tor-1', 'tor-2'];
const SINCE = '2026-01-01T00:00:00Z';

const own = (kind: string, name: string, spec?: object) => ({
  apiVersion: 'herald.dev/v1alpha1',
  kind,
  metadata: { name },
  ...(spec === undefined ? {} : { spec }),
});

describe('what the controller tells', () => {
  let cluster: Cluster;
  let controller: HeraldRun | undefined;
  let port = 0;

  before(async function start() {
    skipWithoutCluster(this);
    cluster = await startCluster();
    await cluster.installCrds();
  });

  beforeEach(async () => {
    [port = 0] = await freePorts(1);
    const kubeconfig = cluster.userKubeconfig('controller', ['system:masters']);
    controller = startHerald(
      ['controller', `--metrics-address=127.0.0.1:${port}`, '--leader-elect=false'],
      { name: 'controller', folder: cluster.folder, kubeconfig },
    );
    await controller.logged('its loops run', ({ msg }) => msg === 'the loops run', {
      timeoutMs: 60_000,
    });
  });

  afterEach(async () => {
    expect(await controller?.stop()).to.equal(0);
    await cluster.reset();
  });
  after(() => cluster?.stop());

  const session = (peer: string, state: string, lastError?: string) => ({
    peer,
    address: '192.0.2.1',
    state,
    ...(lastError === undefined ? {} : { lastError }),
  });

  async function report(node: string, sessions: readonly object[]): Promise<void> {
    const joined = { open: true, reason: 'Joined', message: 'joined', since: SINCE };
    const patch = { kind: 'merge', body: { status: { joined, sessions } } } as const;
    await cluster.api.patch(IP_NODES, node, patch, { subresource: 'status' });
  }

  async function scenery(): Promise<void> {
    for (const name of NODES) {
      await cluster.addNode(name);
      await cluster.api.create(IP_NODES, own('IPNode', name));
      await report(
        name,
        PEERS.map((peer) => session(peer, 'Established')),
      );
    }
    for (const [index, name] of PEERS.entries()) {
      const spec = { address: `192.0.2.${index + 1}`, asn: 64500 };
      await cluster.api.create(BGP_PEERS, own('BGPPeer', name, spec));
    }
    await cluster.api.create(IP_POOLS, own('IPPool', 'pool', { addresses: ['198.51.100.0/24'] }));
  }

  async function webService(): Promise<string> {
    const namespace = await cluster.namespace('shop');
    await cluster.addService({ namespace, name: 'web' });
    await cluster.setEndpoints({ namespace, name: 'web' }, 1);
    return namespace;
  }

  const advertised = async (namespace: string) => {
    const service = await cluster.api.get(inNamespace(SERVICES, namespace), 'web');
    const condition = conditionOf(service, 'herald.dev/Advertised');
    return `${at(condition, 'status')} ${at(condition, 'reason')}: ${at(condition, 'message')}`;
  };

  const eventsOf = async (name: string, namespace: string) =>
    (await cluster.api.list(inNamespace(EVENTS, namespace))).items
      .filter((event) => at(event, 'regarding', 'name') === name)
      .map((event) => `${at(event, 'type')} ${at(event, 'reason')}: ${at(event, 'note')}`);

  async function scrape(): Promise<string> {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    return await answer.text();
  }

  it('says by how many nodes and to how many peers a Service is advertised, beside conditions of others', async () => {
    await scenery();
    const namespace = await webService();
    const foreign = {
      type: 'example.com/Other',
      status: 'True',
      reason: 'Because',
      message: 'not ours',
      lastTransitionTime: SINCE,
    };
    const patch = { kind: 'strategic', body: { status: { conditions: [foreign] } } } as const;
    const services = inNamespace(SERVICES, namespace);
    await cluster.api.patch(services, 'web', patch, { subresource: 'status' });
    const whole = 'True Advertised: advertised by 3 of 3 nodes to 2 of 2 peers';
    await untilValue(
      'it is advertised',
      () => advertised(namespace),
      (found) => found === whole,
      {
        timeoutMs: 30_000,
      },
    );
    const service = await cluster.api.get(services, 'web');
    expect(conditionOf(service, 'example.com/Other')).to.deep.equal(foreign);
    expect(at(conditionOf(service, 'herald.dev/Allocated'), 'status')).to.equal('True');

    for (const node of NODES) await report(node, [session('tor-1', 'Idle')]);
    await untilValue(
      'nobody advertises it',
      () => advertised(namespace),
      (found) => found.startsWith('False NoSession: not advertised: 3 nodes have no session'),
      { timeoutMs: 30_000 },
    );
    // it follows the condition
    await untilValue(
      'an event on the Service',
      () => eventsOf('web', namespace),
      (found) => found.some((each) => each.startsWith('Warning NoSession')),
    );
  });

  it("tells a lost session with the router's own words, on the peer and on the node", async () => {
    await scenery();
    const status = async () => (await cluster.api.get(BGP_PEERS, 'tor-1'))['status'];
    await untilValue('all are up', status, (found) => at(found, 'established') === 3, {
      timeoutMs: 30_000,
    });
    const words = 'NOTIFICATION received: Cease/Administrative Shutdown "maintenance until noon"';
    await report('node-b', [session('tor-1', 'Active', words), session('tor-2', 'Established')]);
    const down = await untilValue('one is down', status, (it) => at(it, 'established') === 2, {
      timeoutMs: 30_000,
    });
    const [condition] = Object(down).conditions;
    expect(condition).to.deep.include({
      type: 'SessionsUp',
      status: 'False',
      reason: 'SomeDown',
      message: `2 of 3 nodes have a session; node node-b: ${words}`,
    });
    for (const name of ['tor-1', 'node-b']) {
      const told = await untilValue(
        `an event on ${name}`,
        () => eventsOf(name, 'default'),
        (found) => found.some((each) => each.startsWith('Warning SessionDown')),
      );
      expect(told.join('\n')).to.contain(words);
    }
    const { stdout } = await cluster.kubectl(['describe', 'bgppeer', 'tor-1']);
    expect(stdout).to.match(/Warning\s+SessionDown .*maintenance until noon/);
  });

  it('says of a BGPPeer that is one session with another which one has it, also in an event and a metric', async () => {
    await scenery();
    const spec = { address: '192.0.2.1', asn: 64500 };
    await cluster.api.create(BGP_PEERS, own('BGPPeer', 'tor-3', spec));
    const condition = await untilValue(
      'the condition of tor-3',
      async () => conditionOf(await cluster.api.get(BGP_PEERS, 'tor-3'), 'SessionsUp'),
      (found) => at(found, 'reason') === 'SameSession',
      { timeoutMs: 30_000 },
    );
    expect(at(condition, 'message')).to.match(/^it is the same session as BGPPeer\/tor-1; remove/);
    const older = conditionOf(await cluster.api.get(BGP_PEERS, 'tor-1'), 'SessionsUp');
    expect(at(older, 'reason')).not.to.equal('SameSession');
    await untilValue(
      'the event',
      () => eventsOf('tor-3', 'default'),
      (events) => events.some((event) => event.startsWith('Warning SameSession: it is the same')),
      { timeoutMs: 30_000 },
    );
    await untilValue(
      'the metric',
      scrape,
      (text) => text.includes('herald_documents_refused{kind="peers"} 1'),
      { timeoutMs: 30_000 },
    );
  });

  it('tells a claim that is refused why, in its condition and in an event', async () => {
    await scenery();
    await cluster.api.create(IP_CLAIMS, own('IPClaim', '203.0.113.9', {}));
    const events = await untilValue(
      'the event',
      () => eventsOf('203.0.113.9', 'default'),
      (found) => found.length > 0,
      { timeoutMs: 30_000 },
    );
    expect(events).to.deep.equal([
      'Warning NoPool: no IPPool that is in force holds 203.0.113.9; add the address to one',
    ]);
    const placed = conditionOf(await cluster.api.get(IP_CLAIMS, '203.0.113.9'), 'Placed');
    expect(at(placed, 'reason')).to.equal('NoPool');
  });

  it('has every metric that it promises, from zero on, and those of a pool go with it', async () => {
    await scenery();
    const empty = await scrape();
    for (const name of PROMISED) expect(empty, name).to.match(new RegExp(`^# TYPE ${name} `, 'm'));
    const namespace = await webService();
    await untilValue(
      'it has been counted',
      scrape,
      (text) => text.includes('herald_allocations_total{pool="pool"} 1\n'),
      { timeoutMs: 30_000 },
    );
    const text = await untilValue(
      'the pool knows it',
      scrape,
      (found) => found.includes('herald_pool_addresses_used{pool="pool"} 1\n'),
      { timeoutMs: 30_000 },
    );
    expect(text).to.contain('herald_pool_addresses_total{pool="pool"} 256\n');
    expect(text).to.match(
      /herald_api_requests_total\{verb="create",resource="ipclaims",code="201"\} 1\n/,
    );
    expect(text).to.contain('herald_controller_leader 1\n');
    await cluster.api.delete(inNamespace(SERVICES, namespace), 'web');
    await cluster.api.delete(IP_POOLS, 'pool');
    await untilValue('its metrics are gone', scrape, (found) => !found.includes('pool="pool"'), {
      timeoutMs: 30_000,
    });
  });

  it('asks next to nothing of the API and the CPU while nothing can be given out or placed', async () => {
    const namespace = await cluster.namespace('waiting');
    const pool = { addresses: ['203.0.113.0/30'], placement: { mode: 'exclusive' } };
    await cluster.api.create(IP_POOLS, own('IPPool', 'small', pool));
    for (let at = 0; at < 50; at += 1) await cluster.addService({ namespace, name: `web-${at}` });
    const waiting = async () => /^herald_services_waiting (\d+)$/m.exec(await scrape())?.[1];
    await untilValue('they wait', waiting, (count) => count === '46', { timeoutMs: 60_000 });
    const callsSince = (mark: AuditMark) =>
      cluster
        .audit(mark)
        .filter(({ user, verb }) => user === 'controller' && verb !== 'watch')
        .map(({ verb, resource, name = '' }) => `${verb} ${resource} ${name}`);
    // what was debounced has been written by then
    const settling = cluster.auditMark();
    const calls = () => callsSince(settling).length;
    await untilStill('nothing is asked for eight seconds', calls, 8000, { timeoutMs: 90_000 });
    const mark = cluster.auditMark();
    const cpuSeconds = controller?.cpuSeconds() ?? 0;
    await passes(10_000);
    expect(callsSince(mark)).to.have.length.at.most(3);
    expect((controller?.cpuSeconds() ?? 0) - cpuSeconds, 'of 10 s').to.be.below(0.7);
  }).timeout(240_000);
});

const PROMISED = [
  'herald_build_info',
  'herald_controller_leader',
  'herald_caches_synced',
  'herald_allocations_total',
  'herald_releases_total',
  'herald_refusals_total',
  'herald_pool_addresses_total',
  'herald_pool_addresses_used',
  'herald_pool_addresses_free',
  'herald_services_waiting',
  'herald_services_waiting_by_reason',
  'herald_claims',
  'herald_claim_moves_total',
  'herald_nodes',
  'herald_peer_nodes',
  'herald_peer_established',
  'herald_documents_refused',
  'herald_queue_depth',
  'herald_api_requests_total',
  'herald_watch_restarts_total',
  'herald_write_conflicts_total',
  'herald_events_dropped_total',
  'process_cpu_seconds_total',
  'process_resident_memory_bytes',
  'process_start_time_seconds',
];
