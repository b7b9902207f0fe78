import { expect } from 'chai';
import type { CachedDocument } from '../../../src/controller/cached-document.ts';
import { poolStatus } from '../../../src/controller/pool-conditions.ts';
import { PoolRegister } from '../../../src/controller/pool-register.ts';
import type { IpPool } from '../../../src/model/ip-pool.ts';
import { pool } from '../../support/allocator-world.ts';

function document(
  name: string,
  addresses: readonly string[],
  meta: {
    readonly createdMs?: number;
    readonly generation?: number;
    readonly isReady?: boolean;
  } = {},
): CachedDocument<IpPool> {
  const { createdMs = 0, generation = 1, isReady = false } = meta;
  const ready = {
    type: 'Ready',
    status: 'True' as const,
    reason: 'Accepted',
    message: '',
    observedGeneration: generation,
  };
  return {
    ok: true,
    object: pool(name, addresses),
    meta: {
      name,
      uid: name,
      resourceVersion: '1',
      generation,
      createdMs,
      isBeingDeleted: false,
      labels: {},
      annotations: {},
      status: {},
      conditions: isReady ? [ready] : [],
    },
  };
}

const names = (register: PoolRegister, ...documents: readonly CachedDocument<IpPool>[]) =>
  register.choose(documents).inOrder.map(({ name }) => name);

describe('PoolRegister', () => {
  it('refuses the younger of two that overlap', () => {
    const old = document('old', ['10.0.0.0/30'], { createdMs: 1 });
    const young = document('a-young', ['10.0.0.2-10.0.0.9'], { createdMs: 2 });
    const choice = new PoolRegister().choose([young, old]);
    expect(choice.inOrder.map(({ name }) => name)).to.deep.equal(['old']);
    expect(choice.refused.get('a-young')).to.include('IPPool/old');
  });

  it('does not take the word of an edited old pool against one that stands, nor after a restart', () => {
    const register = new PoolRegister();
    const young = document('young', ['10.0.0.0/30'], { createdMs: 2 });
    expect(
      names(register, document('old', ['10.1.0.0/30'], { createdMs: 1 }), young),
    ).to.deep.equal(['old', 'young']);
    const edited = document('old', ['10.0.0.0/16'], { createdMs: 1, generation: 2 });
    expect(names(register, edited, young)).to.deep.equal(['young']);
    const told = document('young', ['10.0.0.0/30'], { createdMs: 2, isReady: true });
    expect(names(new PoolRegister(), edited, told)).to.deep.equal(['young']);
  });

  it('leaves the others alone when one cannot be read', () => {
    const good = document('good', ['10.0.0.0/30']);
    const bad: CachedDocument<IpPool> = {
      ok: false,
      meta: { ...good.meta, name: 'bad' },
      sentence: 'no good',
    };
    const choice = new PoolRegister().choose([bad, good]);
    expect(choice.refused.get('bad')).to.equal('no good');
    expect(choice.inOrder).to.have.length(1);
  });
});

describe('poolStatus', () => {
  it('counts within what a 64-bit field holds', () => {
    const { total, free, used } = poolStatus(document('six', ['2001:db8::/64']), {
      taken: 3,
      outside: [],
    });
    expect([used, total, free]).to.deep.equal([3, 2 ** 63 - 1024, 2 ** 63 - 1024]);
    expect(JSON.parse(JSON.stringify({ total })).total).to.equal(total);
    expect(BigInt(JSON.stringify(total)) < 2n ** 63n).to.equal(true);
  });

  it('says when it is full, refused, or read differently than written', () => {
    const of = (each: CachedDocument<IpPool>, use: { taken: number; refused?: string }) =>
      Object.fromEntries(
        poolStatus(each, { outside: [], ...use }).conditions.map((one) => [one.type, one]),
      );
    expect(of(document('a', ['10.0.0.0/31']), { taken: 2 })['Exhausted']).to.include({
      status: 'True',
    });
    expect(of(document('a', ['10.0.0.0/31']), { taken: 1 })['Exhausted']).to.include({
      status: 'False',
    });
    const refused = of(document('a', ['10.0.0.0/31']), { taken: 0, refused: 'because' });
    expect(refused['Ready']).to.include({
      status: 'False',
      reason: 'Overlaps',
      message: 'because',
    });
    expect(refused['Exhausted']).to.include({ status: 'False' });
    expect(of(document('a', ['192.168.0.210/29']), { taken: 0 })['Ready']?.message).to.equal(
      "'192.168.0.210/29' means 192.168.0.208 to 192.168.0.215",
    );
  });
});
