import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { routerFile, routerText } from '../../lab/configs/generate.ts';
import { border, racks } from '../../lab/configs/own-lines.ts';

describe("the files of the lab's ToRs", () => {
  for (const rack of racks) {
    it(`${rack.router} has what \`herald manifest router\` prints for its nodes' documents, then the lab's own lines`, function () {
      this.timeout(30_000);
      const text = readFileSync(routerFile(rack), 'utf8');
      expect(text, 'run node lab/configs/generate.ts').to.equal(routerText(rack));
      expect(text.split(border)).to.have.length(2);
    });
  }
});
