/**
 * Keeps lists within a number of octets of JSON: first by shorter texts, then by fewer entries. Pure. An object of the API may have
 * 1.5 MB, but every write of a status is sent to everybody who watches it.
 */

const encoder = new TextEncoder();

export function jsonSize(value: unknown): number {
  return encoder.encode(JSON.stringify(value)).length;
}

/** how long the free text of an entry may be, from plenty to none */
export const TEXT_STEPS = [1024, 256, 80, 0] as const;

/** `entry` makes one with text of at most so many characters */
export function fitting<T, R>(
  list: readonly T[],
  mostBytes: number,
  entry: (item: T, mostText: number) => R,
): readonly R[] {
  let entries: readonly R[] = [];
  for (const mostText of TEXT_STEPS) {
    entries = list.map((item) => entry(item, mostText));
    if (jsonSize(entries) <= mostBytes) return entries;
  }
  return firstThatFit(entries, mostBytes);
}

function firstThatFit<R>(entries: readonly R[], mostBytes: number): readonly R[] {
  let bytes = 2;
  const end = entries.findIndex((entry) => {
    bytes += jsonSize(entry) + 1;
    return bytes > mostBytes;
  });
  return end === -1 ? entries : entries.slice(0, end);
}
