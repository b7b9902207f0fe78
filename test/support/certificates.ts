/**
 * Certificates for tests, made by the openssl command: Node can read certificates but not sign them. Each authority lives in a
 * directory of its own; keys are P-256, which takes milliseconds.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface ServerCertificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  /** like `IP:127.0.0.1,DNS:localhost` */
  readonly altNames: string;
  /** days from now in which it begins and ends; an end in the past makes an expired one */
  readonly fromDay?: number;
  readonly toDay?: number;
}

const DAY_MS = 86_400_000;

export class TestAuthority {
  readonly directory: string;
  readonly caFile: string;
  #issued = 0;

  constructor(commonName: string) {
    this.directory = mkdtempSync(join(tmpdir(), 'herald-ca-'));
    this.caFile = join(this.directory, 'ca.pem');
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    const subject = ['-subj', `/CN=${commonName}`, '-days', '3650'];
    const out = ['-keyout', join(this.directory, 'ca.key'), '-out', this.caFile];
    openssl(['req', '-x509', ...newKey, ...subject, ...out]);
    writeFileSync(join(this.directory, 'index.txt'), '');
    writeFileSync(join(this.directory, 'ca.cnf'), caConfig(this.directory));
  }

  issue({ altNames, fromDay = -1, toDay = 365 }: CertificateOptions): ServerCertificate {
    this.#issued += 1;
    const file = (suffix: string) => join(this.directory, `server${this.#issued}.${suffix}`);
    const [keyFile, requestFile, certFile, extFile] = ['key', 'csr', 'pem', 'ext'].map(file);
    if (!keyFile || !requestFile || !certFile || !extFile) throw new Error('no file names');
    writeFileSync(extFile, `subjectAltName=${altNames}\nbasicConstraints=CA:FALSE\n`);
    const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];
    openssl([
      'req',
      '-new',
      ...newKey,
      '-subj',
      '/CN=server',
      '-keyout',
      keyFile,
      '-out',
      requestFile,
    ]);
    // only `openssl ca` of OpenSSL 3.0 sets both dates
    const how = ['-config', join(this.directory, 'ca.cnf'), '-batch', '-notext', '-rand_serial'];
    const dates = ['-startdate', stamp(fromDay), '-enddate', stamp(toDay)];
    openssl(['ca', ...how, ...dates, '-in', requestFile, '-out', certFile, '-extfile', extFile]);
    const [cert, key] = [readFileSync(certFile, 'utf8'), readFileSync(keyFile, 'utf8')];
    return { certFile, keyFile, cert, key };
  }
}

function caConfig(directory: string): string {
  return `[ca]
default_ca = here
[here]
database = ${directory}/index.txt
serial = ${directory}/serial
new_certs_dir = ${directory}
certificate = ${directory}/ca.pem
private_key = ${directory}/ca.key
default_md = sha256
policy = any
unique_subject = no
[any]
commonName = supplied
`;
}

/** YYYYMMDDHHMMSSZ */
function stamp(days: number): string {
  const date = new Date(Date.now() + days * DAY_MS);
  return `${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}

export function openssl(args: readonly string[]): string {
  return execFileSync('openssl', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}
