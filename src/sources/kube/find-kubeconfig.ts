/**
 * Where the way to the API is written down: a kubeconfig that was named, those of $KUBECONFIG, the pod's service account, or the one
 * in the home folder. Several kubeconfigs are one, as kubectl has it: of two entries with the same name the first counts. Reads files
 * through its arguments and knows no credentials.
 */

import { dirname, isAbsolute, join } from 'node:path';
import { load } from 'js-yaml';
import { errorCode } from '../../error-code.ts';
import { filledText, isLoose, type Loose, parts } from './loose-fields.ts';

export type ReadText = (path: string) => string;

export interface KubeconfigSources {
  /** a path that somebody has named */
  readonly kubeconfig?: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** throws what the file system says */
  readonly readFile: ReadText;
  /** where a pod finds its token; another one in tests */
  readonly serviceAccountFolder?: string;
}

export type FoundAccess =
  | { readonly kind: 'kubeconfig'; readonly paths: readonly string[]; readonly config: Kubeconfig }
  | { readonly kind: 'pod'; readonly server: string; readonly folder: string };

/** as the YAML has it; paths in it are absolute */
export interface Kubeconfig {
  readonly clusters: readonly Loose[];
  readonly contexts: readonly Loose[];
  readonly users: readonly Loose[];
  readonly currentContext?: string;
}

/** What a user can put right: there is no way to the API, or it is written wrongly. */
export class KubeAccessError extends Error {
  readonly code = 'KUBE_ACCESS';

  constructor(sentence: string, cause?: unknown) {
    super(sentence, cause === undefined ? {} : { cause });
    this.name = 'KubeAccessError';
  }
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const HOW =
  'name one with --kubeconfig or $KUBECONFIG, put it at ~/.kube/config, or run in a pod with a service account';

export function findAccess(sources: KubeconfigSources): FoundAccess {
  const { kubeconfig, env } = sources;
  if (kubeconfig !== undefined) return readAll([kubeconfig], sources.readFile);
  const named = (env['KUBECONFIG'] ?? '').split(':').filter((path) => path !== '');
  if (named.length > 0) return readAll(present(named, sources.readFile), sources.readFile);
  const pod = podAccess(sources);
  if (pod !== undefined) return pod;
  const home = env['HOME'];
  const path = home === undefined ? undefined : join(home, '.kube', 'config');
  if (path === undefined || !isThere(path, sources.readFile)) {
    throw new KubeAccessError(`there is no kubeconfig: ${HOW}`);
  }
  return readAll([path], sources.readFile);
}

function podAccess({
  env,
  readFile,
  serviceAccountFolder,
}: KubeconfigSources): FoundAccess | undefined {
  const host = env['KUBERNETES_SERVICE_HOST'];
  const folder = serviceAccountFolder ?? SERVICE_ACCOUNT;
  if (host === undefined || host === '' || !isThere(join(folder, 'token'), readFile))
    return undefined;
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  return {
    kind: 'pod',
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    folder,
  };
}

/** of several, those that are not there do not count, unless that is all of them */
function present(paths: readonly string[], readFile: ReadText): readonly string[] {
  const found = paths.filter((path) => isThere(path, readFile));
  if (found.length > 0) return found;
  const what =
    paths.length === 1 ? `there is no ${paths[0]}` : `none of ${paths.join(', ')} is there`;
  throw new KubeAccessError(`$KUBECONFIG: ${what}; correct it, or unset it`);
}

function isThere(path: string, readFile: ReadText): boolean {
  try {
    readFile(path);
    return true;
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    return code !== 'ENOENT' && code !== 'ENOTDIR';
  }
}

function readAll(paths: readonly string[], readFile: ReadText): FoundAccess {
  const read = paths.map((path) => readOne(path, readFile));
  const currentContext = read.find((each) => each.currentContext !== undefined)?.currentContext;
  const config: Kubeconfig = {
    clusters: firstByName(read.flatMap(({ clusters }) => clusters)),
    contexts: firstByName(read.flatMap(({ contexts }) => contexts)),
    users: firstByName(read.flatMap(({ users }) => users)),
    ...(currentContext !== undefined && { currentContext }),
  };
  return { kind: 'kubeconfig', paths, config };
}

function readOne(path: string, readFile: ReadText): Kubeconfig {
  const document = parse(path, textOf(path, readFile));
  const folder = dirname(path);
  const currentContext = filledText(document, 'current-context');
  return {
    clusters: parts(document, 'clusters').map((entry) => anchored(entry, 'cluster', folder)),
    contexts: parts(document, 'contexts'),
    users: parts(document, 'users').map((entry) => anchored(entry, 'user', folder)),
    ...(currentContext !== undefined && { currentContext }),
  };
}

function textOf(path: string, readFile: ReadText): string {
  try {
    return readFile(path);
  } catch (error) {
    const code = errorCode(error);
    if (code === undefined) throw error;
    const why = code === 'ENOENT' ? 'there is no such file' : code;
    throw new KubeAccessError(`kubeconfig ${path} cannot be read: ${why}`, error);
  }
}

function parse(path: string, text: string): Loose {
  let document: unknown;
  try {
    document = load(text);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    // its message quotes the text, which holds keys and tokens
    throw new KubeAccessError(`kubeconfig ${path} is no YAML`);
  }
  if (isLoose(document)) return document;
  throw new KubeAccessError(`kubeconfig ${path} holds no clusters, contexts and users`);
}

const PATHS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile'];

/** paths in a kubeconfig are relative to it */
function anchored(entry: Loose, key: string, folder: string): Loose {
  const inner = entry[key];
  if (!isLoose(inner)) return entry;
  const changed = { ...inner };
  for (const name of PATHS) {
    const path = filledText(inner, name);
    if (path !== undefined && !isAbsolute(path)) changed[name] = join(folder, path);
  }
  return { ...entry, [key]: changed };
}

function firstByName(entries: readonly Loose[]): readonly Loose[] {
  const byName = new Map<unknown, Loose>();
  for (const entry of entries) if (!byName.has(entry['name'])) byName.set(entry['name'], entry);
  return [...byName.values()];
}
