/**
 * One schema, two judges: a real kube-apiserver takes the CRDs (with the cost that it reckons for their rules) and gives every document
 * of the corpus the verdict that files mode gives, and the same defaults, but for those whose first lines say `# files-only:` and why.
 */

import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { KINDS, VALIDATORS } from '../../src/sources/files/crd-schema.ts';
import { done, notYet, until } from '../support/poll.ts';
import { Running } from '../support/process.ts';
import { createAuthority, createSigningKey } from './support/certificates.ts';
import { kubeApiServerProgram } from './support/kube-api-server.ts';
import { skipWithoutStandalone } from './support/require-standalone.ts';

const CORPUS = new URL('../corpus/documents/', import.meta.url);
const CRDS = new URL('../../deploy/crds/', import.meta.url);
const TOKEN = 'only-on-loopback';
const PLURALS: ReadonlyMap<string, string> = new Map([
  ['BGPPeer', 'bgppeers'],
  ['IPPool', 'ippools'],
  ['IPClaim', 'ipclaims'],
  ['IPNode', 'ipnodes'],
]);

interface Answer {
  readonly status: number;
  readonly text: string;
}

class ApiServer {
  readonly #folder = mkdtempSync(join(tmpdir(), 'herald-documents-'));
  readonly #running: Running[] = [];
  #port = 0;
  #ca = '';

  async start(program: string): Promise<void> {
    const [etcdPort = 0, peerPort = 0, port = 0] = await freePorts(3);
    const etcdUrl = `http://127.0.0.1:${etcdPort}`;
    const peerUrl = `http://127.0.0.1:${peerPort}`;
    this.#port = port;
    const data = join(this.#folder, 'etcd');
    mkdirSync(data, { mode: 0o700 });
    const urls = ['--listen-client-urls', etcdUrl, '--advertise-client-urls', etcdUrl];
    const peer = ['--listen-peer-urls', peerUrl];
    this.#spawn(['etcd', '--data-dir', data, ...urls, ...peer, '--unsafe-no-fsync']);
    const authority = await createAuthority(this.#folder);
    const keys = await authority.issue('api', ['127.0.0.1']);
    const signing = await createSigningKey(this.#folder);
    this.#ca = readFileSync(authority.certificate, 'utf8');
    const tokens = join(this.#folder, 'tokens.csv');
    writeFileSync(tokens, `${TOKEN},admin,admin,system:masters\n`, { mode: 0o600 });
    const settings = {
      'etcd-servers': etcdUrl,
      'bind-address': '127.0.0.1',
      'secure-port': String(this.#port),
      'tls-cert-file': keys.certificate,
      'tls-private-key-file': keys.key,
      'service-account-issuer': 'https://kubernetes.default.svc',
      'service-account-key-file': signing,
      'service-account-signing-key-file': signing,
      'service-cluster-ip-range': '10.96.0.0/24',
      'authorization-mode': 'RBAC',
      'token-auth-file': tokens,
    };
    this.#spawn([program, ...Object.entries(settings).map(([key, value]) => `--${key}=${value}`)]);
    const options = { timeoutMs: 180_000, everyMs: 200 };
    await until('kube-apiserver is ready', async () => await this.#isReady(), options);
  }

  async #isReady() {
    const { status, text } = await this.ask('GET', '/readyz');
    return status === 200 ? done(true) : notYet(text);
  }

  #spawn(argv: readonly string[]): void {
    this.#running.push(new Running(argv, join(this.#folder, 'log')));
  }

  ask(method: string, path: string, body?: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/yaml' };
      const options = { host: '127.0.0.1', port: this.#port, ca: this.#ca, method, path, headers };
      const asked = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
      });
      asked.on('error', reject);
      asked.end(body);
    });
  }

  async stop(): Promise<void> {
    for (const each of this.#running.reverse()) await each.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** All are held until the last is found, so that no two are the same. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => {
    const at = server.address();
    return typeof at === 'object' && at !== null ? at.port : 0;
  });
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}

function documents(folder: 'good' | 'bad') {
  const base = new URL(`${folder}/`, CORPUS);
  return readdirSync(base)
    .sort()
    .map((name) => {
      const text = readFileSync(new URL(name, base), 'utf8');
      const kind = /^kind: (\w+)|"kind": "(\w+)"/m.exec(text);
      const plural = PLURALS.get(kind?.[1] ?? kind?.[2] ?? '');
      return { name, text, plural, isFilesOnly: text.includes('# files-only:') };
    });
}

/** The spec as files mode has it after its schema. */
function defaulted(text: string): unknown {
  const read = load(text);
  if (!isObject(read)) throw new Error('no document');
  const { status: _status, ...document } = read;
  const kind = KINDS.find((each) => hasKind(document, each));
  if (kind === undefined || !VALIDATORS[kind](document)) throw new Error('files mode refuses it');
  return specOf(document);
}

function hasKind(document: unknown, kind: string): boolean {
  return isObject(document) && document['kind'] === kind;
}

function specOf(document: unknown): unknown {
  return isObject(document) ? document['spec'] : undefined;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

describe('the verdict of kube-apiserver', () => {
  const api = new ApiServer();
  const verdict = async (plural: string, text: string): Promise<Answer> => {
    const path = `/apis/herald.dev/v1alpha1/${plural}?dryRun=All&fieldValidation=Ignore`;
    return await api.ask('POST', path, text);
  };

  before(async function () {
    this.timeout(30 * 60_000);
    skipWithoutStandalone(this);
    await api.start(await kubeApiServerProgram());
  });

  after(async () => await api.stop());

  for (const file of readdirSync(CRDS).filter((name) => name !== 'kustomization.yaml')) {
    it(`takes ${file}`, async () => {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const answer = await api.ask('POST', path, readFileSync(new URL(file, CRDS), 'utf8'));
      expect(answer.status, answer.text).to.equal(201);
      const plural = file.replace('.yaml', '');
      await until('it is served', async () => {
        const { status } = await api.ask('GET', `/apis/herald.dev/v1alpha1/${plural}`);
        return status === 200 ? done(true) : notYet(status);
      });
    });
  }

  for (const { name, text, plural } of documents('good')) {
    it(`takes good/${name}`, async () => {
      if (plural === undefined) throw new Error('a good document of no kind of ours');
      const answer = await verdict(plural, text);
      expect(answer.status, answer.text).to.equal(201);
      expect(specOf(JSON.parse(answer.text)), 'with defaults').to.deep.equal(defaulted(text));
    });
  }

  for (const { name, text, plural, isFilesOnly } of documents('bad')) {
    // what is no document of ours has no address that it could be sent to
    if (plural === undefined) continue;
    it(`${isFilesOnly ? 'takes, as it says itself,' : 'refuses'} bad/${name}`, async () => {
      const { status, text: said } = await verdict(plural, text);
      if (isFilesOnly) expect(status, said).to.equal(201);
      else expect(status, said).to.be.oneOf([400, 422]);
    });
  }
});
