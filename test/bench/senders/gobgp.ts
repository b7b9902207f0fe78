/**
 * GoBGP, its table filled over its gRPC API by gobgp-inject, which says why. The neighbour is added when the table is full, so
 * that "session up" finds the routes in place as with the others. gobgpd itself first dials 5 to 10 s after that; here
 * the receiver dials, every second, which is in GoBGP's favour.
 */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/process.ts';
import { goProgram } from '../cache.ts';
import { routesText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender } from '../sender.ts';

const config = `
[global.config]
  as = ${network.senderAsn}
  router-id = "${network.sender}"
`;

const injectBoundMs = 60_000;

export const gobgp: Sender = {
  name: 'gobgp',
  label: 'GoBGP',
  method:
    'gRPC AddPathStream, 1,000 paths per request, then AddPeer; the receiver dials every second',
  dialling: 'receiver',
  async version() {
    const { stdout } = await run('gobgpd', ['--version'], { anyStatus: true });
    return /gobgpd version (\S+)/.exec(stdout)?.[1];
  },
  async prepare(host, load) {
    const file = join(host.folder, 'gobgp.toml');
    const routes = join(host.folder, 'gobgp.routes');
    writeFileSync(file, config);
    writeFileSync(routes, routesText(load));
    const inject = await goProgram('gobgp-inject');
    const args = ['-f', file, '--pprof-disable', '--log-plain', '-l', 'error'];
    const injectArgs = [routes, network.sender, network.receiver, String(network.receiverAsn)];
    return async () => {
      const child = host.spawn('gobgpd', 'gobgpd', args);
      await host.exec(inject, injectArgs, { timeoutMs: injectBoundMs });
      return { processes: [child] };
    };
  },
};
