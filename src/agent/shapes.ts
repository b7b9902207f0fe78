/** Shapes of values that were read from JSON, put together from small ones; each says where and what is wrong. Pure. Fields that a shape does not name may be there. */

/** undefined: it is right; else a sentence that begins with the path */
export type Shape = (value: unknown, path: string) => string | undefined;

export const text: Shape = (value, path) =>
  typeof value === 'string' ? undefined : `${path} is no text`;

export const flag: Shape = (value, path) =>
  typeof value === 'boolean' ? undefined : `${path} is neither true nor false`;

export function whole(least: number, most: number): Shape {
  return (value, path) =>
    Number.isInteger(value) && Number(value) >= least && Number(value) <= most
      ? undefined
      : `${path} is no whole number from ${least} to ${most}`;
}

export function oneOf(...allowed: readonly unknown[]): Shape {
  return (value, path) =>
    allowed.includes(value) ? undefined : `${path} is none of ${allowed.join(', ')}`;
}

export function listOf(item: Shape): Shape {
  return (value, path) => {
    if (!Array.isArray(value)) return `${path} is no list`;
    for (const [index, each] of value.entries()) {
      const fault = item(each, `${path}[${index}]`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

export const texts = listOf(text);

/** `needed` must be there, `may` may */
export function object(
  needed: Readonly<Record<string, Shape>>,
  may: Readonly<Record<string, Shape>> = {},
): Shape {
  const always = Object.entries(needed);
  const sometimes = Object.entries(may);
  return (value, path) => {
    if (!isObject(value)) return `${path} is no object`;
    for (const [name, shape] of always) {
      const fault = shape(value[name], `${path}.${name}`);
      if (fault !== undefined) return fault;
    }
    for (const [name, shape] of sometimes) {
      const each = value[name];
      const fault = each === undefined ? undefined : shape(each, `${path}.${name}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

export function recordOf(item: Shape): Shape {
  return (value, path) => {
    if (!isObject(value)) return `${path} is no object`;
    for (const [name, each] of Object.entries(value)) {
      const fault = item(each, `${path}.${name}`);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

/** The field `by` says which of the shapes it has. */
export function kinds(by: string, shapes: Readonly<Record<string, Shape>>): Shape {
  return (value, path) => {
    if (!isObject(value)) return `${path} is no object`;
    const kind = value[by];
    const shape =
      typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
    if (shape === undefined) return `${path}.${by} is none of ${Object.keys(shapes).join(', ')}`;
    return shape(value, path);
  };
}

/** All of them, in this order: a later one may rely on what an earlier one has found. */
export function all(...shapes: readonly Shape[]): Shape {
  return (value, path) => {
    for (const shape of shapes) {
      const fault = shape(value, path);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
