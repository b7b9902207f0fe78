/** After an error: takes away what was there by then, and throws. */

/** The error itself where nothing is left; else one that tells both, the error first: it is why, the rest is what to look after. */
export async function undoAndThrow(error: unknown, undo: () => Promise<unknown>): Promise<never> {
  try {
    await undo();
  } catch (second) {
    const both = `${messageOf(error)}; and not everything could be taken away again: ${messageOf(second)}`;
    throw new Error(both, { cause: error });
  }
  throw error;
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);
