/** Errors of sockets and files in words, by their codes, never by their texts. The subject (the target) stands in front. */

import { errorCode } from '../error-code.ts';

/** of a target that was asked by name, while the look-up is out; then, and for an address, until there is a connection */
export const NO_ADDRESS = 'cannot be asked: DNS did not answer';
export const NO_CONNECTION = 'did not accept a connection';

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused the connection',
  ECONNRESET: 'reset the connection',
  EPIPE: 'closed the connection',
  ECONNABORTED: 'broke off the connection',
  EHOSTUNREACH: 'cannot be reached: no route to the host',
  ENETUNREACH: 'cannot be reached: no route to its network',
  EADDRNOTAVAIL: 'cannot be reached: this machine has no address to ask from',
  ETIMEDOUT: 'does not answer: the connection timed out',
  EACCES: 'cannot be asked: permission denied, perhaps by a firewall rule',
  EPERM: 'cannot be asked: not permitted, perhaps by a firewall rule',
  EMFILE: 'cannot be asked: this process has too many open files',
  ENFILE: 'cannot be asked: this machine has too many open files',
  ENOTFOUND: 'cannot be asked: DNS does not know the name',
  EAI_AGAIN: 'cannot be asked: DNS does not answer',
};

export function describeSocketError(error: unknown): string {
  const code = errorCode(error);
  const words = code === undefined ? undefined : WORDS[code];
  if (words !== undefined) return words;
  if (code?.startsWith('HPE_')) return `did not answer with HTTP (${code})`;
  if (code === 'EPROTO' || code?.startsWith('ERR_SSL_')) {
    return `does not speak TLS as it should (${code}): is it https and the right port?`;
  }
  return `cannot be asked: ${code ?? (error instanceof Error ? error.message : String(error))}`;
}

/** of an error of the system, or of what was found instead of a file */
export function describeFileError({ code, sentence }: FileTrouble): string {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'no such file';
    case 'EACCES':
      return 'permission denied';
    case 'EISDIR':
      return 'it is a directory';
    default:
      return sentence;
  }
}

export function fileTrouble(error: unknown): FileTrouble {
  const code = errorCode(error);
  return { ...(code === undefined ? {} : { code }), sentence: code ?? String(error) };
}

interface FileTrouble {
  readonly code?: string;
  readonly sentence: string;
}
