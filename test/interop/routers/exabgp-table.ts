/**
 * The table that ExaBGP itself does not keep: its API lines (`{"type":"update","neighbor":{…}}`) replayed in order.
 * Sessions follow its `state` lines, routes its `update` lines, NOTIFICATIONs the raw bytes of its packet lines.
 */

import { communityOf, extendedCommunityOfHex } from './community.ts';
import { entries, field, items, optionalNumber, optionalText, parseJson, text } from './json.ts';
import { originOf, type ReceivedNotification, type Route, type Session } from './router.ts';

const cease = 6;
const textSubcodes: readonly number[] = [2, 4];

export class ExabgpTable {
  readonly #sessions = new Map<string, Session>();
  readonly #routes = new Map<string, Map<string, Route>>();
  readonly #notifications = new Map<string, ReceivedNotification>();
  readonly #upSince = new Map<string, number>();
  hasAnswered = false;

  constructor(peers: readonly string[]) {
    for (const peer of peers) this.#sessions.set(peer, { peer, state: 'idle' });
  }

  sessions(): Session[] {
    const now = Date.now() / 1000;
    return [...this.#sessions.values()].map((session) => {
      const since = this.#upSince.get(session.peer);
      return since === undefined ? session : { ...session, uptimeSeconds: now - since };
    });
  }

  routes(): Route[] {
    return [...this.#routes.values()].flatMap((routes) => [...routes.values()]);
  }

  lastNotification(peer: string): ReceivedNotification | undefined {
    return this.#notifications.get(peer);
  }

  replay(line: string): void {
    if (!line.startsWith('{')) {
      // Answers to commands are plain text.
      this.hasAnswered ||= line !== '';
      return;
    }
    const value = parseLine(line);
    const peer = text(field(value, 'neighbor', 'address', 'peer'));
    const type = field(value, 'type');
    if (type === 'state') this.#state(peer, value);
    else if (type === 'update') this.#update(peer, field(value, 'neighbor', 'message', 'update'));
    else if (type === 'notification') this.#notification(peer, field(value, 'neighbor', 'message'));
  }

  #state(peer: string, value: unknown): void {
    const word = field(value, 'neighbor', 'state');
    const reason = optionalText(field(value, 'neighbor', 'reason'));
    if (word === 'up') {
      this.#sessions.set(peer, { peer, state: 'established' });
      this.#upSince.set(peer, optionalNumber(field(value, 'time')) ?? 0);
    } else if (word === 'down') {
      this.#routes.delete(peer);
      this.#upSince.delete(peer);
      const received = this.#notifications.get(peer)?.shown;
      const lastError = [reason, received].filter((part) => part !== undefined).join('; received ');
      this.#sessions.set(peer, { peer, state: 'idle', lastError });
    } else {
      // "connected" is TCP only: the OPEN comes next.
      const lastError = this.#sessions.get(peer)?.lastError;
      const before = lastError === undefined ? {} : { lastError };
      this.#sessions.set(peer, { peer, state: 'open-sent', ...before });
    }
  }

  /** Raw bytes, since the decoded form fails on texts: code, subcode, then one length byte and the text (RFC 9003). */
  #notification(peer: string, message: unknown): void {
    const body = text(field(message, 'body')).replace(/^0x/i, '');
    if (body === '') return;
    const bytes = Uint8Array.from(Buffer.from(body, 'hex'));
    const [code = 0, subcode = 0, length = 0] = bytes;
    const hasText = code === cease && textSubcodes.includes(subcode) && length > 0;
    const said = hasText ? new TextDecoder().decode(bytes.subarray(3, 3 + length)) : '';
    const shown = `${code}/${subcode}${said === '' ? '' : `: ${said}`}`;
    const more = said === '' ? {} : { text: said };
    this.#notifications.set(peer, { shown, code, subcode, ...more });
  }

  #update(peer: string, update: unknown): void {
    if (update === undefined) return;
    const routes = this.#routes.get(peer) ?? new Map<string, Route>();
    this.#routes.set(peer, routes);
    for (const [, nlris] of entries(field(update, 'withdraw'))) {
      for (const nlri of items(nlris)) routes.delete(keyOf(nlri));
    }
    const attributes = attributesOf(field(update, 'attribute'));
    for (const [, byNextHop] of entries(field(update, 'announce'))) {
      for (const [key, nextHops] of nextHopsByKey(byNextHop)) {
        const [prefix = '', pathId] = key.split(' ');
        const id = pathId === undefined ? {} : { pathId: Number(pathId) };
        routes.set(key, { prefix, nextHops, ...attributes, ...id, peer });
      }
    }
  }
}

/**
 * ExaBGP's JSON is glued together from strings: 64-bit numbers of extended communities do not survive JSON.parse, and
 * the reason of a "down" line may hold raw control characters, even a line break that cuts the line in two.
 */
function parseLine(line: string): unknown {
  const quoted = line.replaceAll(/"value": (\d+)/g, '"value": "$1"').replaceAll(/\p{Cc}/gu, ' ');
  const cut = /"peer": "([^"]+)".*"state": "down", "reason": "(.*?)("? \} \})?$/.exec(quoted);
  if (cut === null) return parseJson(quoted);
  const [, peer, reason] = cut;
  return { type: 'state', neighbor: { address: { peer }, state: 'down', reason } };
}

/** One NLRI stands under each of its next hops: the global one and the link-local one. */
function nextHopsByKey(byNextHop: unknown): Map<string, string[]> {
  const nextHops = new Map<string, string[]>();
  for (const [hop, nlris] of entries(byNextHop)) {
    for (const nlri of items(nlris)) {
      const key = keyOf(nlri);
      nextHops.set(key, [...(nextHops.get(key) ?? []), hop]);
    }
  }
  return nextHops;
}

/** The prefix, and the path identifier under add-path, which ExaBGP writes as an address. */
function keyOf(nlri: unknown): string {
  const prefix = text(field(nlri, 'nlri'));
  const id = optionalText(field(nlri, 'path-information'));
  if (id === undefined) return prefix;
  return `${prefix} ${id.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0)}`;
}

function attributesOf(value: unknown) {
  const med = optionalNumber(field(value, 'med'));
  const localPref = optionalNumber(field(value, 'local-preference'));
  const joined = (name: string) => items(field(value, name)).map((each) => items(each).join(':'));
  return {
    asPath: [...items(field(value, 'as-path')), ...items(field(value, 'as-set'))].map(Number),
    origin: originOf(text(field(value, 'origin'))),
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    communities: joined('community').map(communityOf),
    largeCommunities: joined('large-community'),
    extendedCommunities: items(field(value, 'extended-community')).map(extendedCommunity),
  };
}

/** Its own words are `target:65001:9` or nothing at all; the eight bytes as a number are always there. */
function extendedCommunity(value: unknown): string {
  const bytes = BigInt(text(field(value, 'value')));
  return extendedCommunityOfHex(bytes.toString(16).padStart(16, '0'));
}
