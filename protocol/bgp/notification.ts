/**
 * The NOTIFICATION message (RFC 4271 §4.5): code, subcode, and data whose meaning depends on both.
 *
 * Of the data two things are read: the text that an operator gave to a shutdown or reset (RFC 9003, which lifted the 128
 * octets of RFC 8203 to 255: both are read alike), and the NOTIFICATION inside a hard reset (RFC 8538 §3.1). The text comes
 * from somebody else's keyboard and ends in our logs and terminals, so control characters do not pass (RFC 9003 §6).
 */

import { u8At } from '../bytes/peek.ts';
import type { ByteWriter } from '../bytes/writer.ts';
import {
  CeaseSubcode,
  ErrorCode,
  HEADER_LENGTH,
  MAX_MESSAGE_LENGTH,
  notificationName,
} from './codes.ts';
import type { BgpFault } from './error.ts';
import type { NotificationMessage } from './message.ts';

/** What still fits into a message of 4,096 octets behind header, code and subcode. */
export const MAX_NOTIFICATION_DATA = MAX_MESSAGE_LENGTH - HEADER_LENGTH - 2;
/** RFC 9003 §2 */
const MAX_TEXT_OCTETS = 255;
const NO_DATA = new Uint8Array(0);

/** Reads the octets behind the header, of which there are two at least. */
export function decodeNotification(
  bytes: Uint8Array,
  start: number,
  end: number,
): NotificationMessage {
  return {
    kind: 'notification',
    code: u8At(bytes, start),
    subcode: u8At(bytes, start + 1),
    data: bytes.slice(start + 2, end),
  };
}

export function encodeNotification(message: NotificationMessage, writer: ByteWriter): void {
  writer.u8(message.code).u8(message.subcode).bytes(message.data);
}

/** The NOTIFICATION that answers a fault. Data beyond what a message holds is cut: it is there to help diagnosis only. */
export function notificationFromFault(fault: BgpFault): NotificationMessage {
  return {
    kind: 'notification',
    code: fault.code,
    subcode: fault.subcode,
    data: fault.data.slice(0, MAX_NOTIFICATION_DATA),
  };
}

/** A Cease. The text travels with shutdown and reset, where RFC 9003 gives it a place, and with no other subcode. */
export function ceaseNotification(subcode: number, text?: string): NotificationMessage {
  const data = text !== undefined && carriesText(subcode) ? encodeShutdownText(text) : NO_DATA;
  return { kind: 'notification', code: ErrorCode.cease, subcode, data };
}

function carriesText(subcode: number): boolean {
  return (
    subcode === CeaseSubcode.administrativeShutdown || subcode === CeaseSubcode.administrativeReset
  );
}

/** The Data field of RFC 9003 §2: length and UTF-8, cut behind the last whole character that fits; nothing for no text. */
export function encodeShutdownText(text: string): Uint8Array {
  if (text === '') return NO_DATA;
  const data = new Uint8Array(1 + MAX_TEXT_OCTETS);
  const { written } = new TextEncoder().encodeInto(text, data.subarray(1));
  data[0] = written;
  return data.slice(0, 1 + written);
}

/** The operator's text of a shutdown or reset, if there is one and its length is not a lie. */
export function shutdownText(message: NotificationMessage): string | undefined {
  if (message.code !== ErrorCode.cease || !carriesText(message.subcode)) return undefined;
  const length = message.data[0] ?? 0;
  if (length === 0 || length >= message.data.length) return undefined;
  const text = new TextDecoder('utf-8').decode(message.data.subarray(1, 1 + length));
  return text.replace(UNPRINTABLE, '\ufffd');
}

/** control characters, line separators, direction marks: what could move a cursor or turn a line around */
const UNPRINTABLE = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** What a hard reset carries (RFC 8538 §3.1): code, subcode and data of the real reason. */
export function hardResetReason(message: NotificationMessage): NotificationMessage | undefined {
  if (message.code !== ErrorCode.cease || message.subcode !== CeaseSubcode.hardReset) {
    return undefined;
  }
  const [code, subcode] = message.data;
  if (code === undefined || subcode === undefined) return undefined;
  return { kind: 'notification', code, subcode, data: message.data.slice(2) };
}

export interface NotificationDescription {
  /** `Cease/Administrative Shutdown`; for a hard reset the reason inside it follows in brackets */
  readonly name: string;
  /** the operator's words */
  readonly text?: string;
}

/** What a NOTIFICATION says, in words. */
export function describeNotification(message: NotificationMessage): NotificationDescription {
  const inner = hardResetReason(message);
  const outer = notificationName(message.code, message.subcode);
  const name =
    inner === undefined ? outer : `${outer} (${notificationName(inner.code, inner.subcode)})`;
  const text = shutdownText(inner ?? message);
  return text === undefined ? { name } : { name, text };
}
