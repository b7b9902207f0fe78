/** After a reboot kube-proxy has to write all its rules anew, and what was saved of the boot before says nothing about them. */

import { expect } from 'chai';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const served = scenery.claim({
  at: '198.51.100.1',
  labels: { [ANYCAST_LABEL]: '' },
  services: [{ namespace: 'a', name: 's' }],
});
const ROUTE = '198.51.100.1/32 ×1';
const THIS_BOOT = { cluster: { bootId: 'this boot', ignoresExcludeLabel: false } };
/** the saved View is of the boot `b`, see agent-and-router.ts */
const SAME_BOOT = {};
const NOTHING_SAVED: Partial<AgentOptions> = {
  ...THIS_BOOT,
  store: { load: () => undefined, save: () => undefined },
};

function isReady(world: World): void {
  world.agent.setNodeFacts(clusterNode(scenery.NODE, { bootId: 'this boot' }));
}

function sentenceOf(world: World): string {
  const [claim] = world.agent.status().claims;
  return claim?.gates.find(({ name }) => name === 'healthy')?.sentence ?? '';
}

describe('the rules of kube-proxy after a reboot', () => {
  it('claims of the saved View wait for them, from when the Node is Ready in this boot', async () => {
    const world = new World([served], false, THIS_BOOT);
    await world.pass(10_000);
    expect(sentenceOf(world)).to.include('has not written the rules');
    isReady(world);
    await world.pass(1000);
    expect(world.heard).to.deep.equal(['end']);
    await world.pass(400);
    expect(world.heard).to.deep.equal(['end', ROUTE]);
  });

  it('so do claims that the API told long before the Node was Ready', async () => {
    const world = new World([served], false, NOTHING_SAVED);
    world.agent.setDocuments(told([served]), 'api');
    await world.pass(10_000);
    isReady(world);
    await world.pass(1000);
    expect(world.heard).to.deep.equal(['end']);
    await world.pass(400);
    expect(world.heard).to.deep.equal(['end', ROUTE]);
  });

  it('a kube-proxy that does not answer is waited for, for 2 s from then', async () => {
    const world = new World([served], false, THIS_BOOT);
    world.isSilent = true;
    await world.pass(10_000);
    isReady(world);
    await world.pass(1900);
    expect(world.heard).to.deep.equal(['end']);
    await world.pass(300);
    expect(world.heard).to.deep.equal(['end', ROUTE]);
  });

  it('a restart of the agent within the boot waits for nothing', async () => {
    const world = new World([served], false, SAME_BOOT);
    world.isSilent = true;
    await world.pass(300);
    expect(world.heard).to.deep.equal([ROUTE, 'end']);
  });

  it('who has written them is not asked all the time while the Node is not Ready', async () => {
    const world = new World([served], false, THIS_BOOT);
    await world.pass(10_000);
    expect(world.asked).to.be.within(8, 12);
  });
});
