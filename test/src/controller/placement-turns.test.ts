/** Claims of dead nodes move at a rate that all share: namespaces take turns (docs/decisions/0060). */

import { expect } from 'chai';
import { MoveLine } from '../../../src/controller/placement-line.ts';
import { nodeLabel, POOL_LABEL } from '../../../src/model/names.ts';
import { MOVE_RATE, MoveBudget } from '../../../src/scheduler/move-rate.ts';
import { IP_CLAIMS } from '../../../src/sources/kube/resources.ts';
import { claimBody, claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

const MANY = 3000;

describe('moves of one namespace by the thousand', () => {
  let bed: Bed;
  beforeEach(async () => {
    bed = new Bed(exclusivePool('p'));
    await bed.join('n1', 'n2', 'n3');
    // nobody is asked before a move from a dead node
    bed.isAnswering = false;
  });
  afterEach(() => bed.stop());

  /** one that has its place; without a namespace: made by hand */
  function put(index: number, node: string, namespace?: string): void {
    const service = { namespace, name: `s${index}`, uid: `u${index}` };
    const services = namespace === undefined ? [] : [service];
    const labels = { [nodeLabel(node)]: '0', [POOL_LABEL]: 'p' };
    bed.api.put(IP_CLAIMS, claimBody(claimName(index), { pool: 'p', services, node }, labels));
  }

  const moved = () =>
    bed
      .writes()
      .filter(({ body }) => Object(Object(body)['spec'])['node'] !== undefined)
      .map(({ name = '' }) => name);

  it('let one of another namespace, and one made by hand, go among the first', async () => {
    for (let index = 0; index < MANY; index += 1) put(index, 'n1', 'b');
    put(MANY, 'n1', 'a');
    put(MANY + 1, 'n1');
    bed.control();
    await bed.run(16);
    bed.agent('n1').isSilent = true;
    for (let second = 0; second < 40 && moved().length === 0; second += 1) await bed.run(1);
    const first = moved().slice(0, 10);
    expect(first).to.include(claimName(MANY));
    expect(first).to.include(claimName(MANY + 1));
    await bed.run(6);
    expect(new Set(moved()).size, 'and all of them go').to.equal(MANY + 2);
    expect(moved().length, 'with a write each').to.equal(MANY + 2);
  });

  it('let one of another namespace go first that begins to wait when they have their times', async () => {
    for (let index = 0; index < MANY; index += 1) put(index, 'n1', 'b');
    put(MANY, 'n2', 'a');
    bed.control();
    await bed.run(16);
    bed.agent('n1').isSilent = true;
    for (let second = 0; second < 40 && moved().length === 0; second += 1) await bed.run(1);
    const before = moved().length;
    expect(before).to.be.within(MOVE_RATE.burst, MANY - 1000);
    await bed.agent('n2').release();
    await bed.run(1);
    expect(moved().indexOf(claimName(MANY))).to.be.within(before, before + 250);
    await bed.run(6);
    expect(new Set(moved()).size, 'whose time it took goes later').to.equal(MANY + 1);
  });
});

describe('MoveLine', () => {
  const woken: string[] = [];
  const line = () => {
    woken.splice(0);
    const budget = new MoveBudget({ burst: 1, perSecond: 1 }, 0);
    return new MoveLine(budget, (name) => woken.push(name));
  };
  const of = (namespace: string, name: string) => ({ name, services: [{ namespace, name: 's' }] });

  it('gives a time that comes to the next in turn, whose time the other one has then', () => {
    const moves = line();
    const waits = ['b0', 'b1', 'b2', 'b3'].map((name) => moves.waitMs(of('b', name), 0));
    expect(waits).to.deep.equal([0, 1000, 2000, 3000]);
    expect(moves.waitMs(of('a', 'a0'), 0)).to.equal(4000);
    expect(moves.waitMs(of('b', 'b1'), 1000), 'it is first of the first').to.equal(0);
    expect(moves.waitMs(of('b', 'b2'), 2000)).to.equal(2000);
    expect(woken).to.deep.equal(['a0']);
    expect(moves.waitMs(of('a', 'a0'), 2000)).to.equal(0);
    expect(moves.waitMs(of('b', 'b3'), 3000), 'the order of its namespace').to.equal(1000);
    expect(woken).to.deep.equal(['a0', 'b2']);
  });

  it('calls none that rests, and lets all go whose time has passed', () => {
    const moves = line();
    for (const name of ['b0', 'b1', 'b2']) moves.waitMs(of('b', name), 0);
    for (const name of ['a0', 'a1']) moves.waitMs(of('a', name), 0);
    moves.forget('a0');
    expect(moves.waitMs(of('b', 'b1'), 1000)).to.equal(0);
    for (const name of ['b2', 'a1']) expect(moves.waitMs(of('b', name), 9000)).to.equal(0);
    expect(woken).not.to.include('a0');
  });
});
