/** Where the failing proxy of `make cluster` has its files, and how it is started. */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Cluster } from '../../test/cluster/support/cluster.ts';
import { Daemon } from '../../test/cluster/support/daemon.ts';
import { freePorts } from '../../test/cluster/support/servers.ts';

export const PROXY_SETTINGS = 'proxy.json';
export const PROXY_KUBECONFIG = 'proxy.kubeconfig';
export const PROXY_SOCKET = 'proxy.sock';

const PROGRAM = join(import.meta.dirname, 'proxy-main.ts');

/** In front of the first server; it goes on when this process ends. */
export async function startLastingProxy(cluster: Cluster, folder: string): Promise<Daemon> {
  const [port = 0] = await freePorts(1);
  const { pki, kubeconfig, url } = cluster;
  const settings = { ...pki.server, caFile: pki.caFile, kubeconfig, upstream: url, port };
  writeFileSync(join(folder, PROXY_SETTINGS), JSON.stringify(settings), { mode: 0o600 });
  const proxy = new Daemon({
    name: 'proxy',
    command: process.execPath,
    args: [...process.execArgv, PROGRAM, folder],
    folder,
    outlives: true,
    isReady: async () => existsSync(join(folder, PROXY_SOCKET)),
  });
  await proxy.start();
  return proxy;
}
