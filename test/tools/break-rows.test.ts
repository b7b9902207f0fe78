/** What `make break-rows` breaks is still there: a line that has changed is noticed here, not at the next long run. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { LAB_ROWS } from '../../tools/break-rows/lab-rows.ts';
import { BROKEN_ROWS } from '../../tools/break-rows/rows.ts';

describe('make break-rows', () => {
  for (const { row, suite = 'unit', file, line, broken } of [...BROKEN_ROWS, ...LAB_ROWS]) {
    it(`finds the line of ${row} (${suite}) once in ${file}`, () => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      expect(text.split(line).length - 1).to.equal(1);
      expect(broken).not.to.equal(line);
    });
  }

  it('reaches the suites with real routers and API servers', () => {
    const suites = LAB_ROWS.map(({ suite }) => suite);
    expect(suites.filter((suite) => suite === 'standalone')).to.have.length.above(2);
    expect(suites.filter((suite) => suite === 'cluster')).to.have.length.above(4);
  });
});
