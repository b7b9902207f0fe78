/** What the bundle is for: an agent in a pod starts at least twice as fast from it as from the sources. */

import { join } from 'node:path';
import { expect } from 'chai';
import { StartClock } from '../bench/image/start-clock.ts';
import { median } from '../bench/median.ts';

const ROOT = join(import.meta.dirname, '../..');
const RUNS = 3;

describe('the start of an agent with --source kube', function () {
  this.timeout(180_000);
  const clock = new StartClock();

  before(() => clock.open());
  after(() => clock.close());

  it('takes at most half as long from the bundle as from the sources', async () => {
    const times = { sources: [] as number[], bundle: [] as number[] };
    // one after the other, so that a busy machine is as busy for both
    for (let run = 0; run < RUNS; run += 1) {
      times.sources.push(await clock.measureMs([join(ROOT, 'src/cli/herald')]));
      times.bundle.push(await clock.measureMs([join(ROOT, 'dist/herald')]));
    }
    const [sources, bundle] = [median(times.sources), median(times.bundle)];
    process.stderr.write(
      `start: sources ${sources.toFixed(0)} ms, bundle ${bundle.toFixed(0)} ms\n`,
    );
    expect(sources / bundle).to.be.at.least(2);
  });
});
