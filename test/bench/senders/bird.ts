/** BIRD 2 with static routes in its configuration. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/process.ts';
import { type BenchRoute, prefixText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender } from '../sender.ts';

function routeLine(route: BenchRoute): string {
  if (route.communities.length === 0) return `  route ${prefixText(route)} blackhole;`;
  const added = route.communities.map(([high, low]) => `bgp_community.add((${high},${low}));`);
  return `  route ${prefixText(route)} blackhole { ${added.join(' ')} };`;
}

// The connect delay is 5 s by default and 1 s is the least that BIRD takes.
const config = (routes: readonly BenchRoute[]): string => `
router id ${network.sender};
log stderr { warning, error, fatal, bug, auth };
protocol device { }
protocol static {
  ipv4;
${routes.map(routeLine).join('\n')}
}
protocol bgp receiver {
  local ${network.sender} as ${network.senderAsn};
  neighbor ${network.receiver} as ${network.receiverAsn};
  connect delay time 1;
  connect retry time 1;
  ipv4 { import none; export all; };
}
`;

export const bird: Sender = {
  name: 'bird',
  label: 'BIRD',
  method: 'static routes in the configuration; connect delay time 1 (default 5)',
  dialling: 'sender',
  async version() {
    const { stdout, stderr } = await run('bird', ['--version'], { anyStatus: true });
    return /BIRD version (\S+)/.exec(stdout + stderr)?.[1];
  },
  prepare(host, load) {
    const file = join(host.folder, 'bird.conf');
    writeFileSync(file, config(load.routes));
    const args = ['-f', '-c', file, '-s', join(host.folder, 'bird.ctl')];
    return async () => ({ processes: [host.spawn('bird', 'bird', args)] });
  },
};
