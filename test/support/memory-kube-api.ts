/**
 * An API server in memory, for unit tests: versions that grow with every write, conflicts and preconditions, status subresources,
 * finalizers, selectors, watches from a version on (also filtered ones, where leaving the filter is a DELETED), compaction, servers that
 * lag. It checks no schema and no rights. The same behaviour is proven against the real server in test/cluster.
 *
 * Everything it hands out is frozen, so that code that changes what it was given fails its test.
 */

import {
  ApiError,
  type CallOptions,
  type DeleteOptions,
  type KubeApi,
  type KubeList,
  type KubeObject,
  type ListOptions,
  type Patch,
  type Resource,
  type WatchEnd,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from '../../src/sources/kube/api.ts';
import { deepFreeze } from '../../src/sources/kube/deep-freeze.ts';
import { applyPatch, isRecord, type Json } from './memory-kube-patch.ts';
import { compileSelection } from './memory-kube-selector.ts';

export type Verb = 'get' | 'list' | 'create' | 'update' | 'patch' | 'delete' | 'watch';

export interface MemoryCall {
  readonly verb: Verb;
  readonly resource: Resource;
  readonly name?: string;
  readonly body?: object;
  readonly subresource?: 'status';
  readonly options: CallOptions | WatchOptions;
}

/** What a fault hook answers: nothing, or an error before the call has an effect, or after it (the answer is lost). */
export type MemoryFault =
  | undefined
  | { readonly kind: 'before' | 'after'; readonly error: Error }
  /** the call waits until then, and goes on */
  | { readonly kind: 'hold'; readonly until: Promise<void> };

export interface MemoryKubeApiOptions {
  /** for creationTimestamp; default: a fixed time that grows by a second with each object */
  readonly wallTimeMs?: () => number;
  readonly fault?: (call: MemoryCall) => MemoryFault;
}

type Change = {
  readonly version: number;
  readonly resource: string;
  readonly before: KubeObject | undefined;
  readonly now: KubeObject | undefined;
};

type Watcher = {
  readonly resource: Resource;
  readonly matches: (object: KubeObject) => boolean;
  readonly waiting: WatchEvent[];
  readonly onEvent: (event: WatchEvent) => void;
  readonly end: (end: WatchEnd) => void;
};

/** written through /status, and left alone by every other write */
const WITH_STATUS = new Set([
  'services',
  'nodes',
  'bgppeers',
  'ippools',
  'ipclaims',
  'ipnodes',
  'daemonsets',
  'pods',
]);
const firstWallMs = Date.UTC(2026, 0, 1);

export class MemoryKubeApi implements KubeApi {
  /** every call, in order, also those that failed */
  readonly calls: MemoryCall[] = [];
  fault: ((call: MemoryCall) => MemoryFault) | undefined;
  readonly #wallTimeMs: () => number;
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #history: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  readonly #missing = new Set<string>();
  /** what is left of lists that came in pages, by their continue token */
  readonly #pages = new Map<string, KubeList>();
  #version = 1000;
  #compactedTo = 0;
  #made = 0;
  #isHeld = false;
  /** what lists with resourceVersion '0' see */
  #lagging:
    | {
        readonly version: number;
        readonly objects: ReadonlyMap<string, ReadonlyMap<string, KubeObject>>;
      }
    | undefined;

  constructor(options: MemoryKubeApiOptions = {}) {
    this.fault = options.fault;
    this.#wallTimeMs = options.wallTimeMs ?? (() => firstWallMs + this.#made * 1000);
  }

  // what tests do besides calling the API

  get version(): number {
    return this.#version;
  }

  get openWatches(): number {
    return this.#watchers.size;
  }

  /** Creates or replaces as a whole (status too), unseen by `calls` and `fault`. */
  put(resource: Resource, object: object): KubeObject {
    const draft = draftOf(object, resource);
    const before = this.#table(resource).get(keyOf(draft.namespace, draft.name));
    return this.#store(resource, before, draft.body);
  }

  /** Removes at once, whatever its finalizers. */
  remove(resource: Resource, key: string): void {
    const before = this.#table(resource).get(key);
    if (before === undefined) throw new Error(`there is no ${resource.plural} ${key}`);
    this.#erase(resource, before);
  }

  object(resource: Resource, key: string): KubeObject | undefined {
    return this.#table(resource).get(key);
  }

  all(resource: Resource): readonly KubeObject[] {
    return [...this.#table(resource).values()];
  }

  /** Ends open watches (of one resource), as a network or a server does. */
  endWatches(end: WatchEnd, resource?: Resource): void {
    for (const watcher of [...this.#watchers]) {
      if (resource === undefined || tableOf(watcher.resource) === tableOf(resource))
        watcher.end(end);
    }
  }

  /** Watches from versions before now are gone. */
  compact(): void {
    this.#compactedTo = this.#version;
    this.#history.length = 0;
    this.#pages.clear();
  }

  bookmark(): void {
    for (const watcher of this.#watchers) {
      this.#send(watcher, { kind: 'bookmark', resourceVersion: String(this.#version) });
    }
  }

  /** An event as it stands to every watch of the resource, whatever is true: for a server that misbehaves. */
  inject(resource: Resource, event: WatchEvent): void {
    for (const watcher of this.#watchers) {
      if (tableOf(watcher.resource) === tableOf(resource)) this.#send(watcher, event);
    }
  }

  /** Nothing comes through open watches until `release`: caches are stale. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    for (const watcher of this.#watchers) this.#deliverSoon(watcher);
  }

  /** From now on lists with resourceVersion '0' see the state of this moment, as of a server that lags. */
  lag(): void {
    const objects = new Map([...this.#objects].map(([name, table]) => [name, new Map(table)]));
    this.#lagging = { version: this.#version, objects };
  }

  catchUp(): void {
    this.#lagging = undefined;
  }

  /** The resource does not exist (404), as before its CRD is installed. */
  uninstall(resource: Resource): void {
    this.#missing.add(tableOf(resource));
  }

  install(resource: Resource): void {
    this.#missing.delete(tableOf(resource));
  }

  // KubeApi

  get(resource: Resource, name: string, options: CallOptions = {}): Promise<KubeObject> {
    return this.#call({ verb: 'get', resource, name, options }, () => this.#needed(resource, name));
  }

  list(resource: Resource, options: ListOptions = {}): Promise<KubeList> {
    return this.#call({ verb: 'list', resource, options }, () => {
      const matches = compileSelection(options);
      const view = options.resourceVersion === '0' ? this.#lagging : undefined;
      const table =
        view === undefined ? this.#table(resource) : view.objects.get(tableOf(resource));
      const all = [...(table?.values() ?? [])].filter(
        (object) => inNamespace(resource, object) && matches(object),
      );
      const resourceVersion = String(view?.version ?? this.#version);
      // from its memory a server gives all of it, whatever the limit
      const { limit = 0, continueToken } = options;
      if (continueToken !== undefined) return this.#nextPage(continueToken, limit);
      if (limit === 0 || options.resourceVersion === '0') return { resourceVersion, items: all };
      return this.#page({ resourceVersion, items: all }, limit);
    });
  }

  #page({ resourceVersion, items }: KubeList, limit: number): KubeList {
    if (items.length <= limit) return { resourceVersion, items };
    const continueToken = `${resourceVersion}:${this.#pages.size}:${this.#made}`;
    this.#pages.set(continueToken, { resourceVersion, items: items.slice(limit) });
    return { resourceVersion, items: items.slice(0, limit), continueToken };
  }

  #nextPage(token: string, limit: number): KubeList {
    const rest = this.#pages.get(token);
    if (rest === undefined) throw new ApiError(410, 'Expired', 'the continue token is too old');
    return this.#page(rest, limit);
  }

  create(resource: Resource, body: object, options: CallOptions = {}): Promise<KubeObject> {
    return this.#call({ verb: 'create', resource, body, options }, () => {
      const draft = draftOf(body, resource, () => String(this.#made));
      if (this.#table(resource).has(keyOf(draft.namespace, draft.name))) {
        throw new ApiError(
          409,
          'AlreadyExists',
          `${resource.plural} "${draft.name}" already exists`,
        );
      }
      const named = { ...draft.body, metadata: { ...draft.metadata, name: draft.name } };
      const { status: _, ...plain } = { status: undefined, ...named };
      return this.#store(resource, undefined, WITH_STATUS.has(resource.plural) ? plain : named);
    });
  }

  update(
    resource: Resource,
    name: string,
    body: object,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    return this.#call(
      { verb: 'update', resource, name, body, ...subresourceOf(options), options },
      () =>
        this.#write(resource, this.#needed(resource, name), {
          body: draftOf(body, resource).body,
          options,
        }),
    );
  }

  patch(
    resource: Resource,
    name: string,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<KubeObject> {
    const call = {
      verb: 'patch',
      resource,
      name,
      body: patch.body,
      ...subresourceOf(options),
      options,
    } as const;
    return this.#call(call, () => {
      const before = this.object(resource, keyOf(resource.namespace, name));
      if (before === undefined && patch.kind === 'apply' && options.subresource === undefined) {
        return this.#store(resource, undefined, draftOf(patch.body, resource).body);
      }
      const target = before ?? this.#needed(resource, name);
      return this.#write(resource, target, { body: applyPatch(target, patch), options });
    });
  }

  delete(resource: Resource, name: string, options: DeleteOptions = {}): Promise<void> {
    return this.#call({ verb: 'delete', resource, name, options }, () => {
      const before = this.#needed(resource, name);
      const { uid, resourceVersion, finalizers, deletionTimestamp } = before.metadata;
      if (options.uid !== undefined && options.uid !== uid) throw conflict(resource, name);
      if (options.resourceVersion !== undefined && options.resourceVersion !== resourceVersion) {
        throw conflict(resource, name);
      }
      if (!Array.isArray(finalizers) || finalizers.length === 0) this.#erase(resource, before);
      else if (deletionTimestamp === undefined) {
        const stamp = new Date(this.#wallTimeMs()).toISOString();
        this.#store(resource, before, {
          ...before,
          metadata: { ...before.metadata, deletionTimestamp: stamp },
        });
      }
    });
  }

  async watch(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    try {
      return await this.#call({ verb: 'watch', resource, options }, () => ({
        end: this.#open(resource, options),
      })).then(({ end }) => end);
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      return { kind: 'failed', error };
    }
  }

  // how

  #open(resource: Resource, options: WatchOptions): Promise<WatchEnd> {
    const from = Number(options.resourceVersion);
    if (from < this.#compactedTo) return Promise.resolve({ kind: 'gone' });
    if (options.signal.aborted) return Promise.resolve({ kind: 'closed' });
    return new Promise((resolve) => {
      const close = () => end({ kind: 'closed' });
      const end = (why: WatchEnd) => {
        this.#watchers.delete(watcher);
        options.signal.removeEventListener('abort', close);
        resolve(why);
      };
      const matches = compileSelection(options);
      const watcher: Watcher = { resource, matches, waiting: [], onEvent: options.onEvent, end };
      this.#watchers.add(watcher);
      options.signal.addEventListener('abort', close);
      options.onOpen?.();
      for (const change of this.#history) if (change.version > from) this.#offer(watcher, change);
    });
  }

  async #call<T>(call: MemoryCall, effect: () => T): Promise<T> {
    this.calls.push(call);
    const fault = this.fault?.(call);
    await (fault?.kind === 'hold' ? fault.until : undefined);
    if (fault?.kind === 'before') throw fault.error;
    if (this.#missing.has(tableOf(call.resource))) {
      throw new ApiError(404, 'NotFound', 'the server could not find the requested resource');
    }
    const result = effect();
    // an answer takes a while, and watchers may hear of a write before its writer does
    await undefined;
    if (fault?.kind === 'after') throw fault.error;
    return result;
  }

  #write(
    resource: Resource,
    before: KubeObject,
    { body, options }: { readonly body: Json; readonly options: WriteOptions },
  ): KubeObject {
    const { name, uid, resourceVersion } = before.metadata;
    const metadata = isRecord(body['metadata']) ? body['metadata'] : {};
    const guard = metadata['resourceVersion'];
    if (guard !== undefined && guard !== '' && guard !== resourceVersion)
      throw conflict(resource, name);
    if (metadata['uid'] !== undefined && metadata['uid'] !== uid) throw conflict(resource, name);
    const written = this.#scoped(resource, before, { body, options });
    const finalizers = isRecord(written['metadata'])
      ? written['metadata']['finalizers']
      : undefined;
    const isLast = !Array.isArray(finalizers) || finalizers.length === 0;
    if (before.metadata.deletionTimestamp !== undefined && isLast)
      return this.#erase(resource, before);
    return this.#store(resource, before, written);
  }

  /** /status writes the status and nothing else; the object's own address everything but the status */
  #scoped(
    resource: Resource,
    before: KubeObject,
    { body, options }: { readonly body: Json; readonly options: WriteOptions },
  ): Json {
    if (options.subresource === 'status') return { ...before, status: body['status'] };
    if (!WITH_STATUS.has(resource.plural)) return body;
    const { status: _, ...rest } = body;
    return before['status'] === undefined ? rest : { ...rest, status: before['status'] };
  }

  #store(resource: Resource, before: KubeObject | undefined, body: Json): KubeObject {
    const next = this.#completed(resource, before, body);
    // a write that changes nothing is none
    if (before !== undefined && isSame(before, next)) return before;
    this.#version += 1;
    const metadata = { ...next.metadata, resourceVersion: String(this.#version) };
    const object: KubeObject = deepFreeze(structuredClone({ ...next, metadata }));
    this.#table(resource).set(keyOf(metadata.namespace, metadata.name), object);
    this.#publish({ version: this.#version, resource: tableOf(resource), before, now: object });
    return object;
  }

  #completed(resource: Resource, before: KubeObject | undefined, body: Json): KubeObject {
    const draft = draftOf(body, resource);
    if (before === undefined) this.#made += 1;
    const isSpecNew =
      before === undefined || JSON.stringify(before['spec']) !== JSON.stringify(body['spec']);
    const created = new Date(this.#wallTimeMs()).toISOString().replace(/\.\d+Z$/, 'Z');
    return {
      ...draft.body,
      metadata: {
        ...draft.metadata,
        name: draft.name,
        ...(draft.namespace !== undefined && { namespace: draft.namespace }),
        uid: before?.metadata.uid ?? textOr(draft.metadata['uid'], `uid-${this.#made}`),
        resourceVersion: before?.metadata.resourceVersion ?? '',
        generation: (before?.metadata.generation ?? 0) + (isSpecNew ? 1 : 0),
        creationTimestamp:
          before?.metadata.creationTimestamp ??
          textOr(draft.metadata['creationTimestamp'], created),
      },
    };
  }

  #erase(resource: Resource, before: KubeObject): KubeObject {
    const { namespace, name } = before.metadata;
    this.#table(resource).delete(keyOf(namespace, name));
    this.#version += 1;
    const metadata = { ...before.metadata, resourceVersion: String(this.#version) };
    const last: KubeObject = deepFreeze({ ...before, metadata });
    this.#publish({
      version: this.#version,
      resource: tableOf(resource),
      before: last,
      now: undefined,
    });
    return last;
  }

  #publish(change: Change): void {
    this.#history.push(change);
    for (const watcher of this.#watchers) this.#offer(watcher, change);
  }

  #offer(watcher: Watcher, { resource, before, now, version }: Change): void {
    if (tableOf(watcher.resource) !== resource) return;
    const matches = (object: KubeObject | undefined): object is KubeObject =>
      object !== undefined && inNamespace(watcher.resource, object) && watcher.matches(object);
    if (matches(now))
      this.#send(watcher, { kind: matches(before) ? 'modified' : 'added', object: now });
    else if (matches(before)) {
      const metadata = { ...before.metadata, resourceVersion: String(version) };
      this.#send(watcher, { kind: 'deleted', object: deepFreeze({ ...before, metadata }) });
    }
  }

  #send(watcher: Watcher, event: WatchEvent): void {
    watcher.waiting.push(event);
    this.#deliverSoon(watcher);
  }

  #deliverSoon(watcher: Watcher): void {
    queueMicrotask(() => {
      while (!this.#isHeld && this.#watchers.has(watcher)) {
        const event = watcher.waiting.shift();
        if (event === undefined) return;
        watcher.onEvent(event);
      }
    });
  }

  #needed(resource: Resource, name: string): KubeObject {
    const object = this.object(resource, keyOf(resource.namespace, name));
    if (object !== undefined) return object;
    throw new ApiError(404, 'NotFound', `${resource.plural} "${name}" not found`);
  }

  #table(resource: Resource): Map<string, KubeObject> {
    const table = this.#objects.get(tableOf(resource)) ?? new Map<string, KubeObject>();
    this.#objects.set(tableOf(resource), table);
    return table;
  }
}

type Draft = {
  readonly body: Json;
  readonly metadata: Json;
  readonly name: string;
  readonly namespace: string | undefined;
};

function draftOf(object: object, resource: Resource, suffix: () => string = () => ''): Draft {
  const body: Json = { ...object };
  const metadata = isRecord(body['metadata']) ? body['metadata'] : {};
  const { name, generateName, namespace } = {
    name: metadata['name'],
    generateName: metadata['generateName'],
    namespace: metadata['namespace'] ?? resource.namespace,
  };
  const chosen = typeof name === 'string' ? name : `${textOr(generateName, '')}${suffix()}`;
  if (chosen === '') throw new ApiError(422, 'Invalid', 'name or generateName is required');
  return { body, metadata, name: chosen, namespace: textOr(namespace, undefined) };
}

function textOr<T>(value: unknown, otherwise: T): string | T {
  return typeof value === 'string' ? value : otherwise;
}

function tableOf({ group, plural }: Resource): string {
  return `${plural}.${group}`;
}

function keyOf(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

function inNamespace(resource: Resource, { metadata }: KubeObject): boolean {
  return resource.namespace === undefined || resource.namespace === metadata.namespace;
}

function subresourceOf({ subresource }: WriteOptions): { readonly subresource?: 'status' } {
  return subresource === undefined ? {} : { subresource };
}

function conflict(resource: Resource, name: string): ApiError {
  const why = 'the object has been modified; please apply your changes to the latest version';
  return new ApiError(409, 'Conflict', `${resource.plural} "${name}": ${why}`);
}

function isSame(one: KubeObject, other: KubeObject): boolean {
  return JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, each]) => [key, sorted(each)]),
  );
}
