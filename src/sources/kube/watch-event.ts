/** One line of a watch → an event, or the reason why the watch is over. Pure. */

import type { ApiError, WatchEnd, WatchEvent } from './api.ts';
import { statusError } from './api-status.ts';
import { isKubeObject } from './kube-object.ts';
import { isLoose, part, text } from './loose-fields.ts';

export type WatchLine =
  | { readonly kind: 'event'; readonly event: WatchEvent }
  | { readonly kind: 'end'; readonly end: WatchEnd }
  /** a type that a later version of the API may have */
  | { readonly kind: 'nothing' };

const KINDS = { ADDED: 'added', MODIFIED: 'modified', DELETED: 'deleted' } as const;

export function parseWatchLine(line: string): WatchLine {
  const value = parsed(line);
  if (!isLoose(value)) return failed(new Error('the watch gave a line that is no event'));
  const { type, object } = { type: value['type'], object: value['object'] };
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      if (!isKubeObject(object)) return failed(new Error('the watch gave an event of no object'));
      return { kind: 'event', event: { kind: KINDS[type], object } };
    case 'BOOKMARK': {
      const metadata = isLoose(object) ? part(object, 'metadata') : {};
      const resourceVersion = text(metadata, 'resourceVersion') ?? '';
      return { kind: 'event', event: { kind: 'bookmark', resourceVersion } };
    }
    case 'ERROR':
      return { kind: 'end', end: watchEndOf(statusError(500, object)) };
    default:
      return { kind: 'nothing' };
  }
}

export function watchEndOf(error: ApiError): WatchEnd {
  return error.status === 410 ? { kind: 'gone' } : { kind: 'failed', error };
}

function failed(error: Error): WatchLine {
  return { kind: 'end', end: { kind: 'failed', error } };
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
