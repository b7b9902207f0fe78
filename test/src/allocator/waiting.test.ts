import { expect } from 'chai';
import { Waiting } from '../../../src/allocator/waiting.ts';
import { address } from '../../support/allocator-world.ts';

const wish = (key: string, createdMs: number, pool = 'lab') => ({
  key,
  createdMs,
  pools: [{ pool, family: 'ipv4' as const }],
  addresses: [],
});

describe('Waiting', () => {
  it('keeps them by age, then by name, whatever the order they came in', () => {
    const waiting = new Waiting();
    for (const each of [wish('a/c', 2), wish('a/d', 1), wish('a/b', 2), wish('a/a', 3)])
      waiting.put(each);
    expect(waiting.keys).to.deep.equal(['a/d', 'a/b', 'a/c', 'a/a']);
    waiting.put(wish('a/a', 0));
    waiting.remove('a/b');
    waiting.remove('a/nobody');
    expect(waiting.keys).to.deep.equal(['a/a', 'a/d', 'a/c']);
  });

  it('names as many as an event may help, the oldest first, and only those that it may', () => {
    const waiting = new Waiting();
    for (const each of [wish('a/1', 1), wish('a/2', 2, 'other'), wish('a/3', 3), wish('a/4', 4)])
      waiting.put(each);
    expect(waiting.forPool('lab', 'ipv4', 2n)).to.deep.equal(['a/1', 'a/3']);
    expect(waiting.forPool('lab', 'ipv6', 2n)).to.deep.equal([]);
    waiting.put({
      key: 'a/5',
      createdMs: 5,
      pools: [],
      addresses: [address('192.0.2.1')],
      shareKey: 'w',
    });
    expect([...waiting.forAddress(address('192.0.2.1'))]).to.deep.equal(['a/5']);
    expect([...waiting.forShare('w')]).to.deep.equal(['a/5']);
    waiting.remove('a/5');
    expect([...waiting.forAddress(address('192.0.2.1'))]).to.deep.equal([]);
  });

  it('lets somebody through only where those before leave something over', () => {
    const waiting = new Waiting();
    for (const each of [wish('a/1', 1), wish('a/2', 2), wish('a/3', 3, 'other')]) waiting.put(each);
    const from = { pool: 'lab', family: 'ipv4' } as const;
    const young = { key: 'a/9', createdMs: 9 };
    expect(waiting.leavesOver(from, 2n, young)).to.equal(false);
    expect(waiting.leavesOver(from, 3n, young)).to.equal(true);
    expect(waiting.leavesOver(from, 1n, { key: 'a/1', createdMs: 1 })).to.equal(true);
    expect(waiting.leavesOver({ pool: 'free', family: 'ipv4' }, 1n, young)).to.equal(true);
  });

  it('bears thousands', () => {
    const waiting = new Waiting();
    for (let index = 0; index < 5000; index += 1)
      waiting.put(wish(`a/${index}`, (index * 7919) % 5000));
    for (let index = 0; index < 5000; index += 1) waiting.remove(`a/${index}`);
    expect(waiting.size).to.equal(0);
  });
});
