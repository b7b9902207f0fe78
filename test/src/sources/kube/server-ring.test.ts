import { expect } from 'chai';
import { ServerRing } from '../../../../src/sources/kube/server-ring.ts';

describe('the choice among API servers', () => {
  it('stays with the one that works', () => {
    const ring = new ServerRing(3, 1);
    for (const status of [200, 404, 409, 429]) expect(ring.answered(1, status)).to.equal(false);
    expect(ring.current).to.equal(1);
  });

  it('leaves one that cannot be reached, and comes back to it after the others', () => {
    const ring = new ServerRing(2);
    expect(ring.unreachable(0)).to.equal(true);
    expect(ring.current).to.equal(1);
    expect(ring.unreachable(1)).to.equal(true);
    expect(ring.current).to.equal(0);
  });

  it('is not moved by what is heard late of a server that was left', () => {
    const ring = new ServerRing(3);
    ring.unreachable(0);
    expect(ring.unreachable(0)).to.equal(false);
    expect(ring.answered(0, 500)).to.equal(false);
    expect(ring.current).to.equal(1);
  });

  it('leaves one that fails by itself three times in a row', () => {
    const ring = new ServerRing(2);
    const answers = [500, 503, 200, 500, 500, 504].map((status) => ring.answered(0, status));
    expect(answers).to.deep.equal([false, false, false, false, false, true]);
    expect(ring.current).to.equal(1);
  });

  it('of one server is no choice', () => {
    const ring = new ServerRing(1);
    expect(ring.unreachable(0)).to.equal(false);
    expect(ring.current).to.equal(0);
  });
});
