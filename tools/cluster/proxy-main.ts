/**
 * The failing proxy of `make cluster CLUSTER=--proxy`, in a process of its own that goes on when make has ended: `proxy-main.ts FOLDER`. What it needs to know is in
 * FOLDER/proxy.json.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FailingProxy } from '../../test/cluster/support/proxy.ts';
import { field, optionalNumber, parseJson, text } from '../../test/interop/routers/json.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { serveControl } from './proxy-control.ts';
import { PROXY_KUBECONFIG, PROXY_SETTINGS, PROXY_SOCKET } from './proxy-files.ts';

const [folder = ''] = process.argv.slice(2);
const settings = parseJson(readFileSync(join(folder, PROXY_SETTINGS), 'utf8'));
const at = (name: string): string => text(field(settings, name));
const ca = readFileSync(at('caFile'), 'utf8');

const proxy = new FailingProxy(
  {
    pki: { ca, server: { certFile: at('certFile'), keyFile: at('keyFile') } },
    kubeconfig: at('kubeconfig'),
    writeKubeconfig: (_label, credentials, server = '') =>
      writeKubeconfig(join(folder, PROXY_KUBECONFIG), { server, ca, credentials }),
  },
  new URL(at('upstream')),
  optionalNumber(field(settings, 'port')) ?? 0,
);
await proxy.accept();
proxy.kubeconfig();
// last, since it is the sign that everything is there
await serveControl(proxy, join(folder, PROXY_SOCKET));
