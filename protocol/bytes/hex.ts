/**
 * Bytes as lower-case hexadecimal text and back. Reading skips blanks and colons, so that what tshark, tcpdump and
 * router logs print can be pasted as it is.
 */

const DIGITS: readonly string[] = Array.from({ length: 256 }, (_, value) =>
  value.toString(16).padStart(2, '0'),
);

/**
 * Two lower-case digits for each octet.
 *
 * @example
 * formatHex(Uint8Array.of(0, 19, 4)); // '001304'
 */
export function formatHex(bytes: Uint8Array): string {
  let text = '';
  for (const value of bytes) text += DIGITS[value];
  return text;
}

/**
 * Undefined where a character is no digit, blank or colon, or where the last octet has one digit only.
 *
 * @example
 * parseHex('00:13 04'); // Uint8Array.of(0, 19, 4)
 */
export function parseHex(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(text.length >> 1);
  let length = 0;
  let high = -1;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const digit = hexDigit(code);
    if (digit >= 0) {
      if (high < 0) high = digit;
      else {
        bytes[length++] = (high << 4) | digit;
        high = -1;
      }
    } else if (!isSeparator(code)) {
      return undefined;
    }
  }
  if (high >= 0) return undefined;
  return length === bytes.length ? bytes : bytes.slice(0, length);
}

/** The value of a hexadecimal digit by its character code, -1 for any other character. */
export function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48;
  const lower = code | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/** blank, tab, carriage return, colon */
function isSeparator(code: number): boolean {
  return code === 32 || code === 9 || code === 13 || code === 58;
}
