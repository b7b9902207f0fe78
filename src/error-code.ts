/** The code of an error of the system, such as `ENOENT`; undefined for what has none. Errors are told apart by it, never by their text. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
