/** What an API server says when it says no (metav1.Status, or anything that stands between us and it) → ApiError. Pure. */

import { ApiError } from './api.ts';
import { filledText, isLoose, part, wholeNumber } from './loose-fields.ts';

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  409: 'Conflict',
  410: 'Expired',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
/** a page of a proxy is not a sentence */
const LONGEST_TEXT = 200;
/** whatever a server says, somebody who waits longer has forgotten why */
const LONGEST_WAIT_MS = 60_000;

/** `body` is what was read: parsed JSON, or text where it was none */
export function statusError(status: number, body: unknown, retryAfter?: string): ApiError {
  const said = isLoose(body) ? body : {};
  const code = wholeNumber(said, 'code') ?? status;
  const reason = filledText(said, 'reason') ?? REASONS[code] ?? `HTTP ${code}`;
  const plain = typeof body === 'string' ? body.slice(0, LONGEST_TEXT).trim() : '';
  const message = filledText(said, 'message') ?? (plain === '' ? reason : plain);
  const seconds =
    headerSeconds(retryAfter) ?? wholeNumber(part(said, 'details'), 'retryAfterSeconds');
  const waitMs = seconds === undefined ? undefined : Math.min(seconds * 1000, LONGEST_WAIT_MS);
  return new ApiError(code, reason, message, waitMs);
}

/** the API server gives seconds; a date, which HTTP allows too, is not looked at */
function headerSeconds(retryAfter: string | undefined): number | undefined {
  return retryAfter !== undefined && /^\d+$/.test(retryAfter) ? Number(retryAfter) : undefined;
}
