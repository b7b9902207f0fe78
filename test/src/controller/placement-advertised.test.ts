/** Where an exclusive address goes when its pool's advertisements, or the labels that they read, leave its holder out. */

import { expect } from 'chai';
import { nodeLabel } from '../../../src/model/names.ts';
import { IP_POOLS, NODES } from '../../../src/sources/kube/resources.ts';
import { claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

const inRack = (rack: string) => ({ nodeSelector: { matchLabels: { rack } } });
const pool = (...advertisements: readonly object[]) => exclusivePool('p', { advertisements });

describe('placement where advertisements are for some nodes', () => {
  let bed: Bed;
  afterEach(() => bed.stop());

  /** a is in rack a, b and c are in rack b; a holds the claim */
  async function held(...advertisements: readonly object[]): Promise<void> {
    bed = new Bed(pool(...advertisements));
    await bed.join('a', 'b', 'c');
    for (const [name, rack] of Object.entries({ a: 'a', b: 'b', c: 'b' })) await label(name, rack);
    bed.claim(0, { node: 'a' }, { [nodeLabel('a')]: '0' });
    bed.control();
    await bed.run(12);
    expect(bed.node(0)).to.equal('a');
    bed.api.calls.length = 0;
  }

  const label = (name: string, rack: string | null) =>
    bed.api.patch(NODES, name, { kind: 'merge', body: { metadata: { labels: { rack } } } });

  /** what was written to the labels of nodes, in its order */
  const steps = () =>
    bed
      .writes()
      .filter(({ name }) => name === claimName(0))
      .map(({ body }) => Object(body).metadata?.labels);
  const ORDERLY = [
    { [nodeLabel('a')]: '2' },
    { [nodeLabel('b')]: '0' },
    { [nodeLabel('a')]: null },
  ];

  it('an edit that leaves its holder out moves it in an orderly way', async () => {
    await held({});
    bed.api.put(IP_POOLS, pool(inRack('b')));
    await bed.run(12);
    expect(bed.node(0)).to.equal('b');
    expect(steps()).to.deep.equal(ORDERLY);
  });

  it('a label that goes from the Node of its holder does, too', async () => {
    await held(inRack('a'), inRack('b'));
    await label('a', null);
    await bed.run(12);
    expect(bed.node(0)).to.equal('b');
    expect(steps()).to.deep.equal(ORDERLY);
  });

  it('it stays where no other node is left, and says so', async () => {
    await held({});
    bed.api.put(IP_POOLS, pool(inRack('c')));
    await bed.run(12);
    expect(bed.labels(0)).to.deep.equal({ [nodeLabel('a')]: '0' });
    const said = bed.controllers.flatMap(({ events }) => events).map(({ message }) => message);
    expect(said.join()).to.include('3 × no advertisement of the pool selects it; it stays on a');
  });
});
