/**
 * From the names of system errors to the transport's few codes and a sentence that says what was being done. Only the
 * code of an error is read, never its text; the error itself is kept as the cause.
 */

import { TransportError, type TransportErrorCode } from './transport.ts';

const codes: Readonly<Record<string, TransportErrorCode>> = {
  ECONNREFUSED: 'REFUSED',
  ETIMEDOUT: 'TIMEOUT',
  ECONNRESET: 'RESET',
  ECONNABORTED: 'RESET',
  EPIPE: 'RESET',
  ENETUNREACH: 'UNREACHABLE',
  EHOSTUNREACH: 'UNREACHABLE',
  ENETDOWN: 'UNREACHABLE',
  EHOSTDOWN: 'UNREACHABLE',
  EADDRINUSE: 'ADDRESS_IN_USE',
  EADDRNOTAVAIL: 'ADDRESS_NOT_AVAILABLE',
  EACCES: 'PERMISSION',
  EPERM: 'PERMISSION',
  EAFNOSUPPORT: 'UNSUPPORTED',
  ENOPROTOOPT: 'UNSUPPORTED',
  EOPNOTSUPP: 'UNSUPPORTED',
};

const sentences: Readonly<Partial<Record<TransportErrorCode, string>>> = {
  REFUSED: 'connection refused',
  TIMEOUT: 'the other side stopped answering',
  RESET: 'connection reset by the other side',
  UNREACHABLE: 'no route, or the host does not answer',
  ADDRESS_IN_USE: 'address and port are in use by another program',
  ADDRESS_NOT_AVAILABLE: 'this machine does not have that address',
  PERMISSION: 'permission denied',
  UNSUPPORTED: 'this kernel does not support it',
};

export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error && 'code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}

/**
 * `doing` starts the sentence: "cannot listen on [::]:179". A `hint` replaces the general words for its code.
 */
export function transportError(
  doing: string,
  cause: unknown,
  hints: Readonly<Partial<Record<TransportErrorCode, string>>> = {},
): TransportError {
  if (cause instanceof TransportError) return cause;
  const name = systemErrorCode(cause);
  const code = name === undefined ? 'OTHER' : (codes[name] ?? 'OTHER');
  const why = hints[code] ?? sentences[code] ?? name ?? 'an unexpected error';
  return new TransportError(code, `${doing}: ${why}`, { cause });
}
