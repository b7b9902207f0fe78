/** What `make break-rows` breaks is still there: a line that has changed is noticed here, not at the next long run. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { BROKEN_ROWS } from '../../tools/break-rows/rows.ts';

describe('make break-rows', () => {
  for (const { row, file, line, broken } of BROKEN_ROWS) {
    it(`finds the line of ${row} once in ${file}`, () => {
      const text = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');
      expect(text.split(line).length - 1).to.equal(1);
      expect(broken).not.to.equal(line);
    });
  }
});
