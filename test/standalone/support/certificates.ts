/** A certificate authority for one test, by the openssl of the machine: the agent under test must check real chains. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../support/process.ts';

export type KeyPair = { readonly certificate: string; readonly key: string };

export type Authority = {
  readonly certificate: string;
  /** A server certificate for these addresses; `name` is its common name and names the files. */
  readonly issue: (name: string, addresses: readonly string[]) => Promise<KeyPair>;
};

const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export async function createAuthority(folder: string, label = 'ca'): Promise<Authority> {
  const certificate = join(folder, `${label}.crt`);
  const key = join(folder, `${label}.key`);
  const subject = ['-subj', `/CN=herald-test-${label}`, '-days', '2'];
  await run('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', certificate, ...subject]);
  return {
    certificate,
    issue: async (name, addresses) => {
      const path = (extension: string) => join(folder, `${label}-${name}.${extension}`);
      const pair = { certificate: path('crt'), key: path('key') };
      const names = ['DNS:localhost', ...addresses.map((address) => `IP:${address}`)].join(',');
      writeFileSync(path('ext'), `subjectAltName=${names}\nextendedKeyUsage=serverAuth\n`);
      const request = ['-keyout', pair.key, '-out', path('csr'), '-subj', `/CN=${name}`];
      await run('openssl', ['req', ...curve, ...request]);
      const sign = ['-CA', certificate, '-CAkey', key, '-CAcreateserial', '-days', '2'];
      const files = ['-in', path('csr'), '-out', pair.certificate, '-extfile', path('ext')];
      await run('openssl', ['x509', '-req', ...sign, ...files]);
      return pair;
    },
  };
}

/** A key pair for signing service account tokens. */
export async function createSigningKey(folder: string): Promise<string> {
  const path = join(folder, 'service-accounts.key');
  await run('openssl', ['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', path]);
  return path;
}
