/** Nodes whose IPNodes list some hundred levels, as real agents choose them: whose word counts then. */

import { expect } from 'chai';
import { UnsettledLevels } from '../../../src/agent/kube-report/unsettled-levels.ts';
import type { IpNodeLevel } from '../../../src/model/ip-node.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import type { KubeObject } from '../../../src/sources/kube/api.ts';
import { convertClaimObject } from '../../../src/sources/kube/convert-documents.ts';
import { IP_POOLS } from '../../../src/sources/kube/resources.ts';
import { claimName, exclusivePool } from '../../support/fake-agents.ts';
import { Bed } from './placement-bed.ts';

const FIRST = { mode: 'exclusive', nodeFilter: 'first-alive', prependStep: 3 };
const MANY = 400;
const FIRST_OF_Q = 2048;
const X = claimName(FIRST_OF_Q);

describe('a node that holds very many claims that became exclusive', () => {
  let bed: Bed;
  afterEach(() => bed.stop());

  /** it lists the levels that an agent would, without the bound on their octets */
  function listsAsAgent(name: string): void {
    const levels = new UnsettledLevels(name);
    bed.agent(name).lists = (objects: readonly KubeObject[], told: readonly IpNodeLevel[]) => {
      const claims = objects.map((object) => {
        const converted = convertClaimObject(object);
        if (!converted.ok) throw new Error(converted.sentence);
        return converted.object;
      });
      const announced = new Map(told.map(({ address, level }) => [address, level]));
      const refused = new Set(claims.map((each) => each.name).filter((at) => !announced.has(at)));
      return levels.take({ claims, announced, refused }, bed.clock.now()).unsettled;
    };
  }

  const stillAnycast = () =>
    Array.from({ length: 2 * MANY }, (_, index) => bed.labels(index)).filter(
      (labels) => ANYCAST_LABEL in labels,
    ).length;

  beforeEach(async () => {
    bed = new Bed(exclusivePool('p', { placement: FIRST, addresses: ['10.0.0.0/21'] }));
    bed.api.put(IP_POOLS, exclusivePool('q', { placement: FIRST, addresses: ['10.0.8.0/24'] }));
    await bed.join('a', 'b', 'c', 'd', 'off');
    for (const name of ['a', 'b', 'c', 'd']) listsAsAgent(name);
    await bed.agent('off').answer();
    bed.agent('off').isSilent = true;
    for (let index = 0; index < 2 * MANY; index += 1) {
      const node = index % 2 === 0 ? 'a' : 'b';
      bed.claim(index, { pool: 'p', node }, { [ANYCAST_LABEL]: '', [nodeLabel(node)]: '0' });
    }
    bed.control({ maxStaleMs: 86_400_000 });
    await bed.run(30);
    expect(stillAnycast(), 'a node is off and waited for').to.equal(2 * MANY);
  });

  it('is one of three that refuse another claim, which the fourth gets', async () => {
    for (const name of ['a', 'b', 'c']) bed.agent(name).refusing.add(X);
    bed.claim(FIRST_OF_Q, { pool: 'q' });
    for (let tries = 0; tries < 12 && bed.node(FIRST_OF_Q) !== 'd'; tries += 1) await bed.run(10);
    await bed.run(5);
    expect(bed.labels(FIRST_OF_Q)).to.deep.equal({ [nodeLabel('d')]: '0' });
    expect(stillAnycast()).to.equal(2 * MANY);
  });

  it('lists not all of them, and all are exclusive once the node is back that they waited for', async () => {
    bed.agent('off').isSilent = false;
    await bed.run(60);
    expect(stillAnycast()).to.equal(0);
  });
});
