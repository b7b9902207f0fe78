import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SETTINGS_TABLE_FILE, settingsTable } from '../../tools/settings-table.ts';

describe('docs/settings.md', () => {
  it('is what the settings say', () => {
    expect(readFileSync(SETTINGS_TABLE_FILE, 'utf8')).to.equal(settingsTable());
  });
});
