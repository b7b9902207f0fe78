/**
 * Where exclusive claims go when nodes fall silent, on a real API server (SEEDS A16, A17, A20, C34
 * E11, H4–H6, H13): what moves, with how many writes, and what does not. An API that stands still
 * is in placement-stall.test.ts.
 */

import { expect } from 'chai';
import { nodeLease, RELEASED_BY_ANNOTATION } from '../../src/model/names.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  inNamespace,
  LEASES,
  SERVICES,
} from '../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../support/fake-agents.ts';
import { passes, untilValue } from '../support/poll.ts';
import { at } from './support/cluster.ts';
import { PATIENT, PlacementBed } from './support/placement-bed.ts';
import { holderOf, levelsOf, QUICK } from './support/placement-world.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

describe('placement of exclusive claims when nodes fall silent', function () {
  this.timeout(420_000);
  let bed: PlacementBed;

  before(async function start() {
    skipWithoutCluster(this);
    bed = await PlacementBed.start();
  });

  afterEach(() => bed?.endTest());
  after(() => bed?.cluster.stop());

  it('moves all claims of a dead node, three times over, with one write each; other labels stay (A16, H13)', async () => {
    const world = await bed.begin();
    await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(30, { 'example.com/mine': 'yes', 'herald.dev/pool': 'p' });
    await world.settled([10, 10, 10]);
    for (const lost of ['a', 'b', 'c']) {
      const held = (await world.loads())[lost] ?? 0;
      const mark = bed.cluster.auditMark();
      world.agent(lost).isSilent = true;
      await untilValue(
        `${lost} has none`,
        () => world.loads(),
        (loads) => loads[lost] === 0,
        PATIENT,
      );
      // the log of the server comes after its answer
      await untilValue(
        `the writes for ${lost}`,
        () => bed.movesSince(mark).length,
        (count) => count >= held,
      );
      expect(bed.movesSince(mark).length, `writes for ${lost}`).to.equal(held);
      await bed.foundDead(lost);
      world.agent(lost).isSilent = false;
      await bed.allLive(lost);
    }
    for (const each of await world.claims()) {
      expect(each.metadata.labels).to.include({
        'example.com/mine': 'yes',
        'herald.dev/pool': 'p',
      });
      expect(levelsOf(each)).to.equal(`${holderOf(each)}=0`);
    }
  });

  it('gives a dead node nothing after a restart, and keeps what lives as it is (A17, H4, E11)', async () => {
    const world = await bed.begin();
    const stop = await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(30);
    await world.settled([10, 10, 10]);
    const before = new Map(
      (await world.claims()).map((each) => [each.metadata.name, holderOf(each)]),
    );
    world.agent('c').isSilent = true;
    stop();
    const recording = await world.record();
    await world.control();
    const late = [30, 31, 32, 33].map(claimName);
    for (const name of late) await bed.cluster.api.create(IP_CLAIMS, claimBody(name));
    await untilValue(
      'c has none',
      () => world.loads(),
      ({ c }) => c === 0,
      PATIENT,
    );
    await world.settled([17, 17, 0]);
    await bed.hasSeenTheEnd(world, recording);
    recording.stop();
    for (const name of late) expect(recording.states.get(name)?.join()).not.to.include('c=');
    for (const [name, holder] of before) {
      if (holder === 'c') continue;
      expect(recording.states.get(name), name).to.deep.equal([`${holder}=0`]);
    }
  });

  it('moves nothing when IPNode and Lease of a living agent are deleted (H5)', async () => {
    const world = await bed.begin();
    await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(9);
    await world.settled([3, 3, 3]);
    const mark = bed.cluster.auditMark();
    await bed.cluster.api.delete(IP_NODES, 'a');
    await bed.cluster.api.delete(LEASES, nodeLease('a'));
    await bed.allLive('a');
    await passes(QUICK.durationMs + 2000);
    expect(bed.movesSince(mark)).to.deep.equal([]);
  });

  it('moves the claims of a dead agent whose IPNode and Lease are deleted (H6)', async () => {
    const world = await bed.begin();
    await world.control();
    await bed.allLive('a', 'b', 'c');
    await bed.claim(9);
    await world.settled([3, 3, 3]);
    world.agent('a').isSilent = true;
    await bed.cluster.api.delete(IP_NODES, 'a');
    await bed.cluster.api.delete(LEASES, nodeLease('a'));
    await untilValue(
      'a has none',
      () => world.loads(),
      ({ a }) => a === 0,
      PATIENT,
    );
  });

  it('keeps a freed address while a node that lost it unheard may still announce it, also after a restart', async () => {
    const world = await bed.begin(
      ['a', 'b', 'c'],
      exclusivePool('p', { addresses: ['10.0.0.1-10.0.0.2'] }),
    );
    const first = await world.control({ services: true });
    await bed.allLive('a', 'b', 'c');
    const namespace = await bed.cluster.namespace();
    const services = inNamespace(SERVICES, namespace);
    const claimOf = async (name: string) =>
      (await world.claims()).find((each) => at(each, 'spec', 'services', '0', 'name') === name);
    const namesOf = async () => (await world.claims()).map(({ metadata }) => metadata.name);
    for (const name of ['web', 'other']) await bed.cluster.addService({ namespace, name });
    await world.settled([0, 1, 1]);
    const web = await claimOf('web');
    const other = await claimOf('other');
    if (web === undefined || other === undefined) throw new Error('both were placed');
    const lost = String(holderOf(web));
    world.agent(lost).isSilent = true;
    await untilValue(
      `another than ${lost} has it`,
      () => claimOf('web'),
      (now) => now !== undefined && holderOf(now) !== lost,
      PATIENT,
    );
    first();
    await world.control({ services: true });
    await bed.cluster.api.delete(services, 'web');
    await untilValue(
      'it is released',
      async () =>
        (await bed.cluster.api.get(IP_CLAIMS, web.metadata.name)).metadata.annotations ?? {},
      (annotations) => annotations[RELEASED_BY_ANNOTATION] !== undefined,
      PATIENT,
    );
    await bed.cluster.api.delete(services, 'other');
    // who was released later, and was announced by living nodes only, is free by now
    await untilValue(
      'the other is free',
      namesOf,
      (names) => !names.includes(other.metadata.name),
      PATIENT,
    );
    expect(await namesOf()).to.deep.equal([web.metadata.name]);
    world.agent(lost).isSilent = false;
    await untilValue('it is free', namesOf, (names) => names.length === 0, PATIENT);
  });

  it('does no harm as two at once, while nodes come and go (A20)', async () => {
    const world = await bed.begin();
    await Promise.all([world.control(), world.control()]);
    await bed.claim(60);
    await untilValue(
      'all are placed',
      () => world.loads(),
      ({ nobody = 0 }) => nobody === 0,
      PATIENT,
    );
    world.agent('b').isSilent = true;
    await untilValue(
      'b has none',
      () => world.loads(),
      ({ b }) => b === 0,
      PATIENT,
    );
    await world.agent('a').setDraining('by hand');
    await untilValue(
      'a has none',
      () => world.loads(),
      ({ a }) => a === 0,
      PATIENT,
    );
    await world.settled([0, 0, 60]);
  });
});
