/**
 * The keys of one cluster of ours: an authority, a certificate for all its API servers, client certificates by user and groups, and the
 * key that signs service-account tokens. Made by the openssl command, P-256 throughout: milliseconds each.
 */

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface KeyPair {
  readonly certFile: string;
  readonly keyFile: string;
}

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
const DAYS = ['-days', '3650'];
const SERVER_NAMES = 'IP:127.0.0.1,IP:0:0:0:0:0:0:0:1,DNS:localhost,DNS:kubernetes.default.svc';

export class Pki {
  readonly #folder: string;
  readonly caFile: string;
  /** of the API servers, and of proxies in front of them */
  readonly server: KeyPair;
  readonly serviceAccountKey: string;
  #issued = 0;

  /** `names`: more that the server's certificate is good for, like `IP:192.0.2.1` */
  constructor(folder: string, names: readonly string[] = []) {
    this.#folder = folder;
    this.caFile = join(folder, 'ca.pem');
    const out = ['-keyout', join(folder, 'ca.key'), '-out', this.caFile];
    openssl(['req', '-x509', ...NEW_KEY, '-subj', '/CN=herald-test-cluster', ...DAYS, ...out]);
    this.server = this.#issue(
      '/CN=kube-apiserver',
      `extendedKeyUsage=serverAuth,clientAuth\nsubjectAltName=${[SERVER_NAMES, ...names].join()}`,
    );
    this.serviceAccountKey = join(folder, 'service-account.key');
    // the older form of the file: Kubernetes takes a public key out of a private one of that form only
    openssl([
      'ecparam',
      '-name',
      'prime256v1',
      '-genkey',
      '-noout',
      '-out',
      this.serviceAccountKey,
    ]);
  }

  /** The certificate of a user; `system:masters` among the groups may do everything. */
  client(user: string, groups: readonly string[]): KeyPair {
    const subject = [...groups.map((group) => `/O=${group}`), `/CN=${user}`].join('');
    return this.#issue(subject, 'extendedKeyUsage=clientAuth');
  }

  /** The certificate of a server that is not the API server, such as a kubelet. */
  serverFor(name: string, altNames: readonly string[]): KeyPair {
    const extensions = `extendedKeyUsage=serverAuth\nsubjectAltName=${altNames.join()}`;
    return this.#issue(`/CN=${name}`, extensions);
  }

  get ca(): string {
    return readFileSync(this.caFile, 'utf8');
  }

  #issue(subject: string, extensions: string): KeyPair {
    this.#issued += 1;
    const file = (suffix: string) => join(this.#folder, `${this.#issued}.${suffix}`);
    const [keyFile, certFile] = [file('key'), file('pem')];
    writeFileSync(file('ext'), `basicConstraints=CA:FALSE\n${extensions}\n`);
    const request = ['-subj', subject, '-keyout', keyFile, '-out', file('csr')];
    openssl(['req', '-new', ...NEW_KEY, ...request]);
    const signer = ['-CA', this.caFile, '-CAkey', join(this.#folder, 'ca.key'), '-CAcreateserial'];
    const made = ['-in', file('csr'), '-out', certFile, '-extfile', file('ext')];
    openssl(['x509', '-req', ...signer, ...DAYS, ...made]);
    return { certFile, keyFile };
  }
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'pipe', 'pipe'] });
}
