import { expect } from 'chai';
import type { Documents } from '../../../src/model/documents.ts';
import { outlivesPool, unknownPool, withFormerPools } from '../../../src/model/former-pools.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../src/model/names.ts';
import { claim, documents, pool } from '../agent/scenery.ts';

const SERVICES = [{ namespace: 'shop', name: 'web' }];

function pools(...names: readonly string[]): Documents {
  return documents({ pools: names.map((name) => pool({ name })), claims: [] });
}

const former = ({ formerPools = [] }: Documents) => formerPools.map(({ object }) => object.name);

describe('pools that are gone', () => {
  it('are remembered in their last form, and not once they are there again', () => {
    const two = withFormerPools(pools('a', 'b'), undefined);
    expect(former(two)).to.deep.equal([]);
    const one = withFormerPools(pools('b'), two);
    expect(former(one)).to.deep.equal(['a']);
    expect(one.formerPools?.[0]).to.equal(two.pools[0]);
    const none = withFormerPools(pools(), one);
    expect(former(none)).to.deep.equal(['b', 'a']);
    const again = withFormerPools(pools('a'), none);
    expect(former(again)).to.deep.equal(['b']);
  });

  it('are the same list while nothing changes', () => {
    const one = withFormerPools(pools('b'), pools('a', 'b'));
    expect(withFormerPools(pools('b'), one).formerPools).to.equal(one.formerPools);
    expect(withFormerPools(pools('b'), pools('b'))).to.not.have.property('formerPools');
  });

  it('are a hundred at most, those with claims before all others', () => {
    let now: Documents = {
      ...pools('first'),
      claims: documents({ claims: [claim({ pool: 'first', services: SERVICES })] }).claims,
    };
    const { claims } = now;
    for (let index = 0; index < 150; index += 1) {
      now = withFormerPools({ ...pools(`pool-${index}`), claims }, now);
    }
    expect(former(now)).to.have.length(100);
    expect(former(now)).to.include('first');
    expect(former(now)).to.include('pool-148');
    expect(former(now)).to.not.include('pool-1');
  });

  it('concern what a Service was given out of them', () => {
    expect(outlivesPool(claim({ pool: 'a', services: SERVICES }))).to.equal(true);
    expect(outlivesPool(claim({ pool: 'a' })), 'by hand').to.equal(false);
    expect(outlivesPool(claim({ services: SERVICES })), 'of whichever pool').to.equal(false);
  });

  it('where nobody has known one, a claim that was placed says how', () => {
    const of = (labels: Readonly<Record<string, string>>) =>
      unknownPool(claim({ pool: 'a', services: SERVICES, labels }))?.placement.mode;
    expect(of({ [ANYCAST_LABEL]: '' })).to.equal('anycast');
    expect(of({ [nodeLabel('n1')]: '0' })).to.equal('exclusive');
    expect(of({}), 'never placed: it waits for its pool').to.equal(undefined);
  });
});
