/** ExaBGP with static routes in its configuration; no helper process takes part. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/process.ts';
import { type BenchRoute, communityText, prefixText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender } from '../sender.ts';

function routeLine(route: BenchRoute): string {
  const list = route.communities.map(communityText).join(' ');
  const communities = list === '' ? '' : ` community [ ${list} ]`;
  return `    route ${prefixText(route)} next-hop self${communities};`;
}

const config = (routes: readonly BenchRoute[]): string => `
neighbor ${network.receiver} {
  router-id ${network.sender};
  local-address ${network.sender};
  local-as ${network.senderAsn};
  peer-as ${network.receiverAsn};
  group-updates true;
  family { ipv4 unicast; }
  static {
${routes.map(routeLine).join('\n')}
  }
}
`;

const env = {
  exabgp_daemon_user: 'root',
  exabgp_daemon_daemonize: 'false',
  exabgp_log_all: 'false',
  exabgp_log_level: 'ERR',
  exabgp_api_cli: 'false',
} as const;

export const exabgp: Sender = {
  name: 'exabgp',
  label: 'ExaBGP',
  method: 'static routes in the configuration, group-updates, logging off',
  dialling: 'sender',
  async version() {
    const { stdout } = await run('exabgp', ['--version'], { anyStatus: true });
    return /ExaBGP : (\S+)/.exec(stdout)?.[1];
  },
  prepare(host, load) {
    const file = join(host.folder, 'exabgp.conf');
    writeFileSync(file, config(load.routes));
    return async () => ({ processes: [host.spawn('exabgp', 'exabgp', [file], { env })] });
  },
};
