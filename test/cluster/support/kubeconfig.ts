/** Reads the kubeconfig files of a test cluster. */

import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Access } from '../../../tools/cluster/kubeconfig.ts';
import { field, items, text } from '../../interop/routers/json.ts';

/** Reads one that `writeKubeconfig` made; others may be shaped in ways that this does not know. */
export function readKubeconfig(file: string): Access {
  const document: unknown = parse(readFileSync(file, 'utf8'));
  const [cluster] = items(field(document, 'clusters'));
  const [user] = items(field(document, 'users'));
  const token = text(field(user, 'user', 'token'));
  const data = (name: string) => plain(text(field(user, 'user', name)));
  return {
    server: text(field(cluster, 'cluster', 'server')),
    ca: plain(text(field(cluster, 'cluster', 'certificate-authority-data'))),
    credentials:
      token === ''
        ? {
            kind: 'certificate',
            cert: data('client-certificate-data'),
            key: data('client-key-data'),
          }
        : { kind: 'token', token },
  };
}

const plain = (value: string): string => Buffer.from(value, 'base64').toString('utf8');
