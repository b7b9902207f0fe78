/** kubeconfig files of a test cluster: who one is (certificate or token) and where the server is, with everything inlined. */

import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { field, items, text } from '../../interop/routers/json.ts';
import type { KeyPair } from './pki.ts';

/** How a client of the API proves who it is. */
export type Credentials =
  | { readonly kind: 'certificate'; readonly cert: string; readonly key: string }
  | { readonly kind: 'token'; readonly token: string };

export interface Access {
  readonly server: string;
  readonly ca: string;
  readonly credentials: Credentials;
}

export function certificateOf({ certFile, keyFile }: KeyPair): Credentials {
  return {
    kind: 'certificate',
    cert: readFileSync(certFile, 'utf8'),
    key: readFileSync(keyFile, 'utf8'),
  };
}

export function writeKubeconfig(file: string, { server, ca, credentials }: Access): string {
  const user =
    credentials.kind === 'token'
      ? { token: credentials.token }
      : {
          'client-certificate-data': base64(credentials.cert),
          'client-key-data': base64(credentials.key),
        };
  const document = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'test',
    clusters: [{ name: 'test', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'test', user }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
  };
  writeFileSync(file, stringify(document), { mode: 0o600 });
  return file;
}

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

const base64 = (value: string): string => Buffer.from(value, 'utf8').toString('base64');
const plain = (value: string): string => Buffer.from(value, 'base64').toString('utf8');
