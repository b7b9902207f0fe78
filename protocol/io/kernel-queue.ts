/**
 * What the kernel still has of a connection: octets that it was given and that the other side's kernel has not acknowledged. A path that
 * loses everything takes writes as any other does, until the send buffer is full; only this tells the two apart.
 */

import type { Socket } from 'node:net';
import { fileDescriptor } from './file-descriptor.ts';
import { getOption, isLittleEndian, SystemCallError } from './libc.ts';
import { TransportError } from './transport.ts';

const IPPROTO_TCP = 6;
const TCP_INFO = [IPPROTO_TCP, 11] as const;
/** struct tcp_info: segments that were sent and are not acknowledged; octets that were not sent yet (Linux 4.6) */
const layout = { unacknowledged: 24, bytesAcknowledged: 120, notSent: 144, size: 192 } as const;

/** True also where the system does not tell, or the socket is closed. */
export function isAcknowledged(socket: Socket): boolean {
  return ask(
    socket,
    (info) => numberAt(info, layout.unacknowledged) === 0 && numberAt(info, layout.notSent) === 0,
  );
}

/**
 * The same of a socket that has sent its FIN, or is about to: the FIN need not have arrived. The kernel counts a SYN and a FIN as an
 * octet each, which is less than any message has. Before Linux 4.1 it counts nothing, and the FIN is waited for.
 */
export function hasArrived(socket: Socket): boolean {
  return ask(socket, (info) => {
    const at = layout.bytesAcknowledged;
    if (info.length < at + 8) return numberAt(info, layout.unacknowledged) === 0;
    const view = new DataView(info.buffer, info.byteOffset);
    return view.getBigUint64(at, isLittleEndian) >= BigInt(socket.bytesWritten);
  });
}

function ask(socket: Socket, answer: (info: Uint8Array) => boolean): boolean {
  try {
    return answer(getOption(fileDescriptor(socket), TCP_INFO, layout.size));
  } catch (error) {
    if (error instanceof SystemCallError || error instanceof TransportError) return true;
    throw error;
  }
}

/** an old kernel says less */
function numberAt(info: Uint8Array, at: number): number {
  if (info.length < at + 4) return 0;
  return new DataView(info.buffer, info.byteOffset).getUint32(at, isLittleEndian);
}
