import { expect } from 'chai';
import {
  ANYCAST_LABEL,
  isNodeLabel,
  NAMESPACE,
  nodeLabel,
  nodeLease,
} from '../../../src/model/names.ts';
import { MOST_IN_A_ROW } from '../../../src/scheduler/fill.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import {
  IP_CLAIMS,
  IP_NODES,
  IP_POOLS,
  LEASES,
  NODES,
} from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed, nodeOf } from './placement-bed.ts';

describe('PlacementLoop', () => {
  let bed: Bed;
  afterEach(() => bed.stop());

  async function three(claims: number, pool?: object): Promise<void> {
    bed = new Bed(pool);
    await bed.join('a', 'b', 'c');
    bed.control();
    await bed.run(12);
    for (let index = 0; index < claims; index += 1) bed.claim(index);
    await bed.run(3);
  }

  it('spreads 100 claims over three nodes as 33, 33 and 34, with a label and a status each', async () => {
    await three(100);
    expect([...bed.loads()].sort()).to.deep.equal([33, 33, 34]);
    const node = String(bed.node(0));
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(node)]: '0' });
    expect(bed.status(0)).to.deep.include({ phase: 'Placed' });
    await bed.run(20);
    const writes = bed.writes().length;
    await bed.run(20);
    expect(bed.writes().length, 'nothing is written at rest').to.equal(writes);
    expect(writes, 'a place and a status each').to.equal(200);
  });

  it('moves the claims of a dead node with one write each, and leaves other labels alone', async () => {
    await three(9);
    bed.api.put(IP_CLAIMS, {
      ...bed.api.object(IP_CLAIMS, claimName(0)),
      metadata: {
        ...bed.api.object(IP_CLAIMS, claimName(0))?.metadata,
        labels: { ...bed.labels(0), 'example.com/mine': 'yes', 'herald.dev/pool': 'p' },
      },
    });
    for (const lost of ['x', 'y']) {
      const node = String(bed.node(0));
      const others = bed.api.all(IP_CLAIMS).filter((each) => nodeOf(each) !== node);
      bed.agent(node).isSilent = true;
      const before = bed.writes().length;
      const count = bed.api.all(IP_CLAIMS).length - others.length;
      await bed.run(22);
      expect(bed.node(0), lost).not.to.equal(node);
      expect(bed.labels(0)).to.deep.equal({
        'example.com/mine': 'yes',
        'herald.dev/pool': 'p',
        [nodeLabel(String(bed.node(0)))]: '0',
      });
      expect(bed.writes().length - before, 'writes').to.equal(count);
      for (const other of others) {
        const now = bed.api.object(IP_CLAIMS, other.metadata.name);
        expect(nodeOf(now)).to.equal(nodeOf(other));
      }
      bed.agent(node).isSilent = false;
      await bed.run(12);
    }
  });

  describe('the claims of a node that goes', () => {
    const on = (node: string, from: number, count: number) => {
      for (let index = from; index < from + count; index += 1) {
        bed.claim(index, { node }, { [nodeLabel(node)]: '0' });
      }
    };

    it('come to one node in such a number that it can answer for all of them, and all of them come', async () => {
      bed = new Bed();
      await bed.join('one', 'two', 'last');
      on('one', 0, 400);
      on('two', 400, 400);
      bed.control();
      await bed.run(12);
      for (const name of ['one', 'two']) await bed.agent(name).setDraining('cordon');
      let most = 0;
      const coming = () =>
        bed.api.all(IP_CLAIMS).filter(({ metadata: { labels = {} } }) => {
          return Object.keys(labels).filter(isNodeLabel).length > 1 && nodeLabel('last') in labels;
        }).length;
      for (let second = 0; second < 30; second += 1) {
        await bed.run(1);
        most = Math.max(most, coming());
      }
      expect(bed.loads()).to.deep.equal([0, 0, 800]);
      expect(coming()).to.equal(0);
      expect(most).to.be.within(1, 300);
    });

    it('come to the others a few at a time, also where moves wait for their turn', async () => {
      bed = new Bed();
      await bed.join('lost', 'm', 'n', 'o', 'p', 'q');
      // more than may move at once
      on('lost', 0, 1502);
      bed.control();
      await bed.run(12);
      bed.agent('lost').isSilent = true;
      const before = bed.api.calls.length;
      await bed.run(25);
      expect(bed.loads()).to.deep.equal([0, 301, 301, 300, 300, 300]);
      const goals = bed.api.calls
        .slice(before)
        .filter(({ resource, subresource }) => resource === IP_CLAIMS && subresource === undefined)
        .map(({ body }) => Object(Object(body)['spec'])['node'])
        .filter((node) => node !== undefined);
      expect(goals).to.have.length(1502);
      const rows = goals.filter((node, index) => node !== goals[index - 1]).length;
      expect(rows).to.be.within(1502 / MOST_IN_A_ROW, 1502 / MOST_IN_A_ROW + 5);
    });

    it('are not all for the one that proves itself first', async () => {
      bed = new Bed();
      await bed.join('lost', 'm', 'n', 'o', 'p');
      on('lost', 0, 40);
      await bed.agent('lost').release();
      bed.control();
      await bed.run(30);
      expect(bed.loads()).to.deep.equal([0, 10, 10, 10, 10]);
    });

    it('are spread as those that go, not as those that stay', async () => {
      bed = new Bed(exclusivePool('stays', { addresses: ['10.0.0.0/25'] }));
      const drain = { on: ['cordon'], waitSeconds: 10 };
      bed.api.put(IP_POOLS, exclusivePool('goes', { addresses: ['10.0.0.128/25'], drain }));
      await bed.join('cordoned', 'm', 'n', 'o', 'p');
      on('cordoned', 0, 100);
      on('cordoned', 130, 12);
      bed.control();
      await bed.run(15);
      const node = bed.api.object(NODES, 'cordoned');
      bed.api.put(NODES, { ...node, spec: { unschedulable: true } });
      await bed.run(30);
      expect(bed.loads()).to.deep.equal([100, 3, 3, 3, 3]);
    });

    it('are spread anew each time that it goes', async () => {
      bed = new Bed();
      await bed.join('lost', 'm', 'n', 'o');
      on('lost', 0, 90);
      bed.control();
      await bed.run(12);
      bed.agent('lost').isSilent = true;
      await bed.run(25);
      expect(bed.loads()).to.deep.equal([0, 30, 30, 30]);
      const kept = new Map<unknown, number>();
      for (const claim of bed.api.all(IP_CLAIMS)) {
        const count = (kept.get(nodeOf(claim)) ?? 0) + 1;
        kept.set(nodeOf(claim), count);
        if (count > 5) await bed.api.delete(IP_CLAIMS, claim.metadata.name);
      }
      bed.agent('lost').isSilent = false;
      await bed.run(15);
      on('lost', 200, 15);
      await bed.run(8);
      bed.agent('lost').isSilent = true;
      await bed.run(25);
      expect(bed.loads()).to.deep.equal([0, 10, 10, 10]);
    });

    it('are spread evenly at any time, should it come back in the middle', async () => {
      bed = new Bed();
      await bed.join('drained', 'm', 'n', 'o', 'p', 'q');
      on('drained', 0, 1500);
      bed.control();
      await bed.run(12);
      await bed.agent('drained').setDraining('cordon');
      await bed.run(6);
      await bed.agent('drained').setDraining(undefined);
      await bed.run(20);
      const [kept = 0, ...others] = bed.loads();
      expect(kept).to.be.within(1, 1400);
      expect(Math.max(...others) - Math.min(...others)).to.be.at.most(2 * MOST_IN_A_ROW);
    });
  });

  it('moves nothing back when the node returns', async () => {
    await three(9);
    bed.agent('a').isSilent = true;
    await bed.run(22);
    expect(bed.loads()[0]).to.equal(0);
    bed.agent('a').isSilent = false;
    const writes = bed.writes().length;
    await bed.run(30);
    expect(bed.loads()[0]).to.equal(0);
    expect(bed.writes().length).to.equal(writes);
  });

  it('evens out, one claim after the other, where it is asked to', async () => {
    bed = new Bed();
    await bed.join('a', 'b');
    bed.control({ rebalanceEveryMs: 5000 });
    await bed.run(12);
    for (let index = 0; index < 9; index += 1) bed.claim(index);
    await bed.run(3);
    await bed.join('c');
    await bed.run(120);
    expect([...bed.loads()].sort()).to.deep.equal([3, 3, 3]);
    const writes = bed.writes().length;
    await bed.run(30);
    expect(bed.writes().length).to.equal(writes);
  });

  it('lets a draining node give back in order: it steps down, the new one steps up, it leaves', async () => {
    await three(3);
    const seen: string[] = [];
    const node = String(bed.node(0));
    bed.api.fault = ({ verb, resource, name, body, subresource }) => {
      const isMove = verb === 'patch' && resource === IP_CLAIMS && subresource === undefined;
      if (isMove && name === claimName(0)) seen.push(JSON.stringify(Object(body).metadata.labels));
      return undefined;
    };
    await bed.agent(node).setDraining('by hand');
    await bed.run(6);
    const other = String(bed.node(0));
    expect(other).not.to.equal(node);
    expect(seen).to.deep.equal([
      JSON.stringify({ [nodeLabel(node)]: '2' }),
      JSON.stringify({ [nodeLabel(other)]: '0' }),
      JSON.stringify({ [nodeLabel(node)]: null }),
    ]);
  });

  it('goes on as soon as one that has lost its label says that it has left', async () => {
    bed = new Bed();
    await bed.join('a', 'b');
    bed.control();
    bed.claim(0);
    await bed.run(15);
    const first = String(bed.node(0));
    const second = first === 'a' ? 'b' : 'a';
    await bed.agent(first).setDraining('by hand');
    while (JSON.stringify(bed.labels(0)) !== JSON.stringify({ [nodeLabel(second)]: '0' })) {
      await bed.run(1);
    }
    // nobody has heard from the first since it lost its label; now it is asked to take the claim back
    bed.isAnswering = false;
    await bed.agent(first).setDraining(undefined);
    await bed.agent(second).setDraining('by hand');
    await bed.run(2);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(second)]: '0' });
    await bed.agent(first).answer();
    await bed.run(1);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(second)]: '2' });
  });

  it('waits for answers, asks another node where one does not answer, and never without a path', async () => {
    await three(1);
    const node = String(bed.node(0));
    await bed.agent(node).setDraining('by hand');
    bed.isAnswering = false;
    await bed.run(3);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(node)]: '2' });
    await bed.agent(node).answer();
    await bed.run(2);
    const second = String(bed.node(0));
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(node)]: '2', [nodeLabel(second)]: '0' });
    await bed.run(12);
    for (const agent of bed.agents) if (agent.name === second) await agent.answer();
    await bed.run(3);
    const third = String(bed.node(0));
    expect([node, second]).not.to.include(third);
    expect(bed.labels(0)[nodeLabel(third)]).to.equal('0');
    bed.isAnswering = true;
    await bed.run(5);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(third)]: '0' });
  });

  it('lets nobody step up over a holder that renews its Lease and does not answer, however long it takes; and says so (C4)', async () => {
    await three(1);
    const node = String(bed.node(0));
    bed.isAnswering = false;
    await bed.agent(node).setDraining('by hand');
    await bed.run(60);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(node)]: '2' });
    const told = bed.controllers.flatMap(({ events }) => events.map(({ reason }) => reason));
    expect(told).to.include('NodeDoesNotAnswer');
    bed.isAnswering = true;
    await bed.run(12);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(String(bed.node(0)))]: '0' });
    expect(bed.node(0)).not.to.equal(node);
  });

  it('gives a leaving holder no level at which a node may stand that was cut off while it left, whichever controller leads by then (B1)', async () => {
    await three(1);
    const first = String(bed.node(0));
    await bed.agent(first).setDraining('by hand');
    while (bed.labels(0)[nodeLabel(first)] !== '2') await bed.run(1);
    await bed.agent(first).answer();
    bed.agent(first).isSilent = true;
    await bed.run(30);
    const second = String(bed.node(0));
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(second)]: '0' });
    bed.stop();
    bed.control();
    await bed.run(20);
    bed.isAnswering = false;
    await bed.agent(second).setDraining('by hand');
    await bed.run(3);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(second)]: '1' });
  });

  it('goes on with a move that another controller has begun', async () => {
    await three(1);
    const node = String(bed.node(0));
    bed.isAnswering = false;
    await bed.agent(node).setDraining('by hand');
    await bed.run(2);
    bed.stop();
    bed.isAnswering = true;
    bed.control();
    await bed.run(20);
    expect(bed.node(0)).not.to.equal(node);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(String(bed.node(0)))]: '0' });
  });

  it('trusts no dead node after a restart, and leaves what lives as it is', async () => {
    await three(9);
    bed.stop();
    bed.agent('c').isSilent = true;
    const before = bed.api.all(IP_CLAIMS).map(nodeOf);
    await bed.run(20);
    bed.control();
    bed.claim(9);
    bed.claim(10);
    await bed.run(14);
    expect(bed.api.all(IP_CLAIMS).slice(0, 9).map(nodeOf)).to.deep.equal(before);
    expect([bed.node(9), bed.node(10)].sort()).to.deep.equal(['a', 'b']);
    await bed.run(6);
    for (const [index, node] of before.entries()) {
      if (node === 'c') expect(bed.node(index)).to.be.oneOf(['a', 'b']);
      else expect(bed.node(index)).to.equal(node);
    }
  });

  for (const nodes of [['a', 'b', 'c'], ['a', 'b'], ['a']]) {
    const title = nodes.length === 3 ? '' : ` (nodes: ${nodes.length})`;
    it(`moves nothing in a stall in which nobody is heard, nor when it is over${title}`, async () => {
      bed = new Bed();
      await bed.join(...nodes);
      bed.control();
      await bed.run(12);
      for (let index = 0; index < 6; index += 1) bed.claim(index);
      await bed.run(3);
      expect(bed.loads()).to.deep.equal(nodes.map(() => 6 / nodes.length));
      const before = bed.writes().length;
      const statuses = () =>
        nodes.map((name) => JSON.stringify(bed.api.object(IP_NODES, name)?.['status'])).join();
      bed.isFrozen = true;
      await bed.run(40);
      expect(statuses()).not.to.include('LeaseExpired');
      bed.isFrozen = false;
      // the first ones renew twice before the last one is heard again: they could be given what it has
      const last = bed.agent(nodes.at(-1) ?? '');
      last.isSilent = nodes.length > 1;
      await bed.run(8);
      last.isSilent = false;
      await bed.run(20);
      expect(bed.writes().length).to.equal(before);
      expect(statuses()).not.to.include('LeaseExpired');
    });
  }

  it('waits one further duration when most nodes fall silent together, says so, and then moves', async () => {
    await three(9);
    const before = bed.writes().length;
    bed.agent('a').isSilent = true;
    bed.agent('b').isSilent = true;
    await bed.run(24);
    expect(bed.writes().length).to.equal(before);
    expect(JSON.stringify(bed.api.object(IP_NODES, 'a')?.['status'])).to.include('ControllerBlind');
    await bed.run(9);
    expect(bed.loads()).to.deep.equal([0, 0, 9]);
    expect(JSON.stringify(bed.api.object(IP_NODES, 'a')?.['status'])).to.include('LeaseExpired');
  });

  it('follows a person who deletes the Nodes of dead machines, and clears up after them', async () => {
    await three(9);
    for (const name of ['a', 'b']) bed.agent(name).isSilent = true;
    await bed.run(20);
    for (const name of ['a', 'b']) bed.api.remove(NODES, name);
    await bed.run(3);
    expect(bed.loads()).to.deep.equal([0, 0, 9]);
    expect(bed.api.all(IP_NODES).map(({ metadata }) => metadata.name)).to.deep.equal(['c']);
  });

  it('moves the claims of a dead agent whose IPNode and Lease somebody deleted', async () => {
    await three(9);
    bed.agent('a').isSilent = true;
    bed.api.remove(IP_NODES, 'a');
    bed.api.remove(LEASES, `${NAMESPACE}/${nodeLease('a')}`);
    await bed.run(22);
    expect(bed.loads()[0]).to.equal(0);
  });

  it('leaves the claims of a living agent whose IPNode and Lease somebody deleted', async () => {
    await three(9);
    const before = bed.writes().length;
    bed.api.remove(IP_NODES, 'a');
    bed.api.remove(LEASES, `${NAMESPACE}/${nodeLease('a')}`);
    await bed.run(30);
    expect(
      bed
        .writes()
        .slice(before)
        .map(({ body }) => JSON.stringify(body)),
    ).to.deep.equal([]);
  });

  it('moves at once from an agent that has stopped, and from a node whose uplink is cut', async () => {
    await three(9);
    await bed.agent('a').release();
    await bed.run(2);
    expect(bed.loads()[0]).to.equal(0);
    await bed.agent('b').setSessions('Active');
    await bed.run(2);
    expect(bed.loads()[1], 'a moment is nothing').to.be.above(0);
    await bed.run(4);
    expect(bed.loads()).to.deep.equal([0, 0, 9]);
  });

  it('moves nothing when all routers are away, nor to the first node that is back', async () => {
    await three(9);
    const before = bed.writes().length;
    for (const agent of bed.agents) await agent.setSessions('Active');
    await bed.run(20);
    await bed.agent('b').setSessions('Established');
    await bed.run(4);
    for (const agent of bed.agents) await agent.setSessions('Established');
    await bed.run(20);
    expect(bed.writes().length).to.equal(before);
  });

  it('asks nobody again and again while nobody can have a claim', async () => {
    bed = new Bed();
    await bed.join('a');
    const controller = bed.control();
    bed.agent('a').isSilent = true;
    for (let index = 0; index < 5; index += 1) bed.claim(index);
    await bed.run(120);
    expect(bed.writes().length, 'one status each').to.equal(5);
    expect(bed.status(0)).to.deep.include({ phase: 'Pending' });
    const told = controller.events.filter(({ reason }) => reason === 'NoEligibleNode').length;
    expect(told, 'looks at the claims in two minutes').to.be.within(5, 30);
    bed.agent('a').isSilent = false;
    await bed.run(12);
    expect(bed.loads()).to.deep.equal([5]);
    expect(bed.status(0)).to.deep.include({ phase: 'Placed' });
  });

  it('gives hand-made anycast claims their label, and refuses what is in no pool', async () => {
    bed = new Bed(
      exclusivePool('p', { placement: { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 } }),
    );
    const { events } = bed.control();
    bed.claim(0);
    bed.api.put(IP_CLAIMS, claimBody('203.0.113.1'));
    bed.api.put(IP_CLAIMS, claimBody(claimName(1), { pool: 'none' }));
    bed.api.put(IP_CLAIMS, claimBody('no-address'));
    await bed.run(3);
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
    expect(bed.status(0), 'its label says it').to.deep.equal({});
    expect(bed.status(1)).to.deep.include({ phase: 'Refused' });
    const outside = bed.api.object(IP_CLAIMS, '203.0.113.1');
    expect(JSON.stringify(outside?.['status'])).to.include(
      'no IPPool that is in force holds 203.0.113.1',
    );
    const told = events.map(({ object, type, reason }) => `${type} ${object.name} ${reason}`);
    expect(told.toSorted()).to.deep.equal([
      'Warning 10.0.0.2 NoPool',
      'Warning 203.0.113.1 NoPool',
      'Warning no-address Invalid',
    ]);
    await bed.run(30);
    expect(events, 'each is told once').to.have.length(3);
  });

  it('writes a status of an anycast claim only when something stands in its way, and takes that back (W0)', async () => {
    const anycast = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    await three(0, exclusivePool('p', { placement: anycast }));
    const labels = { [ANYCAST_LABEL]: '' };
    const of = (index: number, spec: object = {}) => ({
      ...claimBody(claimName(index), { pool: 'p', ...spec }),
      metadata: { name: claimName(index), labels },
    });
    const before = bed.writes().length;
    for (let index = 0; index < 100; index += 1) bed.api.put(IP_CLAIMS, of(index));
    await bed.run(60);
    expect(bed.writes().length - before, 'for a hundred that are well').to.equal(0);
    bed.api.put(IP_CLAIMS, of(200, { pool: 'none' }));
    await bed.run(3);
    expect(bed.status(200)).to.deep.include({ phase: 'Refused' });
    await bed.api.patch(IP_CLAIMS, claimName(200), {
      kind: 'merge',
      body: { spec: { pool: 'p' } },
    });
    await bed.run(3);
    expect(bed.status(200)).to.deep.include({ phase: 'Placed' });
    bed.api.remove(IP_POOLS, 'p');
    await bed.run(3);
    expect(bed.status(0), 'nodes keep announcing what they have').to.deep.equal({});
  });

  it('changes the mode of a pool without a gap, there and back', async () => {
    const anycast = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    await three(1, exclusivePool('p', { placement: anycast }));
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '' });
    const seen: string[] = [];
    bed.api.fault = ({ verb, resource, name, body, subresource }) => {
      const isMove = verb === 'patch' && resource === IP_CLAIMS && subresource === undefined;
      if (isMove && name === claimName(0)) seen.push(JSON.stringify(Object(body).metadata.labels));
      return undefined;
    };
    bed.api.put(IP_POOLS, { ...exclusivePool('p'), metadata: { name: 'p', generation: 2 } });
    await bed.run(5);
    const label = nodeLabel(String(bed.node(0)));
    const back = exclusivePool('p', { placement: anycast });
    bed.api.put(IP_POOLS, { ...back, metadata: { name: 'p', generation: 3 } });
    await bed.run(12);
    expect(seen).to.deep.equal([
      JSON.stringify({ [label]: '0' }),
      JSON.stringify({ [ANYCAST_LABEL]: null }),
      JSON.stringify({ [ANYCAST_LABEL]: '' }),
      JSON.stringify({ [label]: null }),
    ]);
    expect(bed.node(0)).to.equal(undefined);
  });

  it('lets all announce a claim that became exclusive until its holder does', async () => {
    const anycast = { mode: 'anycast', nodeFilter: 'fair', prependStep: 3 };
    await three(1, exclusivePool('p', { placement: anycast }));
    bed.isAnswering = false;
    bed.api.put(IP_POOLS, { ...exclusivePool('p'), metadata: { name: 'p', generation: 2 } });
    await bed.run(4);
    const label = nodeLabel(String(bed.node(0)));
    expect(bed.labels(0)).to.deep.equal({ [ANYCAST_LABEL]: '', [label]: '0' });
    bed.isAnswering = true;
    await bed.run(3);
    expect(bed.labels(0)).to.deep.equal({ [label]: '0' });
  });

  it('obeys a person who sets spec.node, and leaves released claims alone', async () => {
    await three(2);
    const target = ['a', 'b', 'c'].find((name) => name !== bed.node(0) && name !== bed.node(1));
    await bed.api.patch(IP_CLAIMS, claimName(0), {
      kind: 'merge',
      body: { spec: { node: target } },
    });
    const annotations = { 'herald.dev/released-by': 'default/web' };
    await bed.api.patch(IP_CLAIMS, claimName(1), {
      kind: 'merge',
      body: { metadata: { annotations } },
    });
    const released = bed.labels(1);
    await bed.agent(String(bed.node(1))).release();
    await bed.run(8);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(String(target))]: '0' });
    expect(bed.labels(1)).to.deep.equal(released);
  });

  it('writes nothing over what it has not seen', async () => {
    await three(0);
    let isFirst = true;
    bed.api.fault = ({ verb, resource }) => {
      if (verb !== 'patch' || resource !== IP_CLAIMS || !isFirst) return undefined;
      isFirst = false;
      // another one is faster, while our write is on its way
      bed.api.put(IP_CLAIMS, claimBody(claimName(0), { node: 'c' }, { [nodeLabel('c')]: '0' }));
      return undefined;
    };
    bed.claim(0);
    await bed.run(5);
    expect(isFirst).to.equal(false);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel('c')]: '0' });
    expect(bed.node(0)).to.equal('c');
  });

  it('gets there through conflicts, failures and lost answers', async () => {
    await three(0);
    let count = 0;
    bed.api.fault = ({ verb, resource }) => {
      if (verb !== 'patch' || resource !== IP_CLAIMS) return undefined;
      count += 1;
      if (count % 3 === 0) return { kind: 'before', error: new ApiError(409, 'Conflict', 'later') };
      const error = new ApiError(500, 'InternalError', 'no');
      if (count % 3 === 1) return { kind: count % 2 === 0 ? 'after' : 'before', error };
      return undefined;
    };
    for (let index = 0; index < 30; index += 1) bed.claim(index);
    await bed.run(60);
    expect([...bed.loads()]).to.deep.equal([10, 10, 10]);
    for (let index = 0; index < 30; index += 1) {
      expect(bed.labels(index)).to.deep.equal({ [nodeLabel(String(bed.node(index)))]: '0' });
    }
  });

  it('does no harm as two at once', async () => {
    bed = new Bed();
    await bed.join('a', 'b', 'c');
    bed.control();
    bed.control();
    await bed.run(12);
    for (let index = 0; index < 60; index += 1) bed.claim(index);
    await bed.run(10);
    bed.agent('a').isSilent = true;
    await bed.run(22);
    expect(bed.loads()[0]).to.equal(0);
    for (let index = 0; index < 60; index += 1) {
      expect(bed.labels(index)).to.deep.equal({ [nodeLabel(String(bed.node(index)))]: '0' });
    }
    const writes = bed.writes().length;
    await bed.run(20);
    expect(bed.writes().length).to.equal(writes);
  });
});
