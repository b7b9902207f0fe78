/** The `ok:false` line of `herald decode` for input that is no BGP message at all. */

/** It has no NOTIFICATION code, so that stands as 0. */
export function notAMessage(detail: string): Readonly<Record<string, unknown>> {
  const fault = { code: 0, subcode: 0, data: '', outcome: 'reset', withdrawn: [], detail };
  return { ok: false, fault };
}
