/**
 * Octets of one message, header included, into the message: the way in for everything that arrives, from a session, from
 * `herald decode` or from an MRT file. What a neighbour did wrong is a value here, never a throw; any other exception is a
 * mistake of ours and goes through.
 */

import { OutOfBytes } from '../bytes/reader.ts';
import { ErrorCode, HEADER_LENGTH, MessageType, OpenSubcode, UpdateSubcode } from './codes.ts';
import { BgpFault, type Issue } from './error.ts';
import { checkWholeMessage, messageTypeAt } from './header.ts';
import type { KeepaliveMessage, Message, PathAttributes } from './message.ts';
import type { CodecContext } from './negotiate.ts';
import { decodeNotification } from './notification.ts';
import { decodeOpen } from './open.ts';
import { decodeRouteRefresh } from './route-refresh.ts';
import { decodeRibAttributes, decodeUpdate, type RibSource } from './update.ts';

export interface Decoded {
  readonly ok: true;
  readonly message: Message;
  /** attributes of an UPDATE that were dropped while the rest stands (RFC 7606) */
  readonly issues: readonly Issue[];
}

export interface Undecoded {
  readonly ok: false;
  readonly fault: BgpFault;
}

export type DecodeResult = Decoded | Undecoded;

/** What holds before two OPENs have been exchanged, and for messages that stand alone: nothing agreed but RFC 6793. */
export const PLAIN_CONTEXT: CodecContext = {
  as4: true,
  extendedMessage: false,
  internal: false,
  addPathReceive: [],
  addPathSend: [],
  extendedNextHop: [],
};

const NO_ISSUES: readonly Issue[] = [];
const KEEPALIVE: KeepaliveMessage = { kind: 'keepalive' };

/**
 * Decodes one whole message. The octets are not kept: the message owns copies of what it needs.
 *
 * @example
 * const result = decode(frame, PLAIN_CONTEXT);
 * if (result.ok) use(result.message);
 * else console.error(result.fault.detail);
 */
export function decode(frame: Uint8Array, context: CodecContext): DecodeResult {
  return decodeAt(frame, 0, frame.length, context);
}

/**
 * The same for a message that lies inside a larger buffer: saves a view for each one of an MRT file.
 *
 * @example
 * decodeAt(record.bytes, record.start, record.end, PLAIN_CONTEXT); // of an `MrtMessage`
 */
export function decodeAt(
  bytes: Uint8Array,
  start: number,
  end: number,
  context: CodecContext,
): DecodeResult {
  try {
    return decodeMessage(bytes, start, end, context);
  } catch (error) {
    if (error instanceof BgpFault) return { ok: false, fault: error };
    if (error instanceof OutOfBytes) {
      return { ok: false, fault: shortMessage(messageTypeAt(bytes, start), error) };
    }
    throw error;
  }
}

function decodeMessage(
  bytes: Uint8Array,
  start: number,
  end: number,
  context: CodecContext,
): Decoded {
  const type = checkWholeMessage(bytes, start, end, context.extendedMessage);
  const body = start + HEADER_LENGTH;
  switch (type) {
    case MessageType.update: {
      const { message, issues } = decodeUpdate(bytes, body, end, context);
      return { ok: true, message, issues };
    }
    case MessageType.keepalive:
      return { ok: true, message: KEEPALIVE, issues: NO_ISSUES };
    case MessageType.open:
      return { ok: true, message: decodeOpen(bytes, body, end), issues: NO_ISSUES };
    case MessageType.notification:
      return { ok: true, message: decodeNotification(bytes, body, end), issues: NO_ISSUES };
    case MessageType.routeRefresh:
      return { ok: true, message: decodeRouteRefresh(bytes, body, end), issues: NO_ISSUES };
    default:
      throw new Error(`the header check let message type ${type} pass`);
  }
}

/** What the entry of a table says about its route. */
export interface DecodedRibEntry {
  readonly ok: true;
  readonly attributes: PathAttributes;
  readonly issues: readonly Issue[];
}

/**
 * The attributes of one entry of an MRT table dump, which lie between two offsets. Where an UPDATE would have to be treated as a
 * withdrawal the entry is a fault.
 *
 * @example
 * const { afi, safi, as4 } = rib;
 * for (const { start, end } of rib.entries) use(decodeRibEntry(rib.bytes, start, end, { afi, safi, as4 }));
 */
export function decodeRibEntry(
  bytes: Uint8Array,
  start: number,
  end: number,
  source: RibSource,
): DecodedRibEntry | Undecoded {
  try {
    return { ok: true, ...decodeRibAttributes(bytes, start, end, source) };
  } catch (error) {
    if (!(error instanceof BgpFault)) throw error;
    return { ok: false, fault: error };
  }
}

/** A field that reaches behind the end of its message: 2/0 for an OPEN, 3/1 for an UPDATE (RFC 4271 §6.2, §6.3). */
function shortMessage(type: number, error: OutOfBytes): BgpFault {
  const isOpen = type === MessageType.open;
  return new BgpFault({
    code: isOpen ? ErrorCode.open : ErrorCode.update,
    subcode: isOpen ? OpenSubcode.unspecific : UpdateSubcode.malformedAttributeList,
    detail: error.message,
  });
}
