/**
 * Events about what nodes report: a session that went down, with the router's own words, a session that came up, a node that joined or
 * did not. On the IPNode, and a loss on the BGPPeer as well: that is where people look. `nodeNews` is pure; the watcher only passes on.
 */

import type { IpNode, IpNodeSession } from '../model/ip-node.ts';
import type { ControllerCaches } from './caches.ts';
import { documentRef, type EventSink, type RecordedEvent } from './events.ts';

export interface NodeNews extends Omit<RecordedEvent, 'object'> {
  /** the BGPPeer that it is about */
  readonly peer?: string;
}

/** What has happened between two reports of one node; nothing for the first one, since nobody knows since when. */
export function nodeNews(now: IpNode, before: IpNode): readonly NodeNews[] {
  return [...sessionNews(now, before), ...joinNews(now, before)];
}

function sessionNews(now: IpNode, before: IpNode): readonly NodeNews[] {
  if (now.status.sessions === before.status.sessions) return [];
  const old = new Map(before.status.sessions?.map((each) => [sessionKey(each), each]));
  return (now.status.sessions ?? []).flatMap((session): readonly NodeNews[] => {
    const was = isUp(old.get(sessionKey(session)));
    const { peer, address, lastError } = session;
    if (was === isUp(session)) return [];
    const who = `session of node ${now.name} with ${peer} (${address})`;
    if (was) {
      const why = lastError === undefined ? '' : `: ${lastError}`;
      return [{ peer, type: 'Warning', reason: 'SessionDown', message: `${who} is down${why}` }];
    }
    return [{ peer, type: 'Normal', reason: 'SessionUp', message: `${who} is up` }];
  });
}

function joinNews({ status: { joined } }: IpNode, before: IpNode): readonly NodeNews[] {
  if (joined === undefined || joined.open === before.status.joined?.open) return [];
  if (joined.open) return [{ type: 'Normal', reason: 'Joined', message: joined.message }];
  // the first report of a node that has yet to join is no news either
  if (before.status.joined === undefined) return [];
  return [{ type: 'Warning', reason: 'NotJoined', message: joined.message }];
}

function sessionKey({ peer, address }: IpNodeSession): string {
  return `${peer} ${address}`;
}

function isUp(session: IpNodeSession | undefined): boolean {
  return session?.state === 'Established';
}

export class NodeEvents {
  readonly #caches: ControllerCaches;
  readonly #events: EventSink;
  #end: (() => void) | undefined;

  constructor({
    caches,
    events,
  }: { readonly caches: ControllerCaches; readonly events: EventSink }) {
    this.#caches = caches;
    this.#events = events;
  }

  start(): void {
    this.#end ??= this.#caches.subscribe('ipNodes', (_, now, before) => {
      if (now !== undefined && before !== undefined) this.#tell(now, before);
    });
  }

  stop(): void {
    this.#end?.();
    this.#end = undefined;
  }

  #tell(now: IpNode, before: IpNode): void {
    for (const { peer, ...news } of nodeNews(now, before)) {
      this.#events.record({ object: documentRef('IPNode', now), ...news });
      const of = peer === undefined ? undefined : this.#caches.peers.get(peer);
      if (of !== undefined && news.type === 'Warning') {
        this.#events.record({ object: documentRef('BGPPeer', of.meta), ...news });
      }
    }
  }
}
