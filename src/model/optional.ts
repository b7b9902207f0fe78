/** Builds objects whose optional properties are absent rather than undefined (exactOptionalPropertyTypes). */

/** a property that is there only where it has a value */
export function optional<K extends string, V>(
  key: K,
  value: V | undefined,
): { readonly [P in K]?: V } {
  const entry: { [P in K]?: V } = {};
  if (value !== undefined) entry[key] = value;
  return entry;
}
