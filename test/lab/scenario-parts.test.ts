import { expect } from 'chai';
import { misfits } from '../../lab/scenarios/partial.ts';
import { fromBird, fromFrr } from '../../lab/scenarios/router-tables.ts';

describe('what a scenario expects', () => {
  const found = {
    prefix: '198.51.100.1/32',
    paths: [
      { nextHop: 'a', asPath: [1] },
      { nextHop: 'b', asPath: [2] },
    ],
  };

  it('names what it cares about, and nothing else', () => {
    expect(misfits({ paths: [{ nextHop: 'b' }, { nextHop: 'a' }] }, found)).to.deep.equal([]);
    expect(misfits({}, found)).to.deep.equal([]);
  });

  it('says what is missing, what is too much, and where', () => {
    expect(misfits({ paths: [{ nextHop: 'a' }, { nextHop: 'c' }] }, found)).to.deep.equal([
      'paths has no {"nextHop":"c"}',
      'paths has {"nextHop":"b","asPath":[2]} too',
    ]);
    expect(misfits({ prefix: 'x' }, found)).to.deep.equal(['prefix is "198.51.100.1/32", not "x"']);
    expect(misfits({ paths: [] }, {})).to.deep.equal(['paths is undefined, not a list']);
    expect(misfits({ a: { b: 1 } }, { a: 3 })).to.deep.equal(['a is 3, not an object']);
  });
});

describe('the tables of routers', () => {
  it('are read from FRR: those paths that it uses', () => {
    const path = (ip: string, more: object) => ({
      aspath: { string: '65001' },
      nexthops: [{ ip, used: true }],
      ...more,
    });
    const text = JSON.stringify({
      prefix: '198.51.100.1/32',
      paths: [
        path('10.0.0.2', { multipath: true, bestpath: { overall: true } }),
        path('10.0.0.1', { multipath: true }),
        path('10.0.0.3', {}),
      ],
    });
    expect(fromFrr('198.51.100.1/32', text).paths).to.deep.equal([
      { nextHop: '10.0.0.1', asPath: [65_001] },
      { nextHop: '10.0.0.2', asPath: [65_001] },
    ]);
    expect(fromFrr('198.51.100.1/32', '{}\n').paths).to.deep.equal([]);
  });

  it('are read from BIRD: one route with several ways', () => {
    const text = `Table master4:
198.51.100.1/32      unicast [tor1 18:00:00.000] * (100) [AS65001i]
\tvia 10.0.1.1 on eth1
\tvia 10.0.2.1 on eth2
\tType: BGP univ
\tBGP.origin: IGP
\tBGP.as_path: 65001 65101
`;
    expect(fromBird('198.51.100.1/32', text).paths).to.deep.equal([
      { nextHop: '10.0.1.1', asPath: [65_001, 65_101] },
      { nextHop: '10.0.2.1', asPath: [65_001, 65_101] },
    ]);
    expect(fromBird('198.51.100.1/32', 'Network not found\n').paths).to.deep.equal([]);
  });
});
