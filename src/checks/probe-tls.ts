/**
 * TLS of a check, and whether the server at its other end is the right one. Trust is by an authority (a file that is looked at
 * at every attempt, or what Node trusts by itself), by a pinned certificate, or by both. A pin alone asks for exactly that certificate
 * and for nothing else: neither its dates nor its names matter then.
 *
 * Node is told not to judge by itself, so that the sentence can say what was expected and what came; nothing is sent before we have.
 */

import { constants, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import {
  connect,
  createSecureContext,
  DEFAULT_CIPHERS,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { PacedSocket } from './paced-socket.ts';
import type { TargetOf } from './probe-bounds.ts';
import { RecentMap } from './recent-map.ts';

/** absent: what Node trusts, or nothing where a pin decides alone */
export interface Trust {
  readonly context: SecureContext;
  /** the subject of its first certificate, for people */
  readonly authority: string;
}

/**
 * The server chooses what a handshake costs us, and we pay before we can judge it. With DHE it names any group of up to 10,000 bits: a second
 * of the main thread, for a signature of its own. All others cost milliseconds. Nor may it begin another handshake later on.
 */
const CHEAP = {
  ciphers: `${DEFAULT_CIPHERS}:!kDHE`,
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** by CA file: what it held last, since a bundle of authorities costs more to understand than all else of a check */
const known = new RecentMap<{ readonly text: string; readonly trust: Trust | undefined }>();

/** undefined when it holds no certificate that can be read */
export function readTrust(caFile: string, text: string): Trust | undefined {
  const before = known.get(caFile);
  if (before?.text === text) return before.trust;
  const trust = parseTrust(text);
  known.set(caFile, { text, trust });
  return trust;
}

function parseTrust(ca: string): Trust | undefined {
  try {
    const authority = oneLine(new X509Certificate(ca).subject);
    return { context: createSecureContext({ ca, ...CHEAP }), authority };
  } catch {
    return undefined; // there is no other way to ask
  }
}

/** `socket` is connected */
export function openTls(
  target: TargetOf<'http'>,
  { url, socket }: { readonly url: URL; readonly socket: PacedSocket },
  trust?: Trust,
): TLSSocket {
  const host = hostOf(url);
  return connect({
    socket,
    host,
    // a name of a server is never an address (RFC 6066); the certificate is still held against the address
    servername: isIP(host) === 0 ? host : '',
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: false,
    ...trustOptions(target, trust),
  });
}

/** without an authority a pin decides alone, and then Node need not read its own list */
function trustOptions({ pin }: TargetOf<'http'>, trust: Trust | undefined) {
  if (trust !== undefined) return { secureContext: trust.context };
  return pin === undefined ? CHEAP : { ca: [], ...CHEAP };
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** Why the server is not the right one; undefined when it is. */
export function distrust(
  socket: TLSSocket,
  target: TargetOf<'http'>,
  trust?: Trust,
): string | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return 'shows no certificate';
  if (target.pin !== undefined) {
    const got = certificate.fingerprint256.replaceAll(':', '').toLowerCase();
    if (got !== target.pin) {
      return `shows a certificate with SHA-256 ${got}, and the pinned one is ${target.pin}`;
    }
    if (target.caFile === undefined) return undefined;
  }
  if (socket.authorized) return undefined;
  const code = String(socket.authorizationError);
  const judged: Judged = { certificate, target, trust };
  return (JUDGEMENTS[code] ?? (() => `shows a certificate that cannot be trusted (${code})`))(
    judged,
  );
}

interface Judged {
  readonly certificate: X509Certificate;
  readonly target: TargetOf<'http'>;
  readonly trust: Trust | undefined;
}

const JUDGEMENTS: Readonly<Record<string, (judged: Judged) => string>> = {
  CERT_HAS_EXPIRED: ({ certificate }) =>
    certificate.validToDate.getTime() < Date.now()
      ? `shows a certificate that expired on ${day(certificate.validToDate)}; today is ${day(new Date())}`
      : 'shows a certificate whose authority has expired',
  CERT_NOT_YET_VALID: ({ certificate }) =>
    `shows a certificate that is not valid before ${day(certificate.validFromDate)}; today is ${day(new Date())}: is this machine's clock right?`,
  ERR_TLS_CERT_ALTNAME_INVALID: ({ certificate, target }) =>
    `shows a certificate for ${certificate.subjectAltName ?? 'no name at all'}, not for ${hostOf(new URL(target.url))}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  CERT_SIGNATURE_FAILURE: unknownAuthority,
};

function unknownAuthority({ certificate, target, trust }: Judged): string {
  const shown = `shows a certificate signed by '${oneLine(certificate.issuer)}'`;
  if (trust === undefined) {
    return `${shown}, which this machine does not trust; name its CA file, or pin the certificate`;
  }
  return `${shown}, and the authority in ${target.caFile} is '${trust.authority}' (another key, if the names agree)`;
}

function oneLine(distinguishedName: string): string {
  return distinguishedName.replaceAll(/\s*\n\s*/g, ', ');
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10);
}
