/**
 * A second opinion on the API server: the `KubeApi` of the program, written again over node:https and sharing nothing but its types, so that
 * a test does not judge the program's client by that very client. No retries and no caches: what the server says is what a test gets.
 */

import type { IncomingMessage } from 'node:http';
import { Agent, type RequestOptions, request } from 'node:https';
import {
  ApiError,
  ApiUnreachable,
  type CallOptions,
  type DeleteOptions,
  type KubeApi,
  type KubeList,
  type KubeObject,
  type ListOptions,
  type Patch,
  type PatchKind,
  type Resource,
  type WatchEnd,
  type WatchOptions,
  type WriteOptions,
} from '../../../src/sources/kube/api.ts';
import type { Access } from '../../../tools/cluster/kubeconfig.ts';
import { field, items, optionalText, text } from '../../interop/routers/json.ts';

/** The wait for a connection counts too, where hundreds are asked for at once. */
const TIMEOUT_MS = 180_000;
/** Shorter than the server's patience with idle connections: a request on one that it ends in that very moment would fail. */
export const IDLE_MS = 30_000;
const PATCH_TYPES: Readonly<Record<PatchKind, string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  readonly contentType?: string;
  readonly options?: CallOptions;
}

export class TestApi implements KubeApi {
  readonly #server: URL;
  readonly #agent: Agent;
  readonly #headers: Readonly<Record<string, string>>;

  /** `maxSockets`: each watch has one to itself */
  constructor(access: Access, userAgent = 'herald-test', maxSockets = 64) {
    const { credentials, ca, server } = access;
    const keys =
      credentials.kind === 'certificate' ? { cert: credentials.cert, key: credentials.key } : {};
    this.#server = new URL(server);
    this.#agent = new Agent({ keepAlive: true, timeout: IDLE_MS, maxSockets, ca, ...keys });
    this.#headers = {
      'user-agent': userAgent,
      ...(credentials.kind === 'token' ? { authorization: `Bearer ${credentials.token}` } : {}),
    };
  }

  async get(resource: Resource, name: string, options?: CallOptions): Promise<KubeObject> {
    return asObject(
      await this.call({ method: 'GET', path: pathOf(resource, name), ...opt(options) }),
    );
  }

  async list(resource: Resource, options: ListOptions = {}): Promise<KubeList> {
    const query = {
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      resourceVersion: options.resourceVersion,
      limit: options.limit === undefined ? undefined : String(options.limit),
      continue: options.continueToken,
    };
    const answer = await this.call({ method: 'GET', path: pathOf(resource), query, options });
    const continueToken = optionalText(field(answer, 'metadata', 'continue'));
    return {
      resourceVersion: text(field(answer, 'metadata', 'resourceVersion')),
      items: items(field(answer, 'items')).map(asObject),
      ...(continueToken === undefined ? {} : { continueToken }),
    };
  }

  async create(resource: Resource, body: object, options?: CallOptions): Promise<KubeObject> {
    return asObject(
      await this.call({ method: 'POST', path: pathOf(resource), body, ...opt(options) }),
    );
  }

  async update(
    resource: Resource,
    name: string,
    body: object,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const path = pathOf(resource, name, options.subresource);
    const query = { fieldManager: options.fieldManager };
    return asObject(await this.call({ method: 'PUT', path, query, body, options }));
  }

  async patch(
    resource: Resource,
    name: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const query = {
      fieldManager: options.fieldManager ?? (patch.kind === 'apply' ? 'herald-test' : undefined),
      force: options.force === true ? 'true' : undefined,
    };
    const path = pathOf(resource, name, options.subresource);
    const contentType = PATCH_TYPES[patch.kind];
    const body = patch.body;
    return asObject(await this.call({ method: 'PATCH', path, query, body, contentType, options }));
  }

  async delete(resource: Resource, name: string, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion } = options;
    const preconditions = {
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    };
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions };
    await this.call({ method: 'DELETE', path: pathOf(resource, name), body, options });
  }

  async watch(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    const query = {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: options.resourceVersion,
      labelSelector: options.labelSelector,
      fieldSelector: options.fieldSelector,
      timeoutSeconds: String(options.timeoutSeconds),
    };
    try {
      const path = pathOf(resource);
      const response = await this.#send({ method: 'GET', path, query }, options.signal);
      if (response.statusCode === 410) return { kind: 'gone' };
      if (response.statusCode !== 200)
        throw errorOf(response, await bodyOf(response), `watch ${path}`);
      options.onOpen?.();
      return await readEvents(response, options);
    } catch (error) {
      if (options.signal.aborted) return { kind: 'closed' };
      return { kind: 'failed', error: error instanceof Error ? error : new Error(String(error)) };
    }
  }

  /** Any request, for what the others do not cover; an answer of 4xx or 5xx throws ApiError, no answer ApiUnreachable. */
  async call(call: Call): Promise<unknown> {
    const { signal, timeoutMs = TIMEOUT_MS } = call.options ?? {};
    const bound = AbortSignal.timeout(timeoutMs);
    const both = signal === undefined ? bound : AbortSignal.any([signal, bound]);
    let response: IncomingMessage;
    let body: string;
    try {
      response = await this.#send(call, both);
      body = await bodyOf(response);
    } catch (cause) {
      throw new ApiUnreachable(`${call.method} ${call.path}: ${String(cause)}`, cause);
    }
    if ((response.statusCode ?? 0) >= 400)
      throw errorOf(response, body, `${call.method} ${call.path}`);
    return isJson(response) ? JSON.parse(body) : body;
  }

  close(): void {
    this.#agent.destroy();
  }

  #send(call: Call, signal: AbortSignal): Promise<IncomingMessage> {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const options: RequestOptions = {
      host: this.#server.hostname,
      port: this.#server.port,
      method: call.method,
      path: `${call.path}${queryOf(call.query ?? {})}`,
      agent: this.#agent,
      signal,
      headers: {
        ...this.#headers,
        accept: 'application/json',
        ...(body === undefined
          ? {}
          : {
              'content-type': call.contentType ?? 'application/json',
              'content-length': Buffer.byteLength(body),
            }),
      },
    };
    return new Promise((resolve, reject) => {
      request(options, resolve).on('error', reject).end(body);
    });
  }
}

/** `/apis/herald.dev/v1alpha1/ipclaims/192.0.2.1/status` */
export function pathOf(resource: Resource, name?: string, subresource?: string): string {
  const { group, version, plural, namespace } = resource;
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === undefined ? '' : `/namespaces/${namespace}`;
  const object = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return `${root}${scope}/${plural}${object}${subresource === undefined ? '' : `/${subresource}`}`;
}

const opt = (options: CallOptions | undefined) => (options === undefined ? {} : { options });

function queryOf(query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const isJson = (response: IncomingMessage): boolean =>
  /json/.test(response.headers['content-type'] ?? '');

function errorOf(response: IncomingMessage, body: string, what: string): ApiError {
  const status: unknown = isJson(response) ? JSON.parse(body) : {};
  const after = Number(response.headers['retry-after'] ?? Number.NaN);
  return new ApiError(
    response.statusCode ?? 0,
    text(field(status, 'reason')),
    text(field(status, 'message')) || `${what}: ${body}`,
    ...(Number.isNaN(after) ? [] : [after * 1_000]),
  );
}

async function readEvents(response: IncomingMessage, options: WatchOptions): Promise<WatchEnd> {
  let pending = '';
  response.setEncoding('utf8');
  for await (const chunk of response) {
    const lines = `${pending}${String(chunk)}`.split('\n');
    pending = lines.pop() ?? '';
    for (const line of lines.filter((each) => each !== '')) {
      const end = deliver(JSON.parse(line), options);
      if (end !== undefined) return end;
    }
  }
  return { kind: 'closed' };
}

const KINDS = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const;

function deliver(event: unknown, { onEvent }: WatchOptions): WatchEnd | undefined {
  const type = text(field(event, 'type'));
  const object = field(event, 'object');
  if (type === 'BOOKMARK') {
    onEvent({
      kind: 'bookmark',
      resourceVersion: text(field(object, 'metadata', 'resourceVersion')),
    });
    return undefined;
  }
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    onEvent({ kind: KINDS[type], object: asObject(object) });
    return undefined;
  }
  if (field(object, 'code') === 410) return { kind: 'gone' };
  return { kind: 'failed', error: new Error(`watch: ${JSON.stringify(event)}`) };
}

function isObject(value: unknown): value is KubeObject {
  return typeof value === 'object' && value !== null && 'metadata' in value;
}

export function asObject(value: unknown): KubeObject {
  if (!isObject(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}
