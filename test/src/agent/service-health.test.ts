import { expect } from 'chai';
import { NodePorts } from '../../../src/agent/node-ports.ts';
import { hasSyncedSince, parseProxyHealth } from '../../../src/agent/proxy-health.ts';
import { ServiceHealth } from '../../../src/agent/service-health.ts';
import type { AskHttp, HttpAnswer } from '../../../src/checks/ask-http.ts';
import type { Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { claim, sourced } from './scenery.ts';

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
  return { ...sourced(claim({ at: `198.51.100.${index}`, services })), source: 'api' };
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
    world.clock.advance(100);
    expect(health.facts.waiting.size).to.equal(0);
    expect(world.changes).to.equal(1);
    health.stop();
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('waits for nobody longer than two seconds, and for nothing where there is nobody to ask', () => {
    const world = new World();
    const health = new ServiceHealth({ ...world, proxyUrl: 'http://p/healthz' });
    health.apply([served(1)]);
    const [until = 0] = health.facts.waiting.values();
    expect(until).to.equal(world.clock.now() + 2000);
    world.clock.advance(2200);
    expect(health.facts.waiting.size).to.equal(0);
    health.stop();
    const alone = new ServiceHealth({ ...world, proxyUrl: undefined });
    alone.apply([served(1)]);
    expect(alone.facts.waiting.size).to.equal(0);
    alone.stop();
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
    ports.apply(new Set([30_001]));
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
    ports.apply(new Set());
    expect(ports.answers.size).to.equal(0);
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('are a thousand, and are asked some hundred times a second', () => {
    const world = new World();
    const ports = new NodePorts(world);
    world.answers = () => said(200);
    ports.apply(new Set(Array.from({ length: 1000 }, (_, index) => 30_000 + index)));
    world.clock.advance(2100);
    expect(ports.answers.size).to.equal(1000);
    expect(world.asked.length).to.be.below(1200);
    world.asked.length = 0;
    world.clock.advance(10_000);
    expect(world.asked.length).to.be.within(4000, 5200);
    ports.stop();
    expect(world.clock.pendingTimers).to.equal(0);
  });

  it('are asked at the node’s own address where loopback has nobody', () => {
    const world = new World();
    const ports = new NodePorts(world);
    ports.hosts = ['127.0.0.1', '192.0.2.5', '2001:db8::5'];
    world.answers = (url) =>
      url.includes('2001') ? said(200) : { kind: 'silent', sentence: 'refused' };
    ports.apply(new Set([30_001]));
    world.clock.advance(10);
    expect(ports.answers.get(30_001)).to.equal('serving');
    expect(world.asked.at(-1)).to.equal('http://[2001:db8::5]:30001/');
    world.asked.length = 0;
    world.clock.advance(1000);
    expect(world.asked.every((url) => url.includes('2001'))).to.equal(true);
    ports.stop();
  });
});

describe('what kube-proxy says of itself', () => {
  const seen = { wallMs: 1_000_000, ageMs: 100 };
  const isDone = (body: string, ageMs = 100) => {
    const health = parseProxyHealth(200, body);
    return health === undefined ? undefined : hasSyncedSince(health, 'ipv4', { ...seen, ageMs });
  };

  it('is when the rules of the family were written, not when it answered', () => {
    const body = (ipv4: number) =>
      JSON.stringify({
        lastUpdated: new Date(9_000_000).toISOString(),
        status: {
          IPv4: { lastUpdated: new Date(ipv4).toISOString(), healthy: true },
          IPv6: { lastUpdated: new Date(9_000_000).toISOString(), healthy: true },
        },
      });
    expect(isDone(body(999_000))).to.equal(false);
    expect(isDone(body(1_000_010))).to.equal(false);
    expect(isDone(body(1_000_500))).to.equal(true);
  });

  it('is nothing before its first sync', () => {
    expect(isDone('{"lastUpdated":"2030-01-01T00:00:00Z","status":{}}', 5000)).to.equal(false);
  });

  it('is a matter of time in releases that do not tell', () => {
    const old = '{"lastUpdated":"2030-01-01T00:00:00Z","currentTime":"2030-01-01T00:00:00Z"}';
    expect(isDone(old, 500)).to.equal(false);
    expect(isDone(old, 1000)).to.equal(true);
    expect(parseProxyHealth(404, old)).to.equal(undefined);
    expect(parseProxyHealth(503, 'no JSON')).to.deep.equal({ isHealthy: false });
  });
});
