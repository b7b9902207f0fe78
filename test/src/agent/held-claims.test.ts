/** An exclusive claim whose pool's advertisements select other nodes from now on: it stays, draining, until another node has it. */

import { expect } from 'chai';
import type { AgentOptions } from '../../../src/agent/agent-options.ts';
import { heldForm, holdsToSave } from '../../../src/agent/held-claims.ts';
import { formatSavedView, parseSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import type { BgpPeer } from '../../../src/model/bgp-peer.ts';
import type { Documents } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import type { Advertisement } from '../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told, World } from './agent-and-router.ts';
import { advertisement, check, claim, NODE, peer, pool, sourced, VIP, WAIT_MS } from './scenery.ts';

const OWN = nodeLabel(NODE);
const held = (over: Partial<IpClaim> = {}) => claim({ labels: { [OWN]: '0' }, ...over });
const rack = (name: string) => ({ nodeSelector: { matchLabels: { rack: name } } });
const HERE = advertisement({ communities: [65_000 * 65_536 + 1] });
const ELSEWHERE = advertisement(rack('b'));

function documentsOf(
  claims: readonly IpClaim[],
  advertisements: readonly Advertisement[],
  over: Partial<Documents> = {},
): Documents {
  const pools = [{ ...sourced(pool({ advertisements })), source: 'api' as const }];
  return { ...told(claims), pools, ...over };
}

const peerOf = (over: Partial<BgpPeer> = {}): Pick<Documents, 'peers'> => {
  const one = peer({ gracefulRestart: { restartSeconds: 30 }, ...over });
  return { peers: [{ ...sourced(one), source: 'api' }] };
};

/** announces `claims` by the advertisement HERE; what was heard until then is forgotten */
async function announcing(...claims: readonly IpClaim[]): Promise<World> {
  return await announcingIn({}, claims);
}

async function announcingIn(
  over: Partial<AgentOptions>,
  claims: readonly IpClaim[],
): Promise<World> {
  const world = new World(claims, false, over);
  world.agent.setNodeFacts(node({ rack: 'a' }));
  world.agent.setFenced(undefined);
  world.agent.setDocuments(documentsOf(claims, [HERE]), 'api');
  await world.pass(200);
  expect(world.heard).to.include(`${VIP}/32 ×1`);
  world.heard.length = 0;
  return world;
}

function node(labels: Readonly<Record<string, string>>) {
  return clusterNode(NODE, { bootId: 'b', labels });
}

describe('an exclusive claim that no advertisement announces from this node any more', () => {
  it('stays as it was announced last, draining, until the label of this node goes', async () => {
    const world = await announcing(held());
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    await world.pass(WAIT_MS * 2);
    expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`]);
    const [session] = world.agent.decided.peers;
    expect(session?.routes[0]?.attributes.communities).to.include(HERE.communities[0]);
    expect(world.agent.status().claims[0]).not.to.have.property('leaving');
    world.agent.setDocuments(documentsOf([], [ELSEWHERE]), 'api');
    await world.pass(50);
    expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`, `-${VIP}/32`]);
  });

  it('steps down as its label says', async () => {
    const world = await announcing(held());
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    await world.pass(50);
    world.agent.setDocuments(documentsOf([held({ labels: { [OWN]: '2' } })], [ELSEWHERE]), 'api');
    await world.pass(WAIT_MS * 2);
    expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`, `~${VIP}/32 ×7`]);
  });

  it('stays where a label of its Node goes that an advertisement asks for', async () => {
    const world = await announcing(held());
    const documents = documentsOf([held()], [advertisement(rack('a'))]);
    world.agent.setDocuments(documents, 'api');
    await world.pass(50);
    world.heard.length = 0;
    world.agent.setNodeFacts(node({}));
    await world.pass(WAIT_MS * 2);
    expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`]);
    world.agent.setNodeFacts(node({ rack: 'a' }));
    await world.pass(50);
    expect(world.heard.at(-1)).to.equal(`${VIP}/32 ×1`);
  });

  it('stays where label and pool change in one moment, and where the pool changes twice', async () => {
    const world = await announcing(held());
    world.agent.setDocuments(documentsOf([held()], [advertisement(rack('a'))]), 'api');
    world.agent.setNodeFacts(node({}));
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    await world.pass(WAIT_MS * 2);
    world.agent.setDocuments(documentsOf([held()], [advertisement(rack('c'))]), 'api');
    await world.pass(WAIT_MS * 2);
    expect(world.heard).to.deep.equal([`${VIP}/32 ×1`, `~${VIP}/32 ×3`]);
  });

  it('goes on plainly where an advertisement selects this node again', async () => {
    const world = await announcing(held());
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    await world.pass(50);
    world.agent.setDocuments(documentsOf([held()], [HERE]), 'api');
    await world.pass(50);
    expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`, `${VIP}/32 ×1`]);
  });

  const withdrawn = held({ withdrawn: { reason: 'no endpoints' } });
  const otherPool = {
    ...sourced(pool({ addresses: ['203.0.113.0/24'], advertisements: [ELSEWHERE] })),
    source: 'api' as const,
  };
  const ends: readonly { readonly name: string; readonly end: (world: World) => void }[] = [
    {
      name: 'it is withdrawn',
      end: ({ agent }) => agent.setDocuments(documentsOf([withdrawn], [ELSEWHERE]), 'api'),
    },
    {
      name: 'it is deleted, or another node has it',
      end: ({ agent }) => agent.setDocuments(documentsOf([], [ELSEWHERE]), 'api'),
    },
    {
      name: 'its label here goes, and it is everybody’s',
      end: ({ agent }) =>
        agent.setDocuments(
          documentsOf([held({ labels: { [ANYCAST_LABEL]: '' } })], [ELSEWHERE]),
          'api',
        ),
    },
    {
      name: 'it is in no pool any more',
      end: ({ agent }) =>
        agent.setDocuments(documentsOf([held()], [ELSEWHERE], { pools: [otherPool] }), 'api'),
    },
    {
      name: 'the cluster takes another machine for this node',
      end: ({ agent }) => agent.setObjection('another machine is this node'),
    },
    {
      name: 'a check is added to it, and fails',
      end: (world) => {
        world.isPassing = false;
        const asked = held({ checks: [check()] });
        world.agent.setDocuments(documentsOf([asked], [ELSEWHERE]), 'api');
      },
    },
  ];
  for (const { name, end } of ends) {
    it(`leaves at once when ${name}`, async () => {
      const world = await announcing(held());
      world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
      await world.pass(50);
      end(world);
      await world.pass(4500);
      expect(world.heard).to.deep.equal([`~${VIP}/32 ×3`, `-${VIP}/32`]);
    });
    it(`leaves at once when ${name} by the same edit`, async () => {
      const world = await announcing(held());
      end(world);
      await world.pass(4500);
      expect(world.heard.at(-1)).to.equal(`-${VIP}/32`);
    });
  }

  it('leaves at once where advertisements of this node are for other peers', async () => {
    const world = await announcing(held());
    const others = advertisement({ peerSelector: { matchLabels: { tier: 'none' } } });
    world.agent.setDocuments(documentsOf([held()], [others, ELSEWHERE]), 'api');
    await world.pass(50);
    expect(world.heard).to.deep.equal([`-${VIP}/32`]);
  });

  it('leaves at once where the peers carry its family no more', async () => {
    const world = await announcing(held());
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    const peers = [{ ...sourced(peer({ families: ['ipv6'] })), source: 'api' as const }];
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE], { peers }), 'api');
    await world.pass(50);
    expect(world.agent.decided.peers.flatMap(({ routes }) => routes)).to.deep.equal([]);
  });

  it('was never announced from here, and is not held', async () => {
    const world = new World([], false);
    world.agent.setFenced(undefined);
    world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
    await world.pass(200);
    expect(world.heard).to.deep.equal(['end']);
  });

  const absent = { password: { kind: 'secret', name: 'absent' } } as const;
  const asides: readonly { readonly name: string; readonly over: Partial<Documents> }[] = [
    { name: 'its BGPPeer is renamed', over: peerOf({ name: 'spine' }) },
    { name: 'its only peer is refused for a moment', over: peerOf(absent) },
    { name: 'its only peer is replaced', over: { peers: [] } },
    { name: 'the claim is withdrawn for a moment', over: told([withdrawn]) },
  ];
  for (const { name, over } of asides) {
    for (const isSameEdit of [false, true]) {
      const when = isSameEdit ? ' by the edit that selects other nodes' : '';
      it(`stays where ${name}${when}`, async () => {
        const world = await announcing(held());
        const { pools } = documentsOf([held()], [ELSEWHERE]);
        if (!isSameEdit) world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
        await world.pass(50);
        world.agent.setDocuments({ ...documentsOf([held()], []), ...over, pools }, 'api');
        await world.pass(300);
        const { claims } = told([held()]);
        const peers = over === asides[0]?.over ? over.peers : peerOf().peers;
        world.agent.setDocuments({ claims, pools, peers: peers ?? [], faults: [] }, 'api');
        await world.pass(40_000);
        expect(world.heard.filter((word) => word !== 'end').at(-1)).to.equal(`~${VIP}/32 ×3`);
        expect(world.agent.announced.levels.get(VIP)).to.equal(0);
      });
    }
  }

  it('goes to other peers as the last advertisements select them', async () => {
    const world = await announcing(held());
    const ofLeaf = advertisement({ peerSelector: { matchLabels: { tier: 'leaf' } }, med: 7 });
    const peersOf = (tier: string) => peerOf({ name: tier, labels: { tier } });
    const told = (tier: string, one: Advertisement) =>
      world.agent.setDocuments(documentsOf([held()], [one], peersOf(tier)), 'api');
    told('leaf', ofLeaf);
    await world.pass(50);
    told('leaf', ELSEWHERE);
    told('core', ELSEWHERE);
    await world.pass(50);
    expect(world.heard.at(-1)).to.equal(`-${VIP}/32`);
    told('leaf', ELSEWHERE);
    await world.pass(50);
    expect(world.heard.at(-1)).to.equal(`~${VIP}/32 ×3`);
    expect(world.agent.decided.peers[0]?.routes[0]?.attributes.med).to.equal(7);
  });

  describe('over a restart of the agent', () => {
    /** the View that an agent leaves behind which holds the claim */
    async function left(): Promise<SavedView> {
      let saved: SavedView | undefined;
      const store = {
        load: () => undefined,
        save: (view: SavedView) => {
          saved = view;
          return undefined;
        },
      };
      const world = await announcingIn({ store }, [held()]);
      world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
      await world.pass(1000);
      if (saved === undefined) throw new Error('nothing was saved');
      const parsed = parseSavedView(formatSavedView(saved));
      if (!parsed.ok) throw new Error(parsed.sentence);
      return parsed.saved;
    }

    const starts = (saved: SavedView, isBack: boolean) =>
      new World([], isBack, { store: { load: () => saved, save: () => undefined } });

    it('stays before the API has answered, and after it', async () => {
      const world = starts(await left(), true);
      await world.pass(7000);
      const levels = () => world.heard.filter((word) => word.startsWith('~'));
      expect(levels()).to.have.length(1);
      world.agent.setNodeFacts(node({ rack: 'a' }));
      world.agent.setFenced(undefined);
      world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
      await world.pass(40_000);
      expect(world.heard.at(-1)).to.equal(`~${VIP}/32 ×3`);
      const [session] = world.agent.decided.peers;
      expect(session?.routes[0]?.attributes.communities).to.include(HERE.communities[0]);
    });

    it('stays where it was given back, once the API says that this node still has it', async () => {
      const world = starts({ ...(await left()), isGivenBack: true }, false);
      await world.pass(7000);
      expect(world.heard).to.deep.equal(['end']);
      world.agent.setNodeFacts(node({ rack: 'a' }));
      world.agent.setFenced(undefined);
      world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
      await world.pass(1000);
      expect(world.heard).to.deep.equal(['end', `~${VIP}/32 ×3`]);
    });

    it('is not held where another node has it by then', async () => {
      const world = starts(await left(), true);
      world.agent.setNodeFacts(node({ rack: 'a' }));
      world.agent.setDocuments(documentsOf([], [ELSEWHERE]), 'api');
      await world.pass(7000);
      world.agent.setDocuments(documentsOf([held()], [ELSEWHERE]), 'api');
      await world.pass(7000);
      expect(world.heard).to.deep.equal(['end']);
    });
  });
});

describe('how claims that are held were announced', () => {
  const inRack = pool({ advertisements: [advertisement(rack('a')), HERE, ELSEWHERE] });
  const labels = { rack: 'a' };
  const subjectAt = (at: string) => ({
    claim: { ...sourced(claim({ at, labels: { [OWN]: '0' } })), source: 'api' as const },
    pool: inRack,
    level: 0 as const,
  });

  it('is one list for all claims of a pool, and another one for other labels of the node', () => {
    const form = heldForm(subjectAt(VIP), labels);
    expect(form).to.deep.equal([advertisement(rack('a')), HERE]);
    expect(heldForm(subjectAt('198.51.100.8'), labels) === form, 'the same object').to.equal(true);
    expect(heldForm(subjectAt(VIP), { rack: 'b' })).to.deep.equal([HERE, ELSEWHERE]);
    expect(heldForm(subjectAt(VIP), labels) === form, 'after other labels').to.equal(true);
  });

  it('is written as text once, however many they are, and forms with one text are one', () => {
    let reads = 0;
    const counted = {
      ...HERE,
      get communities() {
        reads += 1;
        return HERE.communities;
      },
    };
    const shared = [counted];
    const departures = Array.from({ length: 10 }, (_, at) => {
      const form = at === 0 ? [ELSEWHERE] : at === 9 ? [HERE] : shared;
      const { claim: of } = subjectAt(`198.51.100.${at}`);
      return [`c${at}`, { claim: of, pool: inRack, sinceMs: 0, reason: '', held: form }] as const;
    });
    const saved = holdsToSave(new Map(departures));
    expect(reads, 'how often a form was read').to.equal(1);
    expect(saved?.map(({ claims }) => claims)).to.deep.equal([
      ['c0'],
      ['c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7', 'c8', 'c9'],
    ]);
  });
});
