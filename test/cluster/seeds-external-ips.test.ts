/**
 * External IPs of Services and the router's table, with controllers and agents as deploy/base runs them (SEEDS C20, C34 E5, H25): by hand, automatic,
 * and those of a node.
 */

import { expect } from 'chai';
import { ANNOTATION, POOL_LABEL } from '../../src/model/names.ts';
import { IP_CLAIMS, NODES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';
import { at } from './support/cluster.ts';
import { PATIENT, type Sample } from './support/full-run.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { ip, PLAIN, ServicesRun } from './support/services-run.ts';

describe('external IPs in the table of a router', function () {
  this.timeout(240_000);
  let bed: ServicesRun;

  before(async function () {
    skipWithoutCluster(this, { bird: true });
    bed = await ServicesRun.start();
  });

  beforeEach(() => bed.beginTest());

  afterEach(async function () {
    await bed.endTest(this.currentTest?.state === 'failed');
  });

  after(() => bed?.world.stop());

  it('gives an automatic external IP from its range, and takes it back with the Service (E5)', async () => {
    await bed.setPool('198.51.100.250-198.51.100.252');
    await bed.add('auto', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await bed.routed(250);
    expect((await bed.cluster.api.get(IP_CLAIMS, ip(250))).metadata.labels).to.include({
      [POOL_LABEL]: 'any',
    });
    await untilValue(
      'it is in the list',
      () => bed.externalIps('auto'),
      (found) => JSON.stringify(found) === JSON.stringify([ip(250)]),
      PATIENT,
    );
    await bed.remove('auto');
    await bed.routed();
    await bed.claimed([]);
  });

  it('takes the routes of external IPs back when their pool allows them no more, and gives them again', async () => {
    // addresses of its own: what was free a moment ago is given last
    const pool = '198.51.100.128/27';
    await bed.setPool(pool);
    await bed.external('hand', 131);
    await bed.add('auto', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await bed.add('balancer', { annotations: { [ANNOTATION.addresses]: ip(136) } });
    await bed.routed(128, 131, 136);
    await bed.setPool(pool, false);
    await bed.routed(136);
    await bed.claimed([ip(136)]);
    await untilValue(
      'the Service is told why',
      () => bed.eventsOf('hand'),
      (events) => events.some((text) => text.includes('pool any does not say allowExternalIPs')),
      PATIENT,
    );
    await untilValue(
      'no address is left in the list',
      () => bed.externalIps('auto'),
      (found) => JSON.stringify(found ?? []) === '[]',
      PATIENT,
    );
    expect(await bed.externalIps('hand')).to.deep.equal([ip(131)]);
    await bed.setPool(pool);
    await bed.world.heldBy(ip(131), 'a b');
    await untilValue('one is in the list', () => bed.externalIps('auto'), Boolean, PATIENT);
  });

  it('swaps an automatic external IP for one by hand (C20)', async () => {
    await bed.add('swap', { spec: PLAIN, annotations: { [ANNOTATION.externalIp]: 'auto' } });
    await bed.routed(0);
    await untilValue('it is in the list', () => bed.externalIps('swap'), Boolean, PATIENT);
    await bed.world.heldBy(ip(0), 'a b');
    const sampler = bed.world.sample();
    await bed.patch('swap', {
      metadata: { annotations: { [ANNOTATION.externalIp]: null } },
      spec: { externalIPs: [ip(33)] },
    });
    await bed.routed(33);
    const samples = await sampler.stop();
    // the old one may go when the new one is there, from each node
    const reachable = ({ paths }: Sample) =>
      new Set([...(paths.get(ip(0)) ?? []), ...(paths.get(ip(33)) ?? [])].map(({ node }) => node));
    expect(samples.length).to.be.above(3);
    expect(samples.filter((sample) => reachable(sample).size !== 2)).to.deep.equal([]);
    await bed.claimed([ip(33)]);
    expect(await bed.externalIps('swap')).to.deep.equal([ip(33)]);
  });

  it('announces no address of a node, though a Service lists it, and says so in an event (H25)', async () => {
    await bed.cluster.setNode('b', { addresses: [ip(40)] });
    await untilValue(
      'the Node says so',
      async () => JSON.stringify(at(await bed.cluster.api.get(NODES, 'b'), 'status', 'addresses')),
      (found) => found.includes(ip(40)),
    );
    await bed.external('thief', 40, 41);
    await bed.routed(41);
    const events = await untilValue(
      'an event',
      () => bed.eventsOf('thief'),
      (found) => found.some((each) => each.includes('is an address of node b')),
      PATIENT,
    );
    expect(events.join()).to.match(/Warning \w+: /);
    await bed.claimed([ip(41)]);
    // the node has another address from now on, and the Service gets what it listed
    await bed.cluster.setNode('b', { addresses: ['10.0.0.9'] });
    await bed.routed(40, 41);
  });
});
