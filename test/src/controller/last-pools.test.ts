import { expect } from 'chai';
import { cachedDocument } from '../../../src/controller/cached-document.ts';
import { LastPools } from '../../../src/controller/last-pools.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { claim, ipPool } from './scenery.ts';

const document = (pool: ReturnType<typeof ipPool>) =>
  cachedDocument(
    { metadata: { name: pool.name, uid: 'u', resourceVersion: '1' } },
    { ok: true, object: pool },
  );
const SERVICES = [{ namespace: 'n', name: 's' }];
const PLACED = { [ANYCAST_LABEL]: '' };

describe('the pool of a claim, as the controller goes by it', () => {
  const first = ipPool({ name: 'pool' });
  const of = (over: object) => claim('198.51.100.7', { pool: 'pool', ...over });

  it('is its last form where the pool is gone and Services have the address', () => {
    const pools = new LastPools();
    const served = of({ services: SERVICES });
    expect(pools.of(served, [document(first)])).to.equal(first);
    expect(pools.of(served, [])).to.equal(first);
    expect(pools.of(of({ services: [] }), []), 'by hand').to.equal(undefined);
    const second = { ...first, priority: 2 };
    expect(pools.of(served, [document(second)])).to.equal(second);
    expect(pools.of(served, [])).to.equal(second);
  });

  it('is a plain one where nobody has known it, as the claim was placed; one that never was waits', () => {
    const pools = new LastPools();
    const plain = pools.of(of({ services: SERVICES, labels: PLACED }), []);
    expect([plain?.name, plain?.placement.mode]).to.deep.equal(['pool', 'anycast']);
    const held = of({ services: SERVICES, labels: { [nodeLabel('a')]: '0' } });
    expect(pools.of(held, [])?.placement.mode).to.equal('exclusive');
    expect(pools.of(of({ services: SERVICES }), [])).to.equal(undefined);
  });
});
