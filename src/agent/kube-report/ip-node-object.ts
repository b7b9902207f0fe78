/** The IPNode object of one node: made where it is missing, owned by its Node, and written by one instance (instance.ts). One request at a time. */

import type { Clock } from 'bgp-ts';
import type { IpNodeStatus } from '../../model/ip-node.ts';
import { API_VERSION } from '../../model/names.ts';
import {
  isAlreadyExists,
  isNotFound,
  type KubeApi,
  type KubeObject,
} from '../../sources/kube/api.ts';
import { IP_NODES } from '../../sources/kube/resources.ts';
import { withDeadline } from './deadline.ts';
import {
  annotationsOf,
  INSTANCE_ANNOTATION,
  type Move,
  nextStanding,
  type Standing,
} from './instance.ts';

export interface IpNodeObjectOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly node: string;
  readonly instance: string;
  /** of the Node; undefined while there is none, and then there is no IPNode either */
  readonly nodeUid: () => string | undefined;
}

const FIELD_MANAGER = 'herald-agent';
const REQUEST_MS = 5000;

export class IpNodeObject {
  readonly #options: IpNodeObjectOptions;
  #standing: Standing | undefined;

  constructor(options: IpNodeObjectOptions) {
    this.#options = options;
  }

  get standing(): Standing | undefined {
    return this.#standing;
  }

  /** uid of the object that is there and ours to write; throws what the API says */
  async look(): Promise<string | undefined> {
    const found = await this.#read();
    if (found === undefined) return await this.#create();
    return (await this.#settle(found)) ? found.metadata.uid : undefined;
  }

  /** Writes our fields and no others; throws what the API says, NotFound among it. */
  async write(status: IpNodeStatus): Promise<void> {
    const { api, clock, node } = this.#options;
    const body = { apiVersion: API_VERSION, kind: 'IPNode', metadata: { name: node }, status };
    const patch = { kind: 'apply', body } as const;
    const written = await withDeadline(clock, REQUEST_MS, (signal) =>
      api.patch(IP_NODES, node, patch, {
        subresource: 'status',
        fieldManager: FIELD_MANAGER,
        force: true,
        signal,
      }),
    );
    // the answer has the annotations too: who asks is heard sooner than at the next look
    await this.#settle(written);
  }

  /** The next instance of this node need not ask. */
  async leave(): Promise<void> {
    if (this.#standing?.kind !== 'ours') return;
    const found = await this.#read();
    if (found?.metadata.annotations?.[INSTANCE_ANNOTATION] !== this.#options.instance) return;
    await this.#annotate(found, { [INSTANCE_ANNOTATION]: null });
  }

  async #read(): Promise<KubeObject | undefined> {
    const { api, clock, node } = this.#options;
    try {
      return await withDeadline(clock, REQUEST_MS, (signal) => api.get(IP_NODES, node, { signal }));
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #create(): Promise<string | undefined> {
    const { api, clock, node, instance } = this.#options;
    const ownerReferences = this.#owners();
    if (ownerReferences === undefined) return undefined;
    const annotations = { [INSTANCE_ANNOTATION]: instance };
    const metadata = { name: node, annotations, ownerReferences };
    const body = { apiVersion: API_VERSION, kind: 'IPNode', metadata };
    try {
      const made = await withDeadline(clock, REQUEST_MS, (signal) =>
        api.create(IP_NODES, body, { signal }),
      );
      this.#standing = { kind: 'ours' };
      return made.metadata.uid;
    } catch (error) {
      // somebody was faster; the next look sees who
      if (isAlreadyExists(error)) return undefined;
      throw error;
    }
  }

  async #settle(found: KubeObject): Promise<boolean> {
    const { clock, instance } = this.#options;
    const { annotations = {} } = found.metadata;
    const next = nextStanding(this.#standing, annotations, { id: instance, nowMs: clock.now() });
    await this.#make(found, next.move);
    // only after it stands there: what could not be written has not been asked
    this.#standing = next.standing;
    return next.standing.kind === 'ours';
  }

  async #make(found: KubeObject, move: Move): Promise<void> {
    const isOurs = move === 'take' || move === 'answer' || this.#standing?.kind === 'ours';
    const owners = isOurs ? this.#newOwners(found) : undefined;
    if (move === 'nothing' && owners === undefined) return;
    await this.#annotate(found, annotationsOf(move, this.#options.instance), owners);
  }

  /** guarded: two that ask at once do not overwrite each other */
  async #annotate(
    { metadata }: KubeObject,
    annotations: Readonly<Record<string, string | null>>,
    owners?: readonly object[],
  ): Promise<void> {
    const { api, clock, node } = this.#options;
    const { uid, resourceVersion } = metadata;
    const ownerReferences = owners === undefined ? {} : { ownerReferences: owners };
    const body = { metadata: { uid, resourceVersion, annotations, ...ownerReferences } };
    await withDeadline(clock, REQUEST_MS, (signal) =>
      api.patch(IP_NODES, node, { kind: 'merge', body }, { signal }),
    );
  }

  #owners(): readonly object[] | undefined {
    const uid = this.#options.nodeUid();
    if (uid === undefined) return undefined;
    return [{ apiVersion: 'v1', kind: 'Node', name: this.#options.node, uid }];
  }

  /** the Node was made anew: the IPNode would go with the old one */
  #newOwners({ metadata }: KubeObject): readonly object[] | undefined {
    const uid = this.#options.nodeUid();
    const standing = metadata['ownerReferences'];
    const isKnown =
      Array.isArray(standing) &&
      standing.some((one: unknown) => isRecord(one) && one['uid'] === uid);
    return uid === undefined || isKnown ? undefined : this.#owners();
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
