/**
 * Patches for the in-memory API: JSON merge patch (RFC 7386), JSON patch (RFC 6902: add, replace, remove, test). Strategic merge and
 * apply are taken as merges, which is what they are for objects without lists that merge by key.
 */

import { ApiError, type Patch } from '../../src/sources/kube/api.ts';

export type Json = Readonly<Record<string, unknown>>;

export function applyPatch(target: Json, patch: Patch): Json {
  const body = patch.kind === 'json' ? jsonPatched(target, patch.body) : merged(target, patch.body);
  if (!isRecord(body)) throw invalid('a patch must leave an object');
  return body;
}

function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

function jsonPatched(target: unknown, operations: unknown): unknown {
  if (!Array.isArray(operations)) throw invalid('a JSON patch is a list');
  return operations.reduce(operated, structuredClone(target));
}

function operated(document: unknown, operation: unknown): unknown {
  if (!isRecord(operation)) throw invalid('an operation is an object');
  const { op, path, value } = {
    op: operation['op'],
    path: operation['path'],
    value: operation['value'],
  };
  if (typeof path !== 'string') throw invalid('an operation has a path');
  const keys = path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  return changed(document, keys, { op, value });
}

type Change = { readonly op: unknown; readonly value: unknown };

function changed(node: unknown, keys: readonly string[], change: Change): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return changedRoot(node, change);
  if (Array.isArray(node)) return changedList(node, key, { rest, change });
  if (!isRecord(node)) throw invalid(`there is nothing at '${key}'`);
  const result: Record<string, unknown> = { ...node };
  if (rest.length > 0) result[key] = changed(result[key], rest, change);
  else if (change.op === 'add') result[key] = change.value;
  else if (!(key in result)) throw invalid(`there is no '${key}' to ${String(change.op)}`);
  else if (change.op === 'remove') delete result[key];
  else result[key] = changedRoot(result[key], change);
  return result;
}

function changedRoot(node: unknown, { op, value }: Change): unknown {
  if (op === 'test') {
    if (JSON.stringify(node) !== JSON.stringify(value)) throw invalid('a test of the patch fails');
    return node;
  }
  return value;
}

function changedList(
  list: readonly unknown[],
  key: string,
  { rest, change }: { readonly rest: readonly string[]; readonly change: Change },
): readonly unknown[] {
  const index = key === '-' ? list.length : Number(key);
  if (rest.length > 0) return list.with(index, changed(list[index], rest, change));
  if (change.op === 'add') return list.toSpliced(index, 0, change.value);
  if (!(index < list.length)) throw invalid(`the list has no item ${key}`);
  if (change.op === 'remove') return list.toSpliced(index, 1);
  return list.with(index, changedRoot(list[index], change));
}

function invalid(message: string): ApiError {
  return new ApiError(422, 'Invalid', message);
}

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
