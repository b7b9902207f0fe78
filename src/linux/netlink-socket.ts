/**
 * Questions to the kernel: one rtnetlink socket on which a request is sent and its answer read, in one go. Synchronous on purpose:
 * the kernel answers within microseconds, and nothing can happen between "is it there" and "add it" within this process. The
 * wait for an answer is bounded all the same; that for the kernel's lock is not: a request is worked on within the call that sends it, and
 * whoever holds the RTNL lock meanwhile (a driver that hangs while its link is changed) holds up the sender, whatever its time-outs.
 *
 * Tried again: a call that a signal interrupted, an answer that did not fit the socket's buffer, and a list that changed while it was
 * read (the kernel says so). After any other failure the socket is thrown away, so that a late answer meets nobody; answers
 * are told apart by their sequence number besides.
 */

import { getSystemErrorName } from 'node:util';
import {
  closeDescriptor,
  NetlinkError,
  openNetlink,
  preferOption,
  receive,
  SocketOption,
  send,
  setOption,
} from './netlink-calls.ts';
import {
  concat,
  decodeMessages,
  decodeResult,
  encodeMessage,
  MessageFlag,
  type NetlinkMessage,
  uint32,
} from './netlink-message.ts';

const ANSWER_WITHIN_SECONDS = 2;
/**
 * A list is whole when nothing changed while it was read: with thousands of changes per second that takes many attempts. All lists of one
 * turn of the event loop have so long together, since the sessions wait meanwhile; who asks goes by what was there before, and asks again.
 */
const PERSIST_MS = 50;
/** the kernel fills at most 32 KiB per datagram of a list */
const BUFFER_OCTETS = 65_536;

export interface NetlinkRequest {
  readonly type: number;
  readonly flags: number;
  readonly body: Uint8Array;
}

/** `retry` is for another attempt at the same request */
type Answer =
  | { readonly kind: 'done'; readonly messages: readonly NetlinkMessage[] }
  | { readonly kind: 'retry'; readonly code: string };

/** Of this turn of the event loop; it begins with the first answer that was not whole. */
class TurnPatience {
  #endMs: number | undefined;

  isOver(persistMs: number): boolean {
    const nowMs = performance.now();
    if (this.#endMs === undefined) {
      this.#endMs = nowMs + persistMs;
      setImmediate(() => {
        this.#endMs = undefined;
      }).unref();
    }
    return nowMs >= this.#endMs;
  }
}

const patience = new TurnPatience();

export class NetlinkSocket {
  readonly #strict: boolean;
  readonly #persistMs: number;
  readonly #buffer = new Uint8Array(BUFFER_OCTETS);
  #fd: number | undefined;
  #sequence = 0;

  /** `strict` lets the kernel filter lists by what the request says (Linux 4.20; older ones send everything) */
  constructor(options: { strict?: boolean; persistMs?: number | undefined } = {}) {
    this.#strict = options.strict ?? false;
    this.#persistMs = options.persistMs ?? PERSIST_MS;
  }

  /** Throws a NetlinkError with the kernel's reason. */
  change(request: NetlinkRequest): void {
    const flags = request.flags | MessageFlag.request | MessageFlag.ack;
    this.#persist({ ...request, flags });
  }

  /** `most`: of a longer list the rest is not read, and one more than so many tells */
  list(type: number, body: Uint8Array, most = Infinity): readonly NetlinkMessage[] {
    const flags = MessageFlag.request | MessageFlag.dump;
    return this.#persist({ type, body, flags }, most);
  }

  close(): void {
    if (this.#fd !== undefined) closeDescriptor(this.#fd);
    this.#fd = undefined;
  }

  #persist(request: NetlinkRequest, most = Infinity): readonly NetlinkMessage[] {
    for (let attempt = 1; ; attempt += 1) {
      const answer = this.#ask(request, most);
      if (answer.kind === 'done') return answer.messages;
      if (patience.isOver(this.#persistMs)) {
        const message = `the kernel gave no whole answer in ${attempt} attempts`;
        throw new NetlinkError(answer.code, message);
      }
    }
  }

  #ask(request: NetlinkRequest, most: number): Answer {
    this.#fd ??= open(this.#strict);
    this.#sequence = (this.#sequence + 1) >>> 0;
    try {
      send(this.#fd, encodeMessage({ ...request, sequence: this.#sequence }));
      return this.#answer(this.#fd, this.#sequence, most);
    } catch (error) {
      if (!(error instanceof NetlinkError) || error.isRefusal) throw error;
      this.close();
      if (error.code === 'ENOBUFS') return { kind: 'retry', code: error.code };
      if (error.code === 'EAGAIN') {
        const message = `the kernel did not answer within ${ANSWER_WITHIN_SECONDS} s`;
        throw new NetlinkError('ETIMEDOUT', message, { cause: error });
      }
      throw error;
    }
  }

  #answer(fd: number, sequence: number, most: number): Answer {
    const messages: NetlinkMessage[] = [];
    for (const message of this.#messages(fd, sequence)) {
      if ((message.flags & MessageFlag.dumpInterrupted) !== 0) {
        // what is left of it is of no use
        this.close();
        return { kind: 'retry', code: 'EINTR' };
      }
      const result = decodeResult(message);
      if (result === undefined) messages.push(message);
      else if (result.errno !== 0) throw refusal(result);
      else break;
      if (messages.length <= most) continue;
      // the kernel stops writing where nobody reads
      this.close();
      return { kind: 'done', messages };
    }
    return { kind: 'done', messages };
  }

  /** Without end: the reader knows the last one. A late answer to somebody before is passed over. */
  *#messages(fd: number, sequence: number): Generator<NetlinkMessage, never> {
    for (;;) {
      for (const message of decodeMessages(this.#datagram(fd))) {
        if (message.sequence === sequence) yield message;
      }
    }
  }

  /** A copy, since the bodies of a long list are read when the next datagram is already here. */
  #datagram(fd: number): Uint8Array {
    for (;;) {
      try {
        const length = receive(fd, this.#buffer);
        if (length <= this.#buffer.length) return this.#buffer.slice(0, length);
        throw new NetlinkError('EMSGSIZE', `an answer of ${length} octets`);
      } catch (error) {
        if (!(error instanceof NetlinkError && error.code === 'EINTR')) throw error;
      }
    }
  }
}

function refusal({ errno, text }: { errno: number; text?: string }): NetlinkError {
  const code = getSystemErrorName(-errno);
  return new NetlinkError(code, text === undefined ? code : `${code}, ${text}`, {
    isRefusal: true,
  });
}

function open(strict: boolean): number {
  const fd = openNetlink({ blocking: true });
  try {
    // struct timeval: two 64-bit numbers
    const timeout = concat(uint32(ANSWER_WITHIN_SECONDS), new Uint8Array(12));
    setOption(fd, SocketOption.receiveTimeout, timeout);
    preferOption(fd, SocketOption.cappedAck, uint32(1));
    preferOption(fd, SocketOption.extendedAck, uint32(1));
    if (strict) preferOption(fd, SocketOption.strictCheck, uint32(1));
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  return fd;
}
