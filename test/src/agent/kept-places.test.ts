/** Who keeps a place with a router that takes no more, while the agent runs; who has one by a single decision is in desired.test.ts. */

import { expect } from 'chai';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import { claim, NODE, peer, sourced, WAIT_MS } from './scenery.ts';

const of = (at: string, createdMs: number, label: string): Sourced<IpClaim> => ({
  ...sourced(claim({ at, labels: { [label]: '0' } }), createdMs),
  source: 'api',
});
const anycast = of('198.51.100.1', 100, ANYCAST_LABEL);
const older = of('198.51.100.2', 200, nodeLabel(NODE));
const young = of('198.51.100.3', 300, nodeLabel(NODE));

function documentsOf(claims: readonly Sourced<IpClaim>[]): Documents {
  const peers = [{ ...sourced(peer({ maxRoutes: 2 })), source: 'api' as const }];
  return { ...told([]), peers, claims };
}

describe('places with a router that takes no more', () => {
  it('are kept by an exclusive claim while another one departs, and an older one is moved here', async () => {
    const world = new World([], false);
    const { agent, heard } = world;
    agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
    agent.setFenced(undefined);
    agent.setDocuments(documentsOf([anycast, young]), 'api');
    await world.pass(300);
    expect(heard.splice(0)).to.include('198.51.100.3/32 ×1');
    agent.setDocuments(documentsOf([young]), 'api');
    await world.pass(300);
    expect(heard.splice(0)).to.deep.equal(['~198.51.100.1/32 ×1']);
    agent.setDocuments(documentsOf([young, older]), 'api');
    await world.pass(300);
    expect(heard).to.deep.equal([]);
    await world.pass(WAIT_MS);
    expect(heard).to.have.members(['-198.51.100.1/32', '198.51.100.2/32 ×1']);
  });
});
