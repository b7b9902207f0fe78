import { expect } from 'chai';
import { liveDepartures, nextDepartures } from '../../../src/agent/departures.ts';
import { desired } from '../../../src/agent/desired.ts';
import type { View } from '../../../src/agent/view.ts';
import type { Documents } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { DEFAULT_PLACEMENT, type IpPool } from '../../../src/model/ip-pool.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { clusterNode } from '../controller/scenery.ts';
import { told as toldBy, World } from './agent-and-router.ts';
import {
  announced,
  check,
  claim,
  documents,
  EXCLUSIVE,
  NODE,
  peer,
  pool,
  sourced,
  VIP,
  view,
  WAIT_MS,
} from './scenery.ts';

/** the View after `to` has replaced the documents of `from` */
function changed(from: View, to: Documents): View {
  const plain = { ...from, documents: to, departures: new Map() };
  const departures = nextDepartures(desired(from), desired(plain), from.node.labels, plain);
  return { ...from, documents: to, departures };
}

const later = (from: View, ms: number): View => ({ ...from, nowMs: from.nowMs + ms });

describe('departures', () => {
  const ways = [
    { name: 'removed', to: documents({ claims: [] }), reason: 'its document was removed' },
    {
      name: 'moved to another node',
      from: documents({ claims: [claim({ placement: EXCLUSIVE, node: NODE })] }),
      to: documents({ claims: [claim({ placement: EXCLUSIVE, node: 'n2' })] }),
      reason: 'exclusive, and placed on node n2',
    },
    {
      name: 'out of its pool',
      to: documents({ pools: [pool({ addresses: ['198.51.100.128/25'] })] }),
      reason: `${VIP} is in no pool`,
    },
    {
      name: 'withdrawn by its document',
      to: documents({ claims: [claim({ withdrawn: { reason: 'no endpoints' } })] }),
      reason: 'withdrawn: no endpoints',
    },
  ];
  for (const { name, from = documents(), to, reason } of ways) {
    it(`a claim that is ${name} drains for the wait of its pool, and is gone then`, () => {
      const after = changed(view({ documents: from }), to);
      expect(announced(desired(after))).to.deep.equal([`tor ~${VIP}`]);
      expect(after.departures.get(VIP)?.reason).to.equal(reason);
      expect(desired(after).wakeAtMs).to.equal(after.nowMs + WAIT_MS);
      expect(announced(desired(later(after, WAIT_MS - 1)))).to.deep.equal([`tor ~${VIP}`]);
      expect(announced(desired(later(after, WAIT_MS)))).to.deep.equal([]);
    });
  }

  const fromApi = (over: Parameters<typeof claim>[0]): Documents =>
    documents({ claims: [{ ...sourced(claim(over)), source: 'api' }] });
  const anycast = fromApi({ labels: { [ANYCAST_LABEL]: '' } });
  const held = fromApi({ labels: { [nodeLabel(NODE)]: '0' } });
  const exclusive = { ...DEFAULT_PLACEMENT, ...EXCLUSIVE };
  const joined = { isOpen: true, sentence: 'joined' };
  const cluster = { joined, isReady: true, drains: new Map(), addresses: [] };
  const withdrawn = { withdrawn: { reason: 'no endpoints' } };
  const byController = [
    {
      name: 'withdrawn',
      from: anycast,
      to: fromApi({ ...withdrawn, labels: { [ANYCAST_LABEL]: '' } }),
    },
    { name: 'held no more by this node', from: held, to: documents({ claims: [] }) },
    {
      name: 'held by another node alone, since its pool became exclusive',
      from: { ...anycast, pools: [sourced(pool({ placement: exclusive }))] },
      to: documents({ claims: [], pools: [pool({ placement: exclusive })] }),
    },
    {
      name: 'held by another node alone, since it became exclusive itself',
      from: fromApi({ labels: { [ANYCAST_LABEL]: '' }, placement: EXCLUSIVE }),
      to: documents({ claims: [] }),
    },
    {
      name: 'held and withdrawn',
      from: held,
      to: fromApi({ ...withdrawn, labels: { [nodeLabel(NODE)]: '0' } }),
    },
  ];
  for (const { name, from, to } of byController) {
    it(`a claim of the API that is ${name} leaves at once`, () => {
      const before = view({ documents: from, cluster });
      expect(announced(desired(before))).to.have.length(1);
      expect(announced(desired(changed(before, to)))).to.deep.equal([]);
    });
  }

  it('a claim of the API that a person deletes drains, and leaves when it is withdrawn meanwhile', () => {
    const after = changed(view({ documents: anycast, cluster }), documents({ claims: [] }));
    expect(announced(desired(after))).to.deep.equal([`tor ~${VIP}`]);
    const to = fromApi({ ...withdrawn, labels: { [ANYCAST_LABEL]: '' } });
    const then = { ...after, documents: to };
    expect(liveDepartures(then).size).to.equal(0);
  });

  it('looks a few times at each claim that is there by now, however many leave (A10)', () => {
    const claims = Array.from({ length: 200 }, (_, n) => claim({ at: `198.51.100.${n + 1}` }));
    const before = desired(view({ documents: documents({ claims }) }));
    const narrowed = documents({ claims, pools: [pool({ addresses: ['203.0.113.0/24'] })] });
    const now = view({ documents: narrowed });
    const after = desired(now);
    let looks = 0;
    const counted = after.claims.map((decision) =>
      Object.defineProperty({ ...decision }, 'subject', {
        get: () => {
          looks += 1;
          return decision.subject;
        },
      }),
    );
    const then = { ...after, claims: counted };
    expect(nextDepartures(before, then, now.node.labels, now).size).to.equal(200);
    expect(looks).to.be.at.most(200 * 5);
  });

  it('one decision for all that leave, however many, whether the documents ask for them again', () => {
    const claims = Array.from({ length: 50 }, (_, n) => claim({ at: `198.51.100.${n + 1}` }));
    const from = view({ documents: documents({ claims }) });
    const narrowed = documents({ claims, pools: [pool({ addresses: ['203.0.113.0/24'] })] });
    const after = changed(from, narrowed);
    expect(after.departures.size).to.equal(50);
    let decisions = 0;
    const counted = Object.defineProperty({ ...narrowed }, 'peers', {
      enumerable: true,
      get: () => {
        decisions += 1;
        return narrowed.peers;
      },
    });
    expect(liveDepartures({ ...after, documents: counted }).size).to.equal(50);
    expect(decisions, 'looks at all peers').to.be.at.most(3);
    const back = { ...after, documents: documents({ claims, peers: [peer({ maxRoutes: 10 })] }) };
    expect(liveDepartures(back).size, 'those that are asked for again').to.equal(0);
  });

  it('waits as long as the pool said that the claim left', () => {
    const from = documents({ pools: [pool({ drain: { on: [], waitSeconds: 2 } })] });
    const after = changed(view({ documents: from }), documents({ claims: [], pools: [] }));
    expect(announced(desired(later(after, 1999)))).to.have.length(1);
    expect(announced(desired(later(after, 2000)))).to.have.length(0);
  });

  it('a fact that closes during the wait withdraws at once', () => {
    const from = view({
      documents: documents({
        claims: [claim({ checks: [check()], bind: { interface: 'lo' } })],
      }),
      health: new Map([[VIP, { isOpen: true, sentence: '' }]]),
      bindings: new Map([[VIP, { kind: 'present', sentence: '' } as const]]),
    });
    const after = changed(from, documents({ claims: [] }));
    expect(announced(desired(after))).to.deep.equal([`tor ~${VIP}`]);
    expect(desired(after).bindings.has(VIP)).to.equal(true);
    const closing: readonly Partial<View>[] = [
      { joined: { isOpen: false, sentence: '' } },
      { health: new Map([[VIP, { isOpen: false, sentence: '' }]]) },
      { bindings: new Map() },
    ];
    for (const fact of closing) {
      expect(announced(desired({ ...after, ...fact }))).to.deep.equal([]);
    }
  });

  it('what was not announced leaves nothing behind', () => {
    const from = view({ joined: { isOpen: false, sentence: '' } });
    expect(changed(from, documents({ claims: [] })).departures.size).to.equal(0);
  });

  it('a claim that is edited and still wanted here does not depart', () => {
    const after = changed(view(), documents({ claims: [claim({ labels: { a: 'b' } })] }));
    expect(after.departures.size).to.equal(0);
  });

  describe('of a node that is selected no more by the edit that changes the mode', () => {
    const RACK_B = { matchLabels: { rack: 'b' } };
    const elsewhere = { mode: 'exclusive', nodeSelector: RACK_B } as const;
    const any = { [ANYCAST_LABEL]: '' };
    const placed = { node: 'n2', labels: { ...any, [nodeLabel('n2')]: '0' } };
    const anywhere = pool();
    const narrowed = pool({ placement: { ...DEFAULT_PLACEMENT, ...elsewhere } });
    const ways = [
      { what: 'its pool', now: narrowed, own: {} },
      { what: 'the claim itself', now: anywhere, own: { placement: elsewhere } },
    ];
    const told = (from: IpPool, claims: readonly IpClaim[]): Documents => ({
      ...toldBy(claims),
      pools: [{ ...sourced(from), source: 'api' }],
    });

    for (const { what, now, own } of ways) {
      it(`what becomes exclusive drains until the anycast label goes, where ${what} says so`, async () => {
        const world = await announcing(told(anywhere, [claim({ labels: any })]));
        const { agent, heard } = world;
        agent.setDocuments(told(now, [claim({ labels: any, ...own })]), 'api');
        await world.pass(200);
        agent.setDocuments(told(now, [claim({ ...placed, ...own })]), 'api');
        await world.pass(800);
        expect(heard).to.deep.equal([`~${VIP}/32 ×1`]);
        agent.setDocuments(told(now, []), 'api');
        await world.pass(50);
        expect(heard).to.deep.equal([`~${VIP}/32 ×1`, `-${VIP}/32`]);
        await world.pass(WAIT_MS);
        expect(heard).to.have.length(2);
      });
    }

    it('what became exclusive drains until it hears of that, where its label went before', async () => {
      const world = await announcing(told(anywhere, [claim({ labels: any })]));
      const { agent, heard } = world;
      agent.setDocuments(told(anywhere, []), 'api');
      await world.pass(1000);
      expect(heard).to.deep.equal([`~${VIP}/32 ×1`]);
      agent.setDocuments(told(narrowed, []), 'api');
      await world.pass(50);
      expect(heard).to.deep.equal([`~${VIP}/32 ×1`, `-${VIP}/32`]);
    });

    it('what stays anycast drains for the whole wait, also where it is removed meanwhile', async () => {
      const selective = pool({ placement: { ...DEFAULT_PLACEMENT, nodeSelector: RACK_B } });
      const world = await announcing(told(anywhere, [claim({ labels: any })]));
      const { agent, heard } = world;
      agent.setDocuments(told(selective, [claim({ labels: any })]), 'api');
      await world.pass(1000);
      agent.setDocuments(told(selective, []), 'api');
      await world.pass(WAIT_MS - 1100);
      expect(heard).to.deep.equal([`~${VIP}/32 ×1`]);
      await world.pass(200);
      expect(heard).to.deep.equal([`~${VIP}/32 ×1`, `-${VIP}/32`]);
    });

    it('what becomes anycast stays as it is until the label of this node goes', async () => {
      const held = claim({ labels: { [nodeLabel(NODE)]: '0' }, node: NODE });
      const both = { ...held, labels: { ...held.labels, ...any } };
      const selective = pool({ placement: { ...DEFAULT_PLACEMENT, nodeSelector: RACK_B } });
      const world = await announcing(told(pool({ placement: exclusive }), [held]));
      const { agent, heard } = world;
      agent.setDocuments(told(selective, [held]), 'api');
      await world.pass(200);
      agent.setDocuments(told(selective, [both]), 'api');
      await world.pass(2 * WAIT_MS);
      expect(heard).to.deep.equal([]);
      agent.setDocuments(told(selective, [claim({ labels: any })]), 'api');
      await world.pass(50);
      expect(heard).to.deep.equal([`-${VIP}/32`]);
    });

    async function announcing(documents: Documents): Promise<World> {
      const world = new World([], false);
      world.agent.setNodeFacts(clusterNode(NODE, { bootId: 'b', labels: { rack: 'a' } }));
      world.agent.setFenced(undefined);
      world.agent.setDocuments(documents, 'api');
      await world.pass(3000);
      expect(world.heard).to.include(`${VIP}/32 ×1`);
      world.heard.length = 0;
      return world;
    }
  });
});
