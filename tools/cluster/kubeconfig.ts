/** kubeconfig files of a cluster of ours: who one is (certificate or token) and where the server is, with everything inlined. */

import { readFileSync, writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
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

const base64 = (value: string): string => Buffer.from(value, 'utf8').toString('base64');
