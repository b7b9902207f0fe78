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

/** `entry` makes one with text of at most so many characters. Where texts are cut, the first ones keep more of theirs, as long as there is room. */
export function fitting<T, R>(
  list: readonly T[],
  mostBytes: number,
  entry: (item: T, mostText: number) => R,
): readonly R[] {
  let longer: readonly R[] = [];
  for (const mostText of TEXT_STEPS) {
    const entries = list.map((item) => entry(item, mostText));
    const spare = mostBytes - jsonSize(entries);
    if (spare >= 0) return firstLonger(entries, longer, spare);
    longer = entries;
  }
  return firstThatFit(longer, mostBytes);
}

function firstLonger<R>(entries: readonly R[], longer: readonly R[], spare: number): readonly R[] {
  let left = spare;
  const end = longer.findIndex((each, index) => {
    left -= jsonSize(each) - jsonSize(entries[index]);
    return left < 0;
  });
  return end === -1 ? entries : [...longer.slice(0, end), ...entries.slice(end)];
}

function firstThatFit<R>(entries: readonly R[], mostBytes: number): readonly R[] {
  let bytes = 2;
  const end = entries.findIndex((entry) => {
    bytes += jsonSize(entry) + 1;
    return bytes > mostBytes;
  });
  return end === -1 ? entries : entries.slice(0, end);
}
