/** What may be a TCP-MD5 key, wherever it is kept. Pure. */

/** RFC 2385 leaves the length open; the kernel takes 80 octets */
const MAX_OCTETS = 80;

export type PasswordText =
  | { readonly ok: true; readonly password: string }
  | { readonly ok: false; readonly problem: string };

/** The first line is the key, as `herald router` reads it: what an editor leaves behind it is not part of it. */
export function readPasswordText(text: string): PasswordText {
  const [password = ''] = text.split(/\r?\n/, 1);
  const octets = new TextEncoder().encode(password).length;
  if (octets === 0) {
    const problem = text.trim() === '' ? 'is empty' : 'has an empty first line, which is the key';
    return { ok: false, problem };
  }
  if (octets > MAX_OCTETS) {
    const problem = `holds ${octets} octets, at most ${MAX_OCTETS} are possible`;
    return { ok: false, problem };
  }
  return { ok: true, password };
}
