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

/** How far each file was written at some moment. */
export type AuditMark = readonly number[];

export function auditMark(files: readonly string[]): AuditMark {
  return files.map(sizeOf);
}

/** Entries behind the mark, file by file; a line that is still being written is left for the next time. */
export function readAudit(files: readonly string[], mark: AuditMark = []): AuditEntry[] {
  return files.flatMap((file, index) => {
    const from = mark[index] ?? 0;
    const lines = tail(file, from).split('\n').slice(0, -1);
    return lines.map((line) => entryOf(parseJson(line)));
  });
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
