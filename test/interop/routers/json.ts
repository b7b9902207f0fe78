/**
 * Reading JSON that a router's CLI printed: nothing is assumed about its shape, an absent field is undefined and
 * not an exception, so that a router that is still starting looks like one without sessions.
 */

export function parseJson(text: string): unknown {
  return JSON.parse(text);
}

export function field(value: unknown, ...path: readonly string[]): unknown {
  let current = value;
  for (const name of path) {
    if (typeof current !== 'object' || current === null) return undefined;
    current = Object.getOwnPropertyDescriptor(current, name)?.value;
  }
  return current;
}

export function items(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

export function entries(value: unknown): [string, unknown][] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function optionalText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function optionalNumber(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
