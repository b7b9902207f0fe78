/**
 * An agent on a machine that was reset: nobody told the router that the process before is gone, and it takes no session until its hold
 * timer has noticed.
 */

import { expect } from 'chai';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import type { Documents } from '../../../src/model/documents.ts';
import { nodeLabel } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import * as scenery from './scenery.ts';

const HOLD_SECONDS = 90;
const UP_SECONDS = 20;
/** from the start of the agent */
const WAIT_MS = (HOLD_SECONDS + 3 - UP_SECONDS) * 1000;
const ROUTER_THAT_REFUSES = '192.0.2.9';

const held = scenery.claim({
  at: '198.51.100.1',
  labels: { [nodeLabel(scenery.NODE)]: '0' },
});

function documents(at = ROUTER_THAT_REFUSES, over: Partial<BgpPeer> = {}): Documents {
  const peer = scenery.peer({
    target: { kind: 'address', address: scenery.address(at) },
    timers: { holdSeconds: HOLD_SECONDS, keepaliveSeconds: 30, connectRetrySeconds: 5 },
    ...over,
  });
  return { ...told([held]), peers: [{ ...scenery.sourced(peer), source: 'api' }] };
}

function savedIn(boot: string, over: Partial<SavedView> = {}): SavedView {
  const node = clusterNode(scenery.NODE, { bootId: boot });
  const rest = { savedAtMs: 0, routerId: 7, claimDrains: [], documents: documents() };
  return { version: 1, ...rest, cluster: { node, readyBoot: boot }, ...over };
}

const UP: Partial<AgentOptions> = { upMs: UP_SECONDS * 1000 };

/** `over`: by default the machine has been up for a moment */
function start(saved: SavedView | undefined, over = UP, now = documents()): World {
  const world = new World([held], false, {
    store: { load: () => saved, save: () => undefined },
    cluster: { bootId: 'this boot', ignoresExcludeLabel: false },
    ...over,
  });
  const [source = 'api'] = over.sources ?? [];
  world.agent.setDocuments(now, source);
  world.agent.setObservedClaims(5n);
  return world;
}

const answer = ({ agent }: World) => agent.announced.observedClaims;
const keptSeconds = ({ agent }: World) =>
  agent.status({ claims: false }).sessions.map((each) => each.keptSeconds);

describe('after a reset of the machine', () => {
  for (const [what, saved] of [
    ['saved in another boot', savedIn('the boot before')],
    ['lost', undefined],
  ] as const) {
    it(`a node answers for nothing until its router has noticed, and then by itself: the View was ${what}`, async () => {
      const world = start(saved);
      await world.pass(WAIT_MS - 10);
      expect(answer(world)).to.equal(undefined);
      expect(keptSeconds(world)).to.deep.equal([HOLD_SECONDS]);
      const heard: (bigint | undefined)[] = [];
      world.agent.subscribe(() => heard.push(answer(world)));
      await world.pass(20);
      expect(heard).to.include(5n);
      expect(keptSeconds(world)).to.deep.equal([undefined]);
    });
  }

  it('it answers by itself where nothing happens until then: a range that no router dials from', async () => {
    const range = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
    const target = { kind: 'range', range } as const;
    const now = documents(ROUTER_THAT_REFUSES, { target, listen: true });
    const world = start(savedIn('the boot before', { documents: now }), UP, now);
    await world.pass(WAIT_MS - 10);
    const heard: (bigint | undefined)[] = [];
    world.agent.subscribe(() => heard.push(answer(world)));
    await world.pass(20);
    expect(heard).to.deep.equal([5n]);
  });

  const password = { kind: 'secret', name: 'unread' } as const;
  for (const [what, saved, upMs, over] of [
    ['the View was saved in another boot', true, UP_SECONDS * 1000, {}],
    ['its key has not been read', true, UP_SECONDS * 1000, { password }],
    ['at a first start on a machine that has been up for long', false, 7_200_000, {}],
  ] as const) {
    it(`a range without a hold time costs no answer: ${what}`, async () => {
      const range = { family: 'ipv4', bits: 0x0a000000, length: 8 } as const;
      const timers = { holdSeconds: 0, keepaliveSeconds: 0, connectRetrySeconds: 5 };
      const target = { kind: 'range', range } as const;
      const now = documents(ROUTER_THAT_REFUSES, { target, timers, listen: true, ...over });
      const before = saved ? savedIn('the boot before', { documents: now }) : undefined;
      const world = start(before, { upMs }, now);
      await world.pass(100);
      expect(world.agent.announced.keptMs).to.equal(undefined);
      expect(answer(world)).to.equal(5n);
    });
  }

  it('it answers as soon as the session is up', async () => {
    const world = start(savedIn('the boot before'));
    const there = documents('192.0.2.1');
    world.agent.setDocuments(there, 'api');
    await world.pass(8000);
    expect(keptSeconds(world)).to.deep.equal([undefined]);
    expect(answer(world)).to.equal(5n);
  });

  for (const [what, saved, over] of [
    ['a restart within the boot', savedIn('this boot'), UP],
    ['an end at which the claims were given back', savedIn('before', { isGivenBack: true }), UP],
    ['a first start on a machine that has been up for long', undefined, { upMs: 3_600_000 }],
    ['a start of an agent of files alone', undefined, { ...UP, sources: ['files'] as const }],
  ] as const) {
    it(`a node waits for nothing after ${what}`, async () => {
      const world = start(saved, over);
      await world.pass(100);
      expect(keptSeconds(world)).to.deep.equal([undefined]);
      expect(world.agent.announced.keptMs).to.equal(undefined);
    });
  }

  it('a node waits from its start on where nothing says for how long the machine has been up', async () => {
    const world = start(savedIn('the boot before'), {});
    await world.pass(100);
    expect(world.agent.announced.keptMs).to.equal((HOLD_SECONDS + 3) * 1000 - 100);
  });
});
