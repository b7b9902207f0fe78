/** Unknown JSON of a router, a field at a time. Pure. */

export function parsed(text: string): unknown {
  return JSON.parse(text.trim() === '' ? '{}' : text);
}

export function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

export function list(value: unknown, name: string): readonly unknown[] {
  const found = field(value, name);
  return Array.isArray(found) ? found : [];
}
