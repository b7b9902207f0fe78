/**
 * The seam to a Kubernetes API server: one request at a time, and watches. What stands behind it is api-client.ts (node:https with
 * the credentials that @kubernetes/client-node reads from a kubeconfig or the pod); loops and informers know only this.
 */

export interface Resource {
  /** empty for core/v1 */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  /** absent: cluster-scoped, or all namespaces */
  readonly namespace?: string;
}

/** An object as the API server gives it: unknown until a converter has read it. */
export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: unknown;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

export type PatchKind = 'merge' | 'json' | 'apply' | 'strategic';

export interface KubeApi {
  get(resource: Resource, name: string, options?: CallOptions): Promise<KubeObject>;
  list(resource: Resource, options?: ListOptions): Promise<KubeList>;
  create(resource: Resource, body: object, options?: CallOptions): Promise<KubeObject>;
  /** replaces; `body.metadata.resourceVersion` guards it */
  update(
    resource: Resource,
    name: string,
    body: object,
    options?: WriteOptions,
  ): Promise<KubeObject>;
  patch(
    resource: Resource,
    name: string,
    patch: Patch,
    options?: WriteOptions,
  ): Promise<KubeObject>;
  delete(resource: Resource, name: string, options?: DeleteOptions): Promise<void>;
  /** ends by itself only when the server or the network ends it; `signal` ends it from here */
  watch(resource: Resource, options: WatchOptions): Promise<WatchEnd>;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** default 10 s for writes and gets, 60 s for lists */
  readonly timeoutMs?: number;
}

export interface WriteOptions extends CallOptions {
  readonly subresource?: 'status';
  readonly fieldManager?: string;
  /** of kind 'apply': take fields over from other managers */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  /** 409 where the object is another one, or a newer one, by now */
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export interface Patch {
  readonly kind: PatchKind;
  readonly body: object;
}

export interface Selection {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export interface ListOptions extends CallOptions, Selection {
  /** '0' = whatever the server's cache has */
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continueToken?: string;
  /** a longer answer is not read to its end, and AnswerTooLong is thrown */
  readonly mostBytes?: number;
}

export interface KubeList {
  readonly resourceVersion: string;
  readonly continueToken?: string;
  readonly items: readonly KubeObject[];
}

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
  readonly signal: AbortSignal;
  /** the server ends the watch after this long; it is then opened again from where it was */
  readonly timeoutSeconds: number;
  /** a watch on which no byte has come for so long is over; absent: as long as every server sends a bookmark in */
  readonly silentAfterMs?: number;
  readonly onEvent: (event: WatchEvent) => void;
  /** the server has taken it up: what is written from now on will be heard */
  readonly onOpen?: () => void;
}

export type WatchEvent =
  | { readonly kind: 'added' | 'modified' | 'deleted'; readonly object: KubeObject }
  | { readonly kind: 'bookmark'; readonly resourceVersion: string };

/** why a watch is over; `gone` = its resourceVersion is too old (410), so list again */
export type WatchEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'silent' }
  | { readonly kind: 'failed'; readonly error: Error };

/** The answer has more octets than the caller wants in memory. */
export class AnswerTooLong extends Error {
  constructor(path: string, mostBytes: number) {
    super(`the answer to GET ${path} has more than ${mostBytes} octets`);
    this.name = 'AnswerTooLong';
  }
}

/** The API server said no. */
export class ApiError extends Error {
  readonly code = 'API_STATUS';
  readonly status: number;
  /** metav1.Status reason: NotFound, AlreadyExists, Conflict, Forbidden, Invalid … */
  readonly reason: string;
  readonly retryAfterMs?: number;

  constructor(status: number, reason: string, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.reason = reason;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}

/** Nobody answered: refused, reset, timed out, TLS that does not fit. The request may or may not have been done. */
export class ApiUnreachable extends Error {
  readonly code = 'API_UNREACHABLE';

  constructor(message: string, cause: unknown) {
    super(message, { cause });
    this.name = 'ApiUnreachable';
  }
}

export const isNotFound = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 404;
/** another writer was faster (409 Conflict); read again and decide again */
export const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason !== 'AlreadyExists';
export const isAlreadyExists = (error: unknown): boolean =>
  error instanceof ApiError && error.status === 409 && error.reason === 'AlreadyExists';
/** a right, an admission policy or the schema is in the way (403 Forbidden, 422 Invalid): the same write is not taken before somebody acts */
export const isRefused = (error: unknown): error is ApiError =>
  error instanceof ApiError && (error.status === 403 || error.status === 422);
