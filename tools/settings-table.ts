/** Makes docs/settings.md of the agent's settings: `node tools/settings-table.ts` writes it, a test sees that it is current. */

import { writeFileSync } from 'node:fs';
import { environmentName, SETTINGS } from '../src/config/agent-settings.ts';

export const SETTINGS_TABLE_FILE = new URL('../docs/settings.md', import.meta.url);

const INTRODUCTION = `# Settings of herald agent

Made by \`tools/settings-table.ts\` from \`src/config/agent-settings.ts\`.

These configure the process. Peers, pools and claims are documents ([documents.md](documents.md)). A flag beats its environment
variable, that beats the file which \`--config FILE\` (or \`HERALD_CONFIG\`) names, that beats the default. The file is YAML or JSON:

\`\`\`yaml
source: files:/etc/herald
asn: 64512
joinCheck: https://127.0.0.1:6443/readyz
joinCa: /etc/kubernetes/pki/ca.crt
\`\`\`

An unknown flag, an unknown name in the file and a value that cannot be are refused at the start with exit status 2.

| flag | environment | in the file | default | what it is |
|---|---|---|---|---|
`;

export function settingsTable(): string {
  const rows = Object.entries(SETTINGS).map(([name, row]) => {
    const fallback = row.default === '' ? '' : `\`${row.default}\``;
    const flag = `\`--${row.flag} ${row.metavar}\``;
    return `| ${flag} | \`${environmentName(row)}\` | \`${name}\` | ${fallback} | ${row.doc} |\n`;
  });
  return INTRODUCTION + rows.join('');
}

if (import.meta.main) writeFileSync(SETTINGS_TABLE_FILE, settingsTable());
