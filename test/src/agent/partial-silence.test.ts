/** One watch of several is silent: what the others tell makes nothing fresh that has not been heard. */

import { expect } from 'chai';
import { formatSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import { type Documents, NO_DOCUMENTS } from '../../../src/model/documents.ts';
import { ANYCAST_LABEL } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import { claim, NODE, pool, savedViewIn, sourced, VIP } from './scenery.ts';

const MAX_STALE_MS = 60_000;
const any = claim({ labels: { [ANYCAST_LABEL]: '' } });
const edited: Documents = {
  ...told([any]),
  pools: [{ ...sourced(pool({ priority: 1 })), source: 'api' }],
};

describe('a source that is silent in part', () => {
  it('has no claims again by the edit of a pool, nor are they younger on disk; once it is heard it has', async () => {
    let saved: SavedView | undefined;
    const save = (view: SavedView) => {
      saved = JSON.parse(formatSavedView(view));
      return undefined;
    };
    const store = { load: () => undefined, save };
    const world = new World([any], false, { maxStaleMs: MAX_STALE_MS, store });
    const { agent, clock, heard } = world;
    agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
    agent.setDocuments(told([any]), 'api');
    await world.pass(7000);
    expect(heard.splice(0)).to.include(`${VIP}/32 ×1`);
    const silentMs = MAX_STALE_MS + 1000;
    const since = { nowMs: clock.now() - silentMs, wallMs: clock.wallTimeMs() - silentMs };
    agent.setApiSilence(since);
    await world.pass(100);
    expect(heard.splice(0)).to.deep.equal([`-${VIP}/32`]);
    agent.setDocuments(edited, 'api', since);
    await world.pass(6000);
    expect(heard).to.deep.equal([]);
    expect(saved?.savedAtMs).to.equal(since.wallMs);
    expect(agent.documents?.pools[0]?.object.priority, 'the edit itself counts').to.equal(1);
    agent.setDocuments(told([any]), 'api');
    await world.pass(6000);
    expect(heard).to.deep.equal([`${VIP}/32 ×1`]);
  });

  it('is as old as what was heard last where it speaks for the first time', async () => {
    const world = new World([], false, { maxStaleMs: MAX_STALE_MS });
    const { agent, clock } = world;
    const since = { nowMs: clock.now() - 1000, wallMs: clock.wallTimeMs() - 1000 };
    agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
    agent.setDocuments(told([any]), 'api', since);
    await world.pass(7000);
    expect(world.heard).to.include(`${VIP}/32 ×1`);
    await world.pass(MAX_STALE_MS - 8000 - 1);
    expect(world.heard).to.not.include(`-${VIP}/32`);
    await world.pass(100);
    expect(world.heard.at(-1)).to.equal(`-${VIP}/32`);
  });

  it('is as old as what is oldest now where its parts are silent in turn, and never all heard at once', async () => {
    const world = new World([any], false, { maxStaleMs: MAX_STALE_MS });
    const { agent, clock, heard } = world;
    agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
    agent.setDocuments(told([any]), 'api');
    await world.pass(7000);
    expect(heard.splice(0)).to.include(`${VIP}/32 ×1`);
    const oldestMs = 20_000;
    let since = { nowMs: 0, wallMs: 0 };
    for (let passedMs = 0; passedMs <= MAX_STALE_MS; passedMs += 10_000) {
      since = { nowMs: clock.now() - oldestMs, wallMs: clock.wallTimeMs() - oldestMs };
      agent.setApiSilence(since);
      await world.pass(10_000);
    }
    expect(heard).to.deep.equal([]);
    expect(agent.status().stale?.sentence).to.include(new Date(since.wallMs).toISOString());
    await world.pass(since.nowMs + MAX_STALE_MS - clock.now() - 1);
    expect(heard, 'what is never heard again is too old in the end').to.deep.equal([]);
    await world.pass(100);
    expect(heard).to.deep.equal([`-${VIP}/32`]);
  });

  it('a folder that cannot be read makes no claim of the API older over a restart', async () => {
    const hourMs = 3_600_000;
    const unread: Documents = { ...NO_DOCUMENTS, isUnread: true };
    let saved: SavedView | undefined;
    const save = (view: SavedView) => {
      saved = savedViewIn(formatSavedView(view));
      return undefined;
    };
    /** the clock of each world begins anew: so long after the one before was stopped */
    const started = (passedMs: number) => {
      const last = saved && olderBy(saved, passedMs);
      const over = { sources: ['files', 'api'] as const, maxStaleMs: 24 * hourMs };
      const world = new World([], true, { ...over, store: { load: () => last, save } });
      world.agent.setDocuments(unread, 'files');
      return world;
    };
    const speak = async (world: World) => {
      world.agent.setNodeFacts(clusterNode(NODE, { bootId: 'b' }));
      world.agent.setDocuments(told([any]), 'api');
      await world.pass(1000);
      return world.clock.now();
    };
    const firstMs = await speak(started(0));
    const second = started(firstMs);
    await speak(second);
    for (let hour = 0; hour < 26; hour += 1) second.clock.advance(hourMs);
    const secondMs = await speak(second);
    const third = started(secondMs);
    await third.pass(8000);
    expect(third.heard).to.deep.equal([`${VIP}/32 ×1`, 'end']);
    third.clock.advance(24 * hourMs - 10_000);
    await third.pass(2000);
    const ofApi = third.agent.decided.claims[0]?.gates.assigned;
    expect(ofApi?.state, 'too old by the silence of the API itself').to.equal('closed');
  });
});

/** a View as it is on disk so much later, by a clock that begins at the same time */
function olderBy(view: SavedView, ms: number): SavedView {
  const { files, api } = view.heardAtMs ?? {};
  const heardAtMs = {
    ...(files === undefined ? {} : { files: files - ms }),
    ...(api === undefined ? {} : { api: api - ms }),
  };
  return { ...view, savedAtMs: view.savedAtMs - ms, heardAtMs };
}
