/**
 * What a check asks, as one word of a command line: `https://127.0.0.1:6443/readyz`, `http://…`, `tcp://[::1]:22`, `file:/run/ready`,
 * `exec:/usr/local/bin/check --fast`; and back to text, for people. Pure. Certificates do not fit in a word: they come beside it.
 */

import type { CheckTarget } from '../model/check-spec.ts';

export type ParsedTarget =
  | { readonly ok: true; readonly target: CheckTarget }
  | { readonly ok: false; readonly sentence: string };

export interface TargetTrust {
  readonly caFile?: string;
  /** as typed: colons and capitals as `openssl x509 -fingerprint -sha256` prints them are taken too */
  readonly pin?: string;
}

const FORMS =
  'https://HOST:PORT/PATH, http://…, tcp://HOST:PORT, file:/PATH or exec:COMMAND ARGUMENTS';
const PIN = /^[0-9a-f]{64}$/;

export function parseTarget(text: string, trust: TargetTrust = {}): ParsedTarget {
  const scheme = /^([a-z]+):/.exec(text)?.[1];
  if (scheme === 'https') return parseHttps(text, trust);
  if (trust.caFile !== undefined || trust.pin !== undefined) {
    return wrong(text, 'a CA file or a pinned certificate is for https:// only');
  }
  if (scheme === 'http') return parseUrl(text);
  if (scheme === 'tcp') return parseTcp(text);
  if (scheme === 'file') return parseFile(text);
  if (scheme === 'exec') return parseExec(text);
  return wrong(text, `a check is ${FORMS}`);
}

function wrong(text: string, why: string): ParsedTarget {
  return { ok: false, sentence: `'${text}': ${why}` };
}

function parseHttps(text: string, { caFile, pin }: TargetTrust): ParsedTarget {
  const parsed = parseUrl(text);
  if (!parsed.ok || parsed.target.kind !== 'http') return parsed;
  if (caFile === '') return wrong(text, 'the name of the CA file is empty');
  const digits = pin === undefined ? undefined : parsePin(pin);
  if (pin !== undefined && digits === undefined) {
    return wrong(
      text,
      `the pin '${pin}' is not a SHA-256 of 64 hex digits; 'openssl x509 -in FILE -noout -fingerprint -sha256' prints one`,
    );
  }
  return {
    ok: true,
    target: {
      ...parsed.target,
      ...(caFile === undefined ? {} : { caFile }),
      ...(digits === undefined ? {} : { pin: digits }),
    },
  };
}

/** as openssl prints it, or plain; undefined for what is no SHA-256 */
export function parsePin(text: string): string | undefined {
  const digits = text.replaceAll(':', '').toLowerCase();
  return PIN.test(digits) ? digits : undefined;
}

function parseUrl(text: string): ParsedTarget {
  const url = /^https?:\/\//.test(text) ? URL.parse(text) : null;
  if (url === null) return wrong(text, 'not a URL; write https://HOST:PORT/PATH');
  if (url.username !== '' || url.password !== '') {
    return wrong(text, 'a user or password in the URL would be shown in status; remove it');
  }
  if (url.port === '0') return wrong(text, 'port 0 cannot be asked; write 1 to 65535');
  url.hash = '';
  return { ok: true, target: { kind: 'http', url: url.href } };
}

const TCP = /^tcp:\/\/(?:\[([^\]]*)\]|([^\][:/\s@]+)):([0-9]{1,5})$/;

function parseTcp(text: string): ParsedTarget {
  const [, ipv6, name, digits] = TCP.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  if (host === undefined || (ipv6 !== undefined && !isIpv6(ipv6))) {
    return wrong(
      text,
      'write tcp://HOST:PORT, an IPv6 address in brackets: tcp://[2001:db8::1]:443',
    );
  }
  if (port < 1 || port > 65535) return wrong(text, `port ${digits} is not 1 to 65535`);
  return { ok: true, target: { kind: 'tcp', host, port } };
}

/** a zone (`fe80::1%eth0`) is the connecting side's business, not part of the address */
function isIpv6(text: string): boolean {
  const [address = '', zone, ...more] = text.split('%');
  return URL.canParse(`http://[${address}]/`) && zone !== '' && more.length === 0;
}

function parseFile(text: string): ParsedTarget {
  const path = text.slice('file:'.length).replace(/^\/\/(?=\/)/, '');
  if (!path.startsWith('/') || path.startsWith('//')) {
    return wrong(text, 'the path must be absolute: file:/run/ready');
  }
  if (path.includes('\0')) return wrong(text, 'a path holds no NUL');
  return { ok: true, target: { kind: 'file', path } };
}

function parseExec(text: string): ParsedTarget {
  const command = splitWords(text.slice('exec:'.length));
  if (command === undefined) return wrong(text, 'a quote is opened and not closed');
  if (command.length === 0 || command[0] === '') {
    return wrong(text, 'no command; write exec:/usr/local/bin/check ARGUMENTS');
  }
  if (command.some((word) => word.includes('\0'))) return wrong(text, 'a command holds no NUL');
  return { ok: true, target: { kind: 'exec', command } };
}

const QUOTED = /'[^']*'|"[^"]*"/g;

/**
 * Words between blanks; single or double quotes keep blanks and are taken off, there are no escapes. Not a shell on purpose:
 * `$`, `*` and `;` are plain characters. Undefined when a quote stays open.
 */
function splitWords(text: string): readonly string[] | undefined {
  if (/['"]/.test(text.replaceAll(QUOTED, ''))) return undefined;
  const words = text.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+/g) ?? [];
  return words.map((word) => word.replaceAll(QUOTED, (piece) => piece.slice(1, -1)));
}

/** For people and as a key: what is asked, without what it is trusted by. `parseTarget` reads it back. */
export function formatTarget(target: CheckTarget): string {
  switch (target.kind) {
    case 'http':
      return target.url;
    case 'tcp':
      return `tcp://${target.host.includes(':') ? `[${target.host}]` : target.host}:${target.port}`;
    case 'file':
      return `file:${target.path}`;
    case 'exec':
      return `exec:${target.command.map(quoteWord).join(' ')}`;
  }
}

function quoteWord(word: string): string {
  if (word !== '' && !/[\s'"]/.test(word)) return word;
  if (!word.includes("'")) return `'${word}'`;
  // no escapes: a word with both kinds is written in pieces
  return word.replaceAll(/[^']+|'+/g, (piece) =>
    piece.startsWith("'") ? `"${piece}"` : `'${piece}'`,
  );
}
