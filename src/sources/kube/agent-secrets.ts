/**
 * TCP-MD5 keys from the Secrets that BGPPeers name, in herald-system. Asked for by name, again and again, so that one that comes late or
 * changes is noticed; an agent may not list or watch Secrets. A key is in memory alone: it is never logged and never saved.
 *
 * A Secret that is not there keeps its session down. One that cannot be asked for just now says nothing: what was known counts on, and a
 * session that stands keeps the key that it has (peer-settings.ts).
 */

import type { Clock, Random } from 'bgp-ts';
import { readPasswordText } from '../../agent/password-text.ts';
import type { PasswordFact } from '../../agent/view.ts';
import type { BgpPeer } from '../../model/bgp-peer.ts';
import { NAMESPACE } from '../../model/names.ts';
import { ApiError, ApiUnreachable, isNotFound, type KubeApi, type KubeObject } from './api.ts';
import { DONE, KeyQueue, type QueueOutcome } from './key-queue.ts';
import { part } from './loose-fields.ts';
import { SECRETS } from './resources.ts';

export interface AgentSecretsOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly random: Random;
  /** the session of this peer is established: its key is the router's */
  readonly isUp: (peer: string) => boolean;
  /** by peer name, whenever one differs */
  readonly onChange: (facts: ReadonlyMap<string, PasswordFact>) => void;
}

/** how often is asked, and how often while the sessions that it is for are up: a thousand agents ask for one Secret */
const POLL_MS = 10_000;
const QUIET_POLL_MS = 60_000;
const JITTER = 0.2;
const KEY = 'password';

export class AgentSecrets {
  readonly #options: AgentSecretsOptions;
  readonly #queue: KeyQueue;
  readonly #abort = new AbortController();
  /** Secret by peer */
  #wanted: ReadonlyMap<string, string> = new Map();
  /** by Secret; a sentence lacks its subject, which is the peer's */
  readonly #found = new Map<string, Found>();
  /** by Secret: until then it need not be asked for while its sessions are up */
  readonly #quietUntilMs = new Map<string, number>();

  constructor(options: AgentSecretsOptions) {
    this.#options = options;
    const { clock, random } = options;
    this.#queue = new KeyQueue({ clock, random, concurrency: 4, work: (name) => this.#look(name) });
  }

  /** Asks at once for what is new, or what a peer that has changed names. */
  apply(peers: readonly BgpPeer[]): void {
    const wanted = new Map<string, string>();
    for (const { name, password } of peers) {
      if (password?.kind === 'secret') wanted.set(name, password.name);
    }
    const before = this.#wanted;
    this.#wanted = wanted;
    for (const [peer, secret] of wanted) {
      if (before.get(peer) === secret) continue;
      this.#quietUntilMs.delete(secret);
      this.#queue.add(secret);
    }
    const names = new Set(wanted.values());
    for (const name of this.#found.keys()) {
      if (names.has(name)) continue;
      this.#found.delete(name);
      this.#quietUntilMs.delete(name);
    }
    if (before.size > 0 || wanted.size > 0) this.#tell();
  }

  stop(): void {
    this.#abort.abort();
    this.#queue.stop();
  }

  async #look(name: string): Promise<QueueOutcome> {
    if (![...this.#wanted.values()].includes(name)) return DONE;
    const { clock } = this.#options;
    const again: QueueOutcome = { kind: 'retry', afterMs: this.#spread(POLL_MS) };
    if (this.#isQuiet(name) && clock.now() < (this.#quietUntilMs.get(name) ?? 0)) return again;
    const found = await this.#ask(name);
    if (this.#abort.signal.aborted) return DONE;
    // not knowing changes nothing that is known
    if (found.kind !== 'unknown' || this.#found.get(name)?.kind !== 'ready') {
      const isNews = JSON.stringify(found) !== JSON.stringify(this.#found.get(name));
      this.#found.set(name, found);
      if (isNews) this.#tell();
    }
    this.#quietUntilMs.set(name, clock.now() + this.#spread(QUIET_POLL_MS));
    return again;
  }

  /** Nobody waits for it: what it has is known, and the routers of all that name it take it. */
  #isQuiet(name: string): boolean {
    if (this.#found.get(name)?.kind !== 'ready') return false;
    const peers = [...this.#wanted].filter(([, secret]) => secret === name);
    return peers.every(([peer]) => this.#options.isUp(peer));
  }

  #spread(ms: number): number {
    return ms * (1 - JITTER + 2 * JITTER * this.#options.random.next());
  }

  async #ask(name: string): Promise<Found> {
    const { signal } = this.#abort;
    try {
      return read(await this.#options.api.get(SECRETS, name, { signal }));
    } catch (error) {
      if (isNotFound(error)) return { kind: 'missing', problem: 'does not exist' };
      if (!(error instanceof ApiError || error instanceof ApiUnreachable)) throw error;
      return { kind: 'unknown', problem: `cannot be read (${error.message})` };
    }
  }

  #tell(): void {
    const facts = [...this.#wanted].map(([peer, secret]): [string, PasswordFact] => {
      const found = this.#found.get(secret) ?? UNREAD;
      if (found.kind === 'ready') return [peer, { kind: 'ready', password: found.password }];
      const subject = `the Secret ${NAMESPACE}/${secret} of BGPPeer ${peer}`;
      const problem = `${subject} ${found.problem}`;
      if (found.kind === 'unknown') return [peer, { kind: 'unknown', problem }];
      const sentence = `${problem}; its session stays down until it has a key '${KEY}'`;
      return [peer, { kind: 'missing', sentence }];
    });
    this.#options.onChange(new Map(facts));
  }
}

type Found =
  | { readonly kind: 'ready'; readonly password: string }
  | { readonly kind: 'missing' | 'unknown'; readonly problem: string };

const UNREAD: Found = { kind: 'unknown', problem: 'has not been read yet' };

function read(object: KubeObject): Found {
  const encoded = part(object, 'data')[KEY];
  if (typeof encoded !== 'string') return { kind: 'missing', problem: `has no key '${KEY}'` };
  const decoded = readPasswordText(Buffer.from(encoded, 'base64').toString('utf8'));
  return decoded.ok
    ? { kind: 'ready', password: decoded.password }
    : { kind: 'missing', problem: decoded.problem };
}
