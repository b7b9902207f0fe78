import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { FSM_TABLE_FILE, fsmTable } from '../../../tools/fsm-table.ts';

describe('docs/fsm.md', () => {
  it('is what the matrix says; after a change run tools/fsm-table.ts', () => {
    expect(readFileSync(FSM_TABLE_FILE, 'utf8')).to.equal(fsmTable());
  });
});
