import { expect } from 'chai';
import { nodeLabel } from '../../../src/model/names.ts';
import { Bed } from './placement-bed.ts';

describe('placement where some nodes have lost one of two routers', () => {
  let bed: Bed;
  afterEach(() => bed.stop());
  const BOTH = { tor1: true, tor2: true };
  const ONE = { tor1: true, tor2: false };

  /** node a holds them all */
  async function held(
    count: number,
    routers: Record<string, Record<string, boolean>>,
    more: { rebalanceEveryMs?: number } = {},
  ) {
    bed = new Bed();
    await bed.join('a', ...Object.keys(routers));
    await bed.agent('a').setRouters(BOTH);
    for (const [name, each] of Object.entries(routers)) await bed.agent(name).setRouters(each);
    for (let index = 0; index < count; index += 1) {
      bed.claim(index, { node: 'a' }, { [nodeLabel('a')]: '0' });
    }
    bed.control(more);
    await bed.run(12);
  }
  const holders = (count: number) =>
    [...Array(count).keys()].map((index) => String(bed.node(index)));

  for (const way of ['drains', 'dies'] as const) {
    it(`a holder of both that ${way} gives its claims to nodes that have both`, async () => {
      await held(6, { b: ONE, c: BOTH, d: ONE, e: BOTH });
      if (way === 'drains') await bed.agent('a').setDraining('an order');
      else bed.agent('a').isSilent = true;
      await bed.run(40);
      expect(holders(6).sort()).to.deep.equal(['c', 'c', 'c', 'e', 'e', 'e']);
    });
  }

  for (const c of [ONE, { tor3: true }]) {
    it(`the claims are spread as ever where no node has both: ${JSON.stringify(c)}`, async () => {
      await held(4, { b: ONE, c });
      await bed.agent('a').setDraining('an order');
      await bed.run(40);
      expect(holders(4).sort()).to.deep.equal(['b', 'b', 'c', 'c']);
    });
  }

  it('nodes that have other routers get their share', async () => {
    await held(4, { b: ONE, c: { tor3: true }, d: BOTH });
    await bed.agent('a').setDraining('an order');
    await bed.run(40);
    expect(holders(4).sort()).to.deep.equal(['c', 'c', 'd', 'd']);
  });

  it('a router that the holder has lost too is no reason', async () => {
    await held(4, { b: ONE, c: BOTH });
    await bed.agent('a').setRouters(ONE);
    await bed.agent('a').setDraining('an order');
    await bed.run(40);
    expect(holders(4).sort()).to.deep.equal(['b', 'b', 'c', 'c']);
  });

  it('a holder that loses one of its routers keeps its claims, and new ones are spread as ever', async () => {
    await held(2, { b: ONE, c: BOTH });
    await bed.agent('a').setRouters(ONE);
    await bed.run(40);
    expect(holders(2)).to.deep.equal(['a', 'a']);
    for (let index = 2; index < 6; index += 1) bed.claim(index);
    await bed.run(5);
    expect([...bed.loads()].sort()).to.deep.equal([2, 2, 2]);
  });

  it('a node that loses a router while a claim comes to it gets it all the same', async () => {
    await held(1, { b: BOTH, c: BOTH });
    bed.isAnswering = false;
    await bed.agent('a').setDraining('an order');
    await bed.run(1);
    await bed.agent('a').answer();
    await bed.run(1);
    const [target = ''] = ['b', 'c'].filter((name) => nodeLabel(name) in bed.labels(0));
    expect(bed.labels(0), 'under way').to.have.all.keys(nodeLabel('a'), nodeLabel(target));
    await bed.agent(target).setRouters(ONE);
    bed.isAnswering = true;
    await bed.run(30);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel(target)]: '0' });
  });

  it('a node that announces the claim already, a step down, is asked before one with more routers', async () => {
    await held(0, { b: BOTH, c: ONE });
    await bed.agent('a').setDraining('an order');
    await bed.run(1);
    bed.claim(0, { node: 'a' }, { [nodeLabel('a')]: '1', [nodeLabel('c')]: '2' });
    await bed.run(30);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel('c')]: '0' });
  });

  it('rebalancing gives nothing to a node that would take the path of a router away', async () => {
    await held(6, { b: ONE, c: BOTH }, { rebalanceEveryMs: 1000 });
    await bed.run(60);
    expect(holders(6).sort()).to.deep.equal(['a', 'a', 'a', 'c', 'c', 'c']);
    await bed.agent('b').setRouters(BOTH);
    await bed.run(60);
    expect(holders(6).sort()).to.deep.equal(['a', 'a', 'b', 'b', 'c', 'c']);
  });
});
