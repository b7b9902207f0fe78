/**
 * Does something for each of many, whatever becomes of the others: a mistake in what is done for one neighbour must not keep a withdrawal
 * from another. The first error comes out when all had their turn.
 */
export function eachApart<T>(all: Iterable<T>, act: (one: T) => void): void {
  let first: { readonly error: unknown } | undefined;
  for (const one of all) {
    try {
      act(one);
    } catch (error) {
      first ??= { error };
    }
  }
  if (first !== undefined) throw first.error;
}
