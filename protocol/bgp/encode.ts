/**
 * A message into octets, header included. Encoding does not fail for anything that a neighbour does; a message that does
 * not fit is our own mistake (pack.ts fills UPDATEs so that they do) and throws.
 */

import { ByteWriter } from '../bytes/writer.ts';
import { MessageType } from './codes.ts';
import { finishMessage, maximumLength, writeHeader } from './header.ts';
import type { Message, MessageKind } from './message.ts';
import type { CodecContext } from './negotiate.ts';
import { encodeNotification } from './notification.ts';
import { encodeOpen } from './open.ts';
import { encodeRouteRefresh } from './route-refresh.ts';
import { encodeUpdate } from './update.ts';

const TYPES: Readonly<Record<MessageKind, number>> = {
  open: MessageType.open,
  update: MessageType.update,
  notification: MessageType.notification,
  keepalive: MessageType.keepalive,
  'route-refresh': MessageType.routeRefresh,
};

/**
 * The octets of one message, header included. Throws a RangeError for one that is too long for the session.
 *
 * @example
 * encode({ kind: 'keepalive' }, PLAIN_CONTEXT).length; // 19
 */
export function encode(message: Message, context: CodecContext): Uint8Array {
  const writer = new ByteWriter();
  encodeInto(message, context, writer);
  return writer.finish();
}

/** Appends the message to what the writer holds. */
export function encodeInto(message: Message, context: CodecContext, writer: ByteWriter): void {
  const start = writer.length;
  const type = TYPES[message.kind];
  writeHeader(writer, type);
  writeBody(message, context, writer);
  finishMessage(writer, start, maximumLength(type, context.extendedMessage));
}

function writeBody(message: Message, context: CodecContext, writer: ByteWriter): void {
  switch (message.kind) {
    case 'open':
      encodeOpen(message, writer);
      return;
    case 'update':
      encodeUpdate(message, context, writer);
      return;
    case 'notification':
      encodeNotification(message, writer);
      return;
    case 'keepalive':
      return;
    case 'route-refresh':
      encodeRouteRefresh(message, writer);
      return;
  }
}
