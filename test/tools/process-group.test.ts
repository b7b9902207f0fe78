/** Tests that count on a frozen process believe `freeze()`; here it is seen that nothing of the group runs when it comes back. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { done, notYet, until } from '../support/poll.ts';
import { Running } from '../support/process.ts';
import { threadStates } from '../support/process-group.ts';

describe('a frozen process group', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-freeze-'));
  let busy: Running | undefined;

  after(async () => {
    await busy?.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is still when freeze() comes back, children too, and runs again after thaw()', async () => {
    const turning = 'while :; do :; done';
    busy = new Running(['sh', '-c', `sh -c '${turning}' & ${turning}`], join(folder, 'log'));
    const { pid } = busy;
    const isBusy = () => {
      const states = threadStates(pid).join('');
      return states === 'RR' ? done(true) : notYet(states);
    };
    await until('both turn', isBusy);
    for (let round = 0; round < 20; round += 1) {
      busy.freeze();
      expect(threadStates(pid).join(''), `round ${round}`).to.equal('TT');
      busy.thaw();
    }
    await until('both turn again', isBusy);
  });
});
