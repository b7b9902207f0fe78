/** What may be a TCP-MD5 key, wherever it is kept. Pure. */

/** RFC 2385 leaves the length open; the kernel takes 80 octets */
const MAX_OCTETS = 80;

export type PasswordText =
  | { readonly ok: true; readonly password: string }
  | { readonly ok: false; readonly problem: string };

export function readPasswordText(text: string): PasswordText {
  // an editor's line end is not part of the key
  const password = text.replace(/\r?\n$/, '');
  const octets = new TextEncoder().encode(password).length;
  if (octets === 0) return { ok: false, problem: 'is empty' };
  if (octets > MAX_OCTETS) {
    const problem = `holds ${octets} octets, at most ${MAX_OCTETS} are possible`;
    return { ok: false, problem };
  }
  return { ok: true, password };
}
