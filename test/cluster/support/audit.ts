/** The audit log of a test cluster, read back: who asked for what and what came of it. */

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import {
  field,
  items,
  optionalNumber,
  optionalText,
  parseJson,
  text,
} from '../../interop/routers/json.ts';

export interface AuditEntry {
  /** `ResponseComplete`; a watch has `ResponseStarted` too */
  readonly stage: string;
  readonly verb: string;
  readonly user: string;
  readonly groups: readonly string[];
  readonly userAgent: string;
  readonly uri: string;
  /** empty for what is no resource, /readyz */
  readonly resource: string;
  readonly group: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly code: number;
  /** `allow` or `forbid` */
  readonly decision?: string;
  /** when the server got it, as it writes times */
  readonly receivedAt: string;
}

/** A moment, and how far each file was written by then. */
export interface AuditMark {
  readonly atMs: number;
  readonly sizes: readonly number[];
}

export function auditMark(files: readonly string[]): AuditMark {
  return { atMs: Date.now(), sizes: files.map(sizeOf) };
}

/**
 * What came to the servers since the mark, file by file; a line that is still being written is left for the next time. A server may write its line after its
 * answer: one behind the mark can be of a request from before it, and counts as such.
 */
export function readAudit(files: readonly string[], mark?: AuditMark): AuditEntry[] {
  const entries = files.flatMap((file, index) =>
    linesBehind(file, mark?.sizes[index] ?? 0).map((line) => entryOf(parseJson(line))),
  );
  if (mark === undefined) return entries;
  return entries.filter(({ receivedAt }) => Date.parse(receivedAt) >= mark.atMs);
}

/** Whole lines; one that was half written when the mark was set is not behind it. */
function linesBehind(file: string, size: number): string[] {
  if (size === 0) return tail(file, 0).split('\n').slice(0, -1);
  return tail(file, size - 1)
    .split('\n')
    .slice(1, -1);
}

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

function tail(file: string, from: number): string {
  const length = sizeOf(file) - from;
  if (length <= 0) return '';
  const handle = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(length);
    return bytes.toString('utf8', 0, readSync(handle, bytes, 0, length, from));
  } finally {
    closeSync(handle);
  }
}

function entryOf(event: unknown): AuditEntry {
  const of = (name: string) => optionalText(field(event, 'objectRef', name));
  const [subresource, namespace, name] = [of('subresource'), of('namespace'), of('name')];
  const decision = optionalText(field(event, 'annotations', 'authorization.k8s.io/decision'));
  return {
    stage: text(field(event, 'stage')),
    verb: text(field(event, 'verb')),
    user: text(field(event, 'user', 'username')),
    groups: items(field(event, 'user', 'groups')).map(text),
    userAgent: text(field(event, 'userAgent')),
    uri: text(field(event, 'requestURI')),
    resource: of('resource') ?? '',
    group: of('apiGroup') ?? '',
    code: optionalNumber(field(event, 'responseStatus', 'code')) ?? 0,
    receivedAt: text(field(event, 'requestReceivedTimestamp')),
    ...(subresource === undefined ? {} : { subresource }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    ...(decision === undefined ? {} : { decision }),
  };
}
