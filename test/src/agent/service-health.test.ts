import { expect } from 'chai';
import { healthyGate } from '../../../src/agent/claim-gates.ts';
import { NodePorts } from '../../../src/agent/node-ports.ts';
import { ServiceHealth } from '../../../src/agent/service-health.ts';
import type { AskHttp, HttpAnswer } from '../../../src/checks/ask-http.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { claim, sourced, view } from './scenery.ts';

/** Answers in the same turn what a test says; counts who was asked. */
class World {
  readonly clock = new ManualClock();
  readonly asked: string[] = [];
  answers: (url: string) => HttpAnswer = () => ({ kind: 'silent', sentence: 'refused' });
  changes = 0;

  readonly ask: AskHttp = (url, _timeoutMs, answer) => {
    this.asked.push(url);
    const timer = this.clock.startTimer(0, () => answer(this.answers(url)));
    return timer;
  };

  readonly onChange = () => {
    this.changes += 1;
  };
}

const said = (status: number, body = ''): HttpAnswer => ({ kind: 'answered', status, body });

function served(index: number, port?: number): Sourced<IpClaim> {
  const service = { namespace: 'a', name: `s${index}` };
  const services = [port === undefined ? service : { ...service, healthCheckNodePort: port }];
  return {
    ...sourced(claim({ at: `198.51.100.${index}`, services })),
    source: 'api',
    createdMs: Infinity,
  };
}

function metricsText(proxy: {
  readonly queued: number;
  readonly synced: number;
  readonly syncs: number;
  readonly busy: number;
}): string {
  return [
    `kubeproxy_sync_proxy_rules_duration_seconds_sum{ip_family="IPv4"} ${proxy.busy / 1000}`,
    `kubeproxy_sync_proxy_rules_duration_seconds_count{ip_family="IPv4"} ${proxy.syncs}`,
    `kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds{ip_family="IPv4"} ${proxy.queued / 1000}`,
    `kubeproxy_sync_proxy_rules_last_timestamp_seconds{ip_family="IPv4"} ${proxy.synced / 1000}`,
  ].join('\n');
}

const synced = (wallMs: number) =>
  JSON.stringify({ status: { IPv4: { lastUpdated: new Date(wallMs).toISOString() } } });

describe('health of Services', () => {
  it('asks one question for all claims that wait, and lets them go when rules are written', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    world.answers = () => said(200, synced(world.clock.wallTimeMs() - 60_000));
    const claims = Array.from({ length: 200 }, (_, index) => served(index + 1));
    health.apply(claims);
    expect(health.facts.waiting.size).to.equal(200);
    world.clock.advance(500);
    expect(world.asked.length).to.be.within(5, 10);
    expect(health.facts.waiting.size).to.equal(200);
    world.answers = () => said(200, synced(world.clock.wallTimeMs()));
    world.clock.advance(400);
    expect(health.facts.waiting.size).to.equal(200);
    world.clock.advance(200);
    expect(health.facts.waiting.size).to.equal(0);
    expect(world.changes).to.equal(1);
    health.stop();
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('waits two seconds for somebody who does not answer, five for one who has not written, and for nothing where there is nobody', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    health.apply([served(1)]);
    world.clock.advance(1900);
    expect(health.facts.waiting.size).to.equal(1);
    world.clock.advance(200);
    expect(health.facts.waiting.size).to.equal(0);
    world.answers = () => said(200, synced(0));
    health.apply([served(1), served(2)]);
    const [until = 0] = health.facts.waiting.values();
    expect(until).to.equal(world.clock.now() + 5000);
    world.clock.advance(4900);
    expect(health.facts.waiting.size).to.equal(1);
    world.clock.advance(200);
    expect(health.facts.waiting.size).to.equal(0);
    health.stop();
    const alone = new ServiceHealth({ ...world, proxyUrl: undefined });
    alone.apply([served(1)]);
    expect(alone.facts.waiting.size).to.equal(0);
    alone.stop();
  });

  it('goes by the metrics where there are some: rules that were being written when the claim came are not its own', () => {
    const world = new World();
    const urls = { proxyUrl: 'http://p/healthz', metricsUrl: 'http://p/metrics' };
    const health = new ServiceHealth({ ...world, ...urls });
    const atMs = world.clock.wallTimeMs();
    const proxy = { queued: atMs + 20, synced: atMs - 1000, syncs: 7, busy: 300 };
    world.answers = (url) =>
      url.endsWith('metrics') ? said(200, metricsText(proxy)) : said(200, synced(proxy.synced));
    health.apply([served(1)]);
    world.clock.advance(200);
    Object.assign(proxy, { synced: atMs + 190, syncs: 8, busy: 500 });
    world.clock.advance(1000);
    expect(health.facts.waiting.size).to.equal(1);
    Object.assign(proxy, { synced: atMs + 1300, syncs: 9, busy: 540 });
    world.clock.advance(120);
    expect(health.facts.waiting.size).to.equal(0);
    health.stop();
  });

  it('asks for the health where nobody serves metrics, and hardly for these', () => {
    const world = new World();
    const urls = { proxyUrl: 'http://p/healthz', metricsUrl: 'http://p/metrics' };
    const health = new ServiceHealth({ ...world, ...urls });
    const silent: HttpAnswer = { kind: 'silent', sentence: 'refused' };
    world.answers = (url) =>
      url.endsWith('metrics') ? silent : said(200, synced(world.clock.wallTimeMs()));
    health.apply([served(1)]);
    world.clock.advance(1200);
    expect(health.facts.waiting.size).to.equal(0);
    expect(world.asked.filter((url) => url.endsWith('metrics')).length).to.equal(1);
    health.stop();
  });

  it('lets an older claim go at once that has come to this node', () => {
    const world = new World();
    const urls = { proxyUrl: 'http://p/healthz', metricsUrl: 'http://p/metrics' };
    const health = new ServiceHealth({ ...world, ...urls });
    const atMs = world.clock.wallTimeMs();
    const proxy = { queued: atMs - 50_000, synced: atMs - 49_900, syncs: 7, busy: 300 };
    world.answers = (url) =>
      url.endsWith('metrics') ? said(200, metricsText(proxy)) : said(200, synced(proxy.synced));
    health.apply([{ ...served(1), createdMs: atMs - 60_000 }]);
    world.clock.advance(250);
    expect(health.facts.waiting.size).to.equal(0);
    health.stop();
  });

  it('knows what is old, and forgets what was withdrawn', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    health.apply([served(1)], true);
    health.apply([served(1), served(2)]);
    expect([...health.facts.waiting.keys()]).to.deep.equal(['198.51.100.2']);
    const { object, ...rest } = served(1);
    health.apply([{ ...rest, object: { ...object, withdrawn: { reason: 'x' } } }]);
    health.apply([served(1)]);
    expect([...health.facts.waiting.keys()]).to.deep.equal(['198.51.100.1']);
    health.stop();
  });

  it('takes kube-proxy for unwell after three seconds of 503, and back with the first 200', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    health.apply([served(1)], true);
    world.answers = () => said(503);
    world.clock.advance(3000);
    expect(health.facts.isProxyUnwell).to.equal(false);
    world.clock.advance(2000);
    expect(health.facts.isProxyUnwell).to.equal(true);
    world.answers = () => ({ kind: 'silent', sentence: 'refused' });
    world.clock.advance(5000);
    expect(health.facts.isProxyUnwell).to.equal(true);
    world.answers = () => said(200);
    world.clock.advance(1100);
    expect(health.facts.isProxyUnwell).to.equal(false);
    health.stop();
  });

  it('trusts an address that is announced until its new port has answered, and no other', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: undefined });
    const trusted = () => [...health.facts.trusted].map(([name, ports]) => [name, ...ports]);
    const [one, two] = [served(1, 30_001), served(2, 30_002)];
    const isOne = (name: string) => name === one.object.name;
    health.apply([one, two], false, isOne);
    expect(trusted()).to.deep.equal([[one.object.name, 30_001]]);
    expect(healthyGate(one, view({ serviceFacts: health.facts })).gate.state).to.equal('open');
    const waits = healthyGate(two, view({ serviceFacts: health.facts })).gate;
    expect(waits).to.include({ state: 'closed', isUnknown: true });
    world.clock.advance(10_000);
    expect(healthyGate(one, view({ serviceFacts: health.facts })).gate.state).to.equal('open');
    world.answers = () => said(503);
    world.clock.advance(600);
    const empty = healthyGate(one, view({ serviceFacts: health.facts })).gate;
    expect(empty.state).to.equal('closed');
    expect(empty).to.not.have.property('isUnknown');
    health.apply([one, two], false, isOne);
    expect(trusted()).to.deep.equal([]);
    health.stop();
  });

  it('asks nobody while there are no Services', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    health.apply([sourced(claim())]);
    expect(world.clock.pendingTimers).to.equal(0);
    health.stop();
  });
});

describe('health-check ports', () => {
  it('follow 200 and 503 within a quarter of a second, and stay in silence', () => {
    const world = new World();
    const ports = new NodePorts(world);
    world.answers = () => said(200);
    ports.apply(new Map([[30_001, 'a']]));
    world.clock.advance(1);
    expect(ports.answers.get(30_001)).to.equal('serving');
    world.answers = () => said(503);
    world.clock.advance(251);
    expect(ports.answers.get(30_001)).to.equal('empty');
    world.answers = () => ({ kind: 'silent', sentence: 'refused' });
    world.clock.advance(5000);
    expect(ports.answers.get(30_001)).to.equal('empty');
    world.answers = () => said(404);
    world.clock.advance(500);
    expect(ports.answers.get(30_001)).to.equal('empty');
    ports.apply(new Map());
    expect(ports.answers.size).to.equal(0);
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('are not empty where kube-proxy says 503 because it is unwell itself', () => {
    const world = new World();
    const ports = new NodePorts(world);
    const body = (localEndpoints: number, serviceProxyHealthy: boolean) =>
      JSON.stringify({
        service: { namespace: 'a', name: 's' },
        localEndpoints,
        serviceProxyHealthy,
      });
    const told = (text: string) => {
      world.answers = () => said(503, text);
      world.clock.advance(251);
      return ports.answers.get(30_001);
    };
    ports.apply(new Map([[30_001, 'a']]));
    expect(told(body(3, false))).to.equal('serving');
    expect(told(body(0, false))).to.equal('empty');
    expect(told(body(3, false))).to.equal('serving');
    expect(told(body(0, true))).to.equal('empty');
    for (const odd of ['', 'null', '[]', '{"localEndpoints":"many","serviceProxyHealthy":false}'])
      expect(told(odd), odd).to.equal('empty');
    ports.stop();
  });

  it('are a thousand, and are asked some hundred times a second', () => {
    const world = new World();
    const ports = new NodePorts(world);
    world.answers = () => said(200);
    ports.apply(manyOf('a', 1000));
    world.clock.advance(2100);
    expect(ports.answers.size).to.equal(1000);
    expect(world.asked.length).to.be.below(1200);
    world.asked.length = 0;
    world.clock.advance(10_000);
    expect(world.asked.length).to.be.within(4000, 5200);
    ports.stop();
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('leave by the thousand at what one costs, and are the same map while none does', () => {
    const world = new World();
    const ports = new NodePorts(world);
    world.answers = () => said(200);
    const stays = [40_000, 'few'] as const;
    ports.apply(new Map([...manyOf('many', 8000), stays]));
    world.clock.advance(20_000);
    const { answers } = ports;
    expect(answers.size).to.equal(8001);
    ports.apply(new Map([...manyOf('many', 8000), stays]));
    expect(ports.answers).to.equal(answers);
    const before = process.cpuUsage();
    ports.apply(new Map([stays]));
    expect([...ports.answers]).to.deep.equal([[40_000, 'serving']]);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000, 'ms').to.be.below(500);
    expect(answers.size, 'what was handed out').to.equal(8001);
    ports.stop();
  });

  it('of a namespace that has one are asked as often beside thousands of another namespace', () => {
    const world = new World();
    const ports = new NodePorts(world);
    world.answers = () => said(200);
    ports.apply(new Map([...manyOf('many', 2700), [40_000, 'few']]));
    world.clock.advance(6000);
    expect(ports.answers.size).to.equal(2701);
    for (let loss = 0; loss < 10; loss += 1) {
      world.answers = (url) => said(url.includes(':40000/') ? 503 : 200);
      world.clock.advance(270);
      expect(ports.answers.get(40_000), `loss ${loss}`).to.equal('empty');
      world.answers = () => said(200);
      world.clock.advance(270);
      expect(ports.answers.get(40_000), `loss ${loss}`).to.equal('serving');
    }
    // and no more often, nor the others less than they were
    world.asked.length = 0;
    world.clock.advance(10_000);
    expect(world.asked.filter((url) => url.includes(':40000/')).length).to.be.within(35, 42);
    expect(world.asked.length).to.be.within(4500, 5200);
    ports.stop();
  });

  it('are asked at the node’s own address where loopback has nobody', () => {
    const world = new World();
    const ports = new NodePorts(world);
    ports.hosts = ['127.0.0.1', '192.0.2.5', '2001:db8::5'];
    world.answers = (url) =>
      url.includes('2001') ? said(200) : { kind: 'silent', sentence: 'refused' };
    ports.apply(new Map([[30_001, 'a']]));
    world.clock.advance(10);
    expect(ports.answers.get(30_001)).to.equal('serving');
    expect(world.asked.at(-1)).to.equal('http://[2001:db8::5]:30001/');
    world.asked.length = 0;
    world.clock.advance(1000);
    expect(world.asked.every((url) => url.includes('2001'))).to.equal(true);
    ports.stop();
  });
});

function manyOf(namespace: string, count: number): ReadonlyMap<number, string> {
  return new Map(Array.from({ length: count }, (_, index) => [30_000 + index, namespace]));
}
