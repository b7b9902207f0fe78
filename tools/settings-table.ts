/**
 * Makes docs/settings.md of the settings of the agent and of the controller: `node tools/settings-table.ts` writes it, a test sees that
 * it is current.
 */

import { writeFileSync } from 'node:fs';
import { SETTINGS } from '../src/config/agent-settings.ts';
import { CONTROLLER_SETTINGS } from '../src/config/controller-settings.ts';
import type { SettingsTable } from '../src/config/read-settings.ts';
import { environmentName } from '../src/config/setting-row.ts';

export const SETTINGS_TABLE_FILE = new URL('../docs/settings.md', import.meta.url);

const INTRODUCTION = `# Settings

Made by \`tools/settings-table.ts\` from \`src/config/agent-settings.ts\` and \`src/config/controller-settings.ts\`.

These configure the process. Peers, pools and claims are documents ([documents.md](documents.md)). A flag beats its environment
variable, that beats the file which \`--config FILE\` (or \`HERALD_CONFIG\`) names, that beats the default. The file is YAML or JSON:

\`\`\`yaml
source: files:/etc/herald
asn: 64512
joinCheck: https://127.0.0.1:6443/readyz
joinCa: /etc/kubernetes/pki/ca.crt
\`\`\`

An unknown flag, an unknown name in the file and a value that cannot be are refused at the start with exit status 2.

## herald agent

`;

const CONTROLLER = `
## herald controller

A flag whose value is \`true\` or \`false\` may stand alone, which means \`true\`.

`;

const HEAD = `| flag | environment | in the file | default | what it is |
|---|---|---|---|---|
`;

export function settingsTable(): string {
  return INTRODUCTION + table(SETTINGS) + CONTROLLER + table(CONTROLLER_SETTINGS);
}

function table(settings: SettingsTable): string {
  const rows = Object.entries(settings).map(([name, row]) => {
    const fallback = row.default === '' ? '' : `\`${row.default}\``;
    const value = row.metavar.replaceAll('|', '\\|');
    const flag = `\`--${row.flag}${row.bare === undefined ? ` ${value}` : `[=${value}]`}\``;
    return `| ${flag} | \`${environmentName(row)}\` | \`${name}\` | ${fallback} | ${row.doc} |\n`;
  });
  return HEAD + rows.join('');
}

if (import.meta.main) writeFileSync(SETTINGS_TABLE_FILE, settingsTable());
