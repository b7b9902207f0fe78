/**
 * Prefixes from a file, one per line: `192.0.2.0/24`, `2001:db8::/32`, or a bare address for its host route. `#` starts a comment.
 * Files of some hundred thousand lines are usual, so the text is walked once and never split.
 */

import { type Prefix, parsePrefix, parsePrefixMasked } from 'bgp-ts';
import { UsageError } from './command.ts';

export interface PrefixList {
  readonly prefixes: readonly Prefix[];
  /** what was taken, but not as it stood */
  readonly warnings: readonly string[];
}

const MAX_WARNINGS = 5;
/** of UTF-8, where the text was read octet by octet */
const BYTE_ORDER_MARK = '\u00ef\u00bb\u00bf';

export function parsePrefixList(text: string, source: string): PrefixList {
  const prefixes: Prefix[] = [];
  const warnings: string[] = [];
  let lineNumber = 0;
  let start = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;
  while (start < text.length) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    lineNumber += 1;
    const entry = withoutComment(text.slice(start, end));
    start = end + 1;
    if (entry === '') continue;
    prefixes.push(readEntry(entry, `${source}:${lineNumber}`, warnings));
  }
  return { prefixes, warnings: bounded(warnings) };
}

/** prefixes given as arguments */
export function parsePrefixArguments(args: readonly string[]): PrefixList {
  const warnings: string[] = [];
  const prefixes = args.map((text) => readEntry(text, 'prefix', warnings));
  return { prefixes, warnings: bounded(warnings) };
}

function readEntry(text: string, place: string, warnings: string[]): Prefix {
  const exact = parsePrefix(text);
  if (exact !== undefined) return exact;
  const masked = parsePrefixMasked(text);
  if (masked === undefined) {
    throw new UsageError(`${place}: '${shortened(text)}' is not an IPv4 or IPv6 prefix`);
  }
  if (text.includes('/'))
    warnings.push(`${place}: '${text}' has bits set behind its length; they are cleared`);
  return masked;
}

function withoutComment(line: string): string {
  const comment = line.indexOf('#');
  return (comment === -1 ? line : line.slice(0, comment)).trim();
}

function bounded(warnings: readonly string[]): readonly string[] {
  if (warnings.length <= MAX_WARNINGS) return warnings;
  return [
    ...warnings.slice(0, MAX_WARNINGS),
    `… and ${warnings.length - MAX_WARNINGS} more like these`,
  ];
}

/** for a terminal, which a binary file must not write to: only what is printable stays */
function shortened(text: string): string {
  const visible = text.slice(0, 60).replaceAll(/[^ -~]/g, '?');
  return text.length > 60 ? `${visible}…` : visible;
}
