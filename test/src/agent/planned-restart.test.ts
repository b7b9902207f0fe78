/** The agent of a cluster and one router, on a clock and a network of their own: what the router hears when the agent comes back, and when it stops. */

import { expect } from 'chai';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { told, World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const PORT = 30_100;
const ANYCAST = { [ANYCAST_LABEL]: '' };

const plain = scenery.claim({ at: '198.51.100.1', labels: ANYCAST });
const local = scenery.claim({
  at: '198.51.100.2',
  labels: ANYCAST,
  services: [{ namespace: 'a', name: 's', healthCheckNodePort: PORT }],
});
const checked = scenery.claim({
  at: '198.51.100.3',
  labels: ANYCAST,
  checks: [scenery.check('/x', { target: { kind: 'tcp', host: '127.0.0.1', port: 80 } })],
});

describe('after a planned restart', () => {
  it('End-of-RIB waits until checks and kube-proxy have said how things are', async () => {
    const world = new World([plain, local, checked], true);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', '198.51.100.2/32 ×1']);
    await world.pass(1500);
    expect(world.heard.slice(2)).to.deep.equal(['198.51.100.3/32 ×1', 'end']);
  });

  it('it comes at once where nothing is to be waited for, and where something is known to be down', async () => {
    const world = new World([plain, local], true);
    world.status = 503;
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes when a check has failed as often as it may', async () => {
    const world = new World([plain, checked], true);
    world.isPassing = false;
    await world.pass(6000);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });

  it('it comes after fifteen seconds, whoever is silent', async () => {
    const world = new World([plain, local], true);
    world.isSilent = true;
    await world.pass(14_900);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1']);
    await world.pass(200);
    expect(world.heard.slice(1)).to.deep.equal(['end']);
  });

  it('it waits for the join check, and comes when that has failed as often as it may', async () => {
    const over = {
      joinCheck: scenery.check('/ready', { failures: 3 }),
      sources: ['files', 'api'] as const,
    };
    const passing = new World([plain], true, over, 'files');
    await passing.pass(3000);
    expect(passing.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
    const failing = new World([plain], true, over, 'files');
    failing.isPassing = false;
    await failing.pass(900);
    expect(failing.heard).to.deep.equal([]);
    await failing.pass(5000);
    expect(failing.heard).to.deep.equal(['end']);
  });

  it('the router counts as told of nothing before it: it keeps what the process before announced', async () => {
    const held = (level: string) =>
      scenery.claim({ ...checked, labels: { [nodeLabel(scenery.NODE)]: level } });
    const world = new World([held('0')], true);
    await world.pass(100);
    world.agent.setDocuments(told([held('2')]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    expect(world.heard).to.deep.equal([]);
    expect(world.agent.announced.observedClaims, 'before End-of-RIB').to.equal(undefined);
    await world.pass(2000);
    expect(world.heard).to.include('end');
    expect(world.agent.announced.observedClaims, 'behind it').to.equal(9n);
  });

  it('it waits for nothing after any other start', async () => {
    const world = new World([plain, checked], false);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.1/32 ×1', 'end']);
  });
});

describe('an agent of a cluster that stops', () => {
  const at = (level: string) =>
    scenery.claim({ at: '198.51.100.4', labels: { [nodeLabel(scenery.NODE)]: level } });

  it('hears that a claim is to step down, and of nothing new', async () => {
    const world = new World([at('0')], false);
    world.agent.setFenced(undefined);
    await world.pass(500);
    expect(world.heard).to.deep.equal(['198.51.100.4/32 ×1', 'end']);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×3');
    world.agent.setDocuments(told([at('2'), plain]), 'api');
    world.agent.setObservedClaims(7n);
    expect(world.agent.announced.observedClaims, 'before it has left').to.equal(undefined);
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal('~198.51.100.4/32 ×7');
    expect(world.agent.announced.observedClaims).to.equal(7n);
    const count = world.heard.length;
    world.agent.setDocuments(told([plain]), 'api');
    await world.pass(100);
    expect(world.heard.slice(count), 'another has it').to.deep.equal(['-198.51.100.4/32']);
  });

  it('keeps an address whose Service becomes Local meanwhile, until the drain is over', async () => {
    const service = { namespace: 'a', name: 's' };
    const before = { ...local, services: [service] };
    const world = new World([before], false);
    await world.pass(500);
    void world.agent.stop('SIGTERM');
    await world.pass(100);
    world.agent.setDocuments(told([local]), 'api');
    await world.pass(8000);
    expect(world.heard).to.deep.equal(['198.51.100.2/32 ×1', 'end', '~198.51.100.2/32 ×1']);
    await world.pass(3000);
    expect(world.heard.at(-1)).to.equal('-198.51.100.2/32');
  });

  it('confirms nothing that it hears after its last word', async () => {
    const world = new World([at('0')], true);
    world.agent.setFenced(undefined);
    await world.pass(500);
    const stopped = world.agent.stopForRestart();
    world.agent.setDocuments(told([]), 'api');
    world.agent.setObservedClaims(9n);
    await world.pass(100);
    await stopped;
    expect(world.agent.announced.observedClaims).to.equal(undefined);
  });
});
