/**
 * How to reach the API and as whom: server URLs, and the credentials of each request. Credentials are read by
 * @kubernetes/client-node, which knows every way that kubeconfigs have for them (certificates, token files, exec plugins, OIDC);
 * requests are made by api-client.ts. client-node is loaded when an access is loaded, and by nothing else.
 *
 * Tokens of pods rotate and kubeconfigs are rewritten: credentials are read anew every minute, and at once when the server refuses
 * them.
 */

import type { Agent } from 'node:http';
import type { RequestOptions } from 'node:https';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node/dist/config.js';
import type { Clock } from 'bgp-ts';
import { type ClusterIdentity, followed } from '../../model/cluster-identity.ts';
import { accessIdentity } from './access-identity.ts';
import {
  type FoundAccess,
  findAccess,
  KubeAccessError,
  type KubeconfigSources,
} from './find-kubeconfig.ts';
import { filledText, type Loose, part, text } from './loose-fields.ts';

export interface KubeAccessOptions extends KubeconfigSources {
  /** of the kubeconfig; default: its current one */
  readonly context?: string;
  /** more API servers of the same cluster, tried in turn when one does not answer */
  readonly servers?: readonly string[];
  readonly clock: Clock;
}

export interface KubeAccess {
  /** at least one; the kubeconfig's own is the first */
  readonly servers: readonly URL[];
  /** for people: where this comes from */
  readonly origin: string;
  /** those of the last minute, or read anew; rejects when they cannot be had */
  credentials(): Promise<Credentials>;
  /** the server has refused them: the next ones are read anew */
  renew(): void;
  /** of the cluster that this leads to, by what is written here */
  readonly identity: ClusterIdentity;
}

export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  /** the same object as before while nothing in it has changed: connections may stay */
  readonly tls: TlsOptions;
  /** connections go through it, where the kubeconfig has a proxy-url */
  readonly proxy?: Agent;
}

export type TlsOptions = Pick<
  RequestOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

const FRESH_MS = 60_000;
/** an exec plugin that waits for somebody to type would hold up every call */
const LONGEST_READ_MS = 10_000;
const TLS_FIELDS = ['ca', 'cert', 'key', 'passphrase', 'servername', 'rejectUnauthorized'] as const;

/** Throws a KubeAccessError with what to do. */
export async function loadKubeAccess(options: KubeAccessOptions): Promise<KubeAccess> {
  const { KubeConfig } = await import('@kubernetes/client-node/dist/config.js');
  const build = () => configure(new KubeConfig(), findAccess(options), options);
  return new LoadedAccess(build, options);
}

type Configured = {
  readonly config: KubeConfig;
  readonly server: string;
  readonly origin: string;
  /** what it was made of, to see whether that has changed */
  readonly found: string;
  /** reads the certificates again */
  readonly identity: (servers: readonly URL[]) => ClusterIdentity;
};

class LoadedAccess implements KubeAccess {
  readonly servers: readonly URL[];
  readonly origin: string;
  readonly #build: () => Configured;
  readonly #clock: Clock;
  #configured: Configured;
  #identity: ClusterIdentity;
  #known: Promise<Credentials> | undefined;
  #knownSinceMs = Number.NEGATIVE_INFINITY;
  #tls: TlsOptions = {};
  #isRefused = false;

  constructor(build: () => Configured, { servers = [], clock }: KubeAccessOptions) {
    this.#build = build;
    this.#clock = clock;
    this.#configured = build();
    this.origin = this.#configured.origin;
    this.servers = serverUrls([this.#configured.server, ...servers]);
    this.#identity = this.#configured.identity(this.servers);
  }

  get identity(): ClusterIdentity {
    return this.#identity;
  }

  credentials(): Promise<Credentials> {
    const nowMs = this.#clock.now();
    if (this.#known !== undefined && nowMs - this.#knownSinceMs < FRESH_MS) return this.#known;
    this.#knownSinceMs = nowMs;
    const reading = this.#read();
    this.#known = reading;
    // a failure is no answer for a minute
    reading.catch(() => {
      if (this.#known === reading) this.#known = undefined;
    });
    return reading;
  }

  renew(): void {
    this.#known = undefined;
    this.#isRefused = true;
  }

  async #read(): Promise<Credentials> {
    this.#refresh();
    const options: RequestOptions = {};
    await inTime(this.#configured.config.applyToHTTPSOptions(options), this.#clock);
    const proxy = this.#configured.config.getCurrentCluster()?.proxyUrl ? options.agent : undefined;
    this.#tls = keepSame(this.#tls, options);
    return {
      headers: headersOf(options),
      tls: this.#tls,
      ...(typeof proxy === 'object' && { proxy }),
    };
  }

  #refresh(): void {
    try {
      const fresh = this.#build();
      // the one that is there remembers tokens of exec plugins, which must not be asked every minute
      if (this.#isRefused || fresh.found !== this.#configured.found) this.#configured = fresh;
      this.#isRefused = false;
      const { marks } = fresh.identity(this.servers);
      this.#identity = { ...this.#identity, marks: followed(this.#identity.marks, marks) };
    } catch (error) {
      // a file that is gone or half written: what was read before may still be good, and the server will tell
      if (!(error instanceof KubeAccessError)) throw error;
    }
  }
}

function configure(
  config: KubeConfig,
  found: FoundAccess,
  { context, readFile }: Pick<KubeAccessOptions, 'context' | 'readFile'>,
): Configured {
  const options = found.kind === 'pod' ? podConfig(found) : fileConfig(found, context);
  config.loadFromString(JSON.stringify(options));
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new KubeAccessError('the context names no cluster');
  // there is nothing to verify, and client-node wants to be told so
  if (cluster.server.startsWith('http:')) Object.assign(cluster, { skipTLSVerify: true });
  const origin =
    found.kind === 'pod'
      ? 'the service account of this pod'
      : `context ${String(options['current-context'])} of ${found.paths.join(', ')}`;
  const paths = found.kind === 'pod' ? [] : found.paths;
  const identity = (servers: readonly URL[]) =>
    accessIdentity({ options, paths, servers, readFile });
  return { config, server: cluster.server, origin, found: JSON.stringify(options), identity };
}

function podConfig({ server, folder }: FoundAccess & { readonly kind: 'pod' }): Loose {
  const name = 'pod';
  const cluster = { server, 'certificate-authority': join(folder, 'ca.crt') };
  return {
    clusters: [{ name, cluster }],
    users: [{ name, user: tokenFile(join(folder, 'token')) }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  };
}

function fileConfig(
  { config, paths }: FoundAccess & { readonly kind: 'kubeconfig' },
  wanted: string | undefined,
): Loose {
  const where = paths.join(', ');
  const name = wanted ?? config.currentContext;
  const names = config.contexts.map((each) => text(each, 'name')).join(', ');
  if (name === undefined) {
    throw new KubeAccessError(
      `kubeconfig ${where} has no current context; choose one of: ${names}`,
    );
  }
  const entry = config.contexts.find((each) => each['name'] === name);
  if (entry === undefined) {
    const known = names === '' ? 'it has none' : `it has: ${names}`;
    throw new KubeAccessError(`kubeconfig ${where} has no context ${name}; ${known}`);
  }
  const context = part(entry, 'context');
  const [cluster] = config.clusters.filter((each) => each['name'] === context['cluster']);
  if (cluster === undefined || filledText(part(cluster, 'cluster'), 'server') === undefined) {
    throw new KubeAccessError(`kubeconfig ${where}: the cluster of context ${name} has no server`);
  }
  const users = config.users.filter((each) => each['name'] === context['user']);
  const entries = users.map((each) => ({ ...each, user: userOf(part(each, 'user')) }));
  return { clusters: [cluster], users: entries, contexts: [entry], 'current-context': name };
}

/** client-node does not know `tokenFile` in a kubeconfig, but reads such files for pods: it is the same thing */
function userOf(user: Loose): Loose {
  const path = filledText(user, 'tokenFile');
  return path === undefined || user['token'] !== undefined ? user : { ...user, ...tokenFile(path) };
}

function tokenFile(path: string): Loose {
  return { 'auth-provider': { name: 'tokenFile', config: { tokenFile: path } } };
}

function serverUrls(texts: readonly string[]): readonly URL[] {
  const urls = texts.map((each) => {
    const url = URL.parse(each);
    if (url !== null && /^https?:$/.test(url.protocol)) return url;
    throw new KubeAccessError(`'${each}' is no URL of an API server; write https://192.0.2.1:6443`);
  });
  return urls.filter((url, at) => urls.findIndex((other) => other.href === url.href) === at);
}

function inTime(reading: Promise<void>, clock: Clock): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no credentials within ${LONGEST_READ_MS} ms`);
    const timer = clock.startTimer(LONGEST_READ_MS, () => reject(late));
    reading.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** a token in a file may have a line end behind it */
function headersOf({ headers, auth }: RequestOptions): Readonly<Record<string, string>> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers ?? {})) result[name] = String(value).trim();
  if (typeof auth === 'string') {
    result['Authorization'] = `Basic ${Buffer.from(auth).toString('base64')}`;
  }
  return result;
}

function keepSame(before: TlsOptions, options: RequestOptions): TlsOptions {
  const now: Record<string, unknown> = {};
  for (const name of TLS_FIELDS) if (options[name] !== undefined) now[name] = options[name];
  const isSame = TLS_FIELDS.every((name) => String(before[name]) === String(now[name]));
  return isSame ? before : now;
}
