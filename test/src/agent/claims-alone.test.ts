/** An agent that is started anew and can list IPClaims, and not the rest: what its saved View has too much leaves all the same. */

import { expect } from 'chai';
import type { SavedView } from '../../../src/agent/saved-view.ts';
import type { Documents, Sourced } from '../../../src/model/documents.ts';
import type { IpClaim } from '../../../src/model/ip-claim.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { told, World } from './agent-and-router.ts';
import { claim } from './scenery.ts';

const OWN = nodeLabel('n1');
const anycast = (last: number, over: Partial<IpClaim> = {}) =>
  claim({ at: `198.51.100.${last}`, labels: { [ANYCAST_LABEL]: '' }, ...over });
const placed = (last: number, labels: IpClaim['labels']) => anycast(last, { labels });
const route = (last: number) => `198.51.100.${last}/32`;

const alone = (...claims: readonly IpClaim[]): Documents => ({
  ...told(claims),
  peers: [],
  pools: [],
  isOfClaimsAlone: true,
});

/** announces what was saved; what was heard until then is forgotten */
async function restarted(...claims: readonly IpClaim[]): Promise<World> {
  const world = new World(claims, true);
  await world.pass(7000);
  for (const { address } of claims) {
    const { bits } = address as { bits: number };
    expect(world.heard.some((word) => word.includes(route(bits & 255)))).to.equal(true);
  }
  world.heard.length = 0;
  return world;
}

describe('an agent that has heard of claims alone since its start', () => {
  it('withdraws what was withdrawn, is gone, or has another node, and nothing else', async () => {
    const saved = [anycast(1), anycast(2), anycast(3), placed(4, { [OWN]: '0' })];
    const world = await restarted(...saved);
    const withdrawn = anycast(2, { withdrawn: { reason: 'no endpoints' } });
    world.agent.setDocuments(
      alone(anycast(1), withdrawn, placed(4, { [nodeLabel('n2')]: '0' })),
      'api',
    );
    await world.pass(300);
    const left = [`-${route(2)}`, `-${route(4)}`, `~${route(3)} ×1`];
    expect(world.heard.toSorted()).to.deep.equal(left.toSorted());
  });

  it('takes up nothing that the View does not have, and keeps how its claims are announced', async () => {
    const world = await restarted(anycast(1));
    const changed = anycast(1, { pool: 'not-listed-yet' });
    world.agent.setDocuments(alone(changed, anycast(9)), 'api');
    await world.pass(300);
    expect(world.heard).to.deep.equal([]);
    expect(world.agent.status().stale, 'the View is as old as before').to.not.equal(undefined);
  });

  it('a claim that was made anew is none of the View', async () => {
    const world = await restarted(anycast(1), anycast(2));
    const made = { ...alone(anycast(2)).claims[0], createdMs: 1_700_000_100_000 };
    const now = alone(anycast(1));
    world.agent.setDocuments({ ...now, claims: [...now.claims, made as Sourced<IpClaim>] }, 'api');
    await world.pass(300);
    expect(world.heard, 'as one that is gone').to.deep.equal([`~${route(2)} ×1`]);
    await world.pass(11_000);
    expect(world.heard.at(-1)).to.equal(`-${route(2)}`);
  });

  it('one that was released and made anew is not announced in its former form', async () => {
    const released = anycast(2, { withdrawn: { reason: 'released' }, pool: 'vips' });
    const world = new World([released], true);
    await world.pass(7000);
    expect(world.heard.splice(0)).to.deep.equal(['end']);
    const services = [{ namespace: 'b', name: 'web', uid: 'u' }];
    const [made] = alone(anycast(2, { services, pool: 'vips' })).claims;
    const claims = [{ ...(made as Sourced<IpClaim>), createdMs: 1_700_000_100_000 }];
    world.agent.setDocuments({ ...alone(), claims }, 'api');
    await world.pass(7000);
    expect(world.heard).to.deep.equal([]);
  });

  for (const [status, left] of [
    [200, []],
    [503, [`-${route(1)}`]],
  ] as const) {
    it(`asks for the Services of now: a port of a Local one that says ${status}`, async () => {
      const service = { namespace: 'a', name: 'web' };
      const world = await restarted(anycast(1, { services: [service] }));
      world.status = status;
      const local = { ...service, healthCheckNodePort: 30_001 };
      world.agent.setDocuments(alone(anycast(1, { services: [local] })), 'api');
      await world.pass(9000);
      expect(world.heard).to.deep.equal(left);
    });
  }

  it('has again what was missing in a list, and all that comes when everything is heard', async () => {
    const world = await restarted(anycast(1), anycast(2));
    world.agent.setDocuments(alone(anycast(1)), 'api');
    await world.pass(300);
    expect(world.heard.splice(0)).to.deep.equal([`~${route(2)} ×1`]);
    world.agent.setDocuments(alone(anycast(1), anycast(2)), 'api');
    await world.pass(300);
    expect(world.heard.splice(0)).to.deep.equal([`${route(2)} ×1`]);
    world.agent.setDocuments(told([anycast(1), anycast(9)]), 'api');
    await world.pass(300);
    expect(world.heard.toSorted()).to.deep.equal([`${route(9)} ×1`, `~${route(2)} ×1`]);
  });

  it('has no claims by it where nothing was saved, or those were given back', async () => {
    const store = { load: () => undefined, save: () => undefined };
    const knowing = new World([], false, { store });
    knowing.agent.setDocuments(alone(anycast(1)), 'api');
    await knowing.pass(7000);
    expect(knowing.heard).to.deep.equal([]);
    expect(knowing.agent.documents).to.equal(undefined);
    const views: SavedView[] = [];
    const save = (view: SavedView) => {
      views.push({ ...view, isGivenBack: true });
      return undefined;
    };
    const before = new World([anycast(1)], false, { store: { ...store, save } });
    before.agent.setDocuments(told([anycast(1)]), 'api');
    await before.pass(1000);
    const world = new World([], false, { store: { ...store, load: () => views.at(-1) } });
    world.agent.setDocuments(alone(anycast(1)), 'api');
    await world.pass(7000);
    expect(world.heard).to.deep.equal(['end']);
  });
});
