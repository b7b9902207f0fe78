import { expect } from 'chai';
import { RouteAttributeTable } from '../../../src/agent/route-attributes.ts';
import { epochOf, HIGHEST_EPOCH } from '../../../src/model/convert-claim.ts';
import { DEFAULT_PLACEMENT } from '../../../src/model/ip-pool.ts';
import { EPOCH_ANNOTATION, nodeLabel } from '../../../src/model/names.ts';
import { epochAfter } from '../../../src/scheduler/epoch.ts';

const DAY_MS = 86_400_000;
const CREATED_MS = Date.UTC(2026, 5, 1);
const TO_B = { [nodeLabel('a')]: null, [nodeLabel('b')]: '0' };

/** a claim that node a holds */
function claim(epoch?: string, createdMs = CREATED_MS) {
  const annotations = epoch === undefined ? {} : { [EPOCH_ANNOTATION]: epoch };
  return { labels: { [nodeLabel('a')]: '0' }, annotations, createdMs };
}

/** after one more move, as agents read it */
function moved(epoch?: string, wallMs = CREATED_MS, createdMs = CREATED_MS): number {
  const text = epochAfter(claim(epoch, createdMs), TO_B, wallMs);
  return (text === undefined ? undefined : epochOf({ [EPOCH_ANNOTATION]: text })) ?? -1;
}

function med(epoch: number, label: 0 | 1 | 2 = 0): number {
  const lapsed = { epoch, label };
  const standing = { placement: DEFAULT_PLACEMENT, level: 3, isDraining: false, lapsed } as const;
  return new RouteAttributeTable().attributes(undefined, standing).med ?? -1;
}

describe('the epoch of an exclusive claim', () => {
  it('counts one for each new holder, and nothing else', () => {
    expect(epochAfter(claim('7'), TO_B, CREATED_MS)).to.equal('8');
    expect(epochAfter(claim('7'), { [nodeLabel('a')]: '1' }, CREATED_MS)).to.equal(undefined);
    expect(epochAfter(claim('7'), { [nodeLabel('a')]: '0' }, CREATED_MS)).to.equal(undefined);
  });

  it('goes on above all that was before where somebody takes the annotation away', () => {
    let epoch = moved();
    for (let moves = 0; moves < 500; moves += 1) epoch = moved(String(epoch), CREATED_MS + DAY_MS);
    expect(moved(undefined, CREATED_MS + DAY_MS)).to.be.above(epoch);
  });

  it('begins above that of the claim before it where somebody deletes the claim and makes it anew', () => {
    const epoch = moved(String(moved()), CREATED_MS + 1000);
    const anew = CREATED_MS + 10_000;
    expect(moved(undefined, anew, anew)).to.be.above(epoch);
    // the clock of this controller is behind: the API server's word counts
    expect(moved(undefined, 0, anew)).to.be.above(epoch);
  });

  it('begins anew where the number is one that no count of ours comes to', () => {
    const begun = moved();
    for (const epoch of ['x', '', '-1', '1e3', '999999999999999', String(HIGHEST_EPOCH + 1)]) {
      expect(moved(epoch), epoch).to.equal(begun);
    }
    expect(moved(String(HIGHEST_EPOCH)), 'the last one').to.equal(begun);
    expect(moved(undefined, Number.MAX_SAFE_INTEGER)).to.equal(HIGHEST_EPOCH);
    expect(moved(undefined, 0, 0)).to.equal(1);
  });

  it('has a MED of its own for each value and label, the later the lower, within 32 bits', () => {
    for (const epoch of [0, 1, moved(), moved(undefined, Date.UTC(2060, 0)), HIGHEST_EPOCH - 1]) {
      const meds = [epoch + 1, epoch].flatMap((each) =>
        ([0, 1, 2] as const).map((label) => med(each, label)),
      );
      expect(meds, String(epoch)).to.deep.equal([...new Set(meds)].sort((a, b) => a - b));
      for (const each of meds) expect(each).to.be.within(0, 0xffff_ffff);
    }
    // of an older View, or a Lease that somebody wrote
    expect(med(Number.MAX_SAFE_INTEGER)).to.equal(med(HIGHEST_EPOCH));
  });
});
