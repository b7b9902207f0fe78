/**
 * The library's door: whatever can be called through it is explained with an example, and an example that says what comes out
 * (`expression; // value`) is right.
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import * as library from '../../protocol/index.ts';

const folder = join(import.meta.dirname, '../../protocol');

/** name and file of everything that is exported and is not a type */
function exportsOfIndex(): readonly (readonly [string, string])[] {
  const index = readFileSync(join(folder, 'index.ts'), 'utf8');
  return [...index.matchAll(/^export \{([^}]*)\} from '([^']+)'/gm)].flatMap(
    ([, names = '', file = '']) =>
      names
        .split(',')
        .map((name) => name.trim())
        .filter((name) => name !== '' && !name.startsWith('type '))
        .map((name) => [name, file] as const),
  );
}

/** the lines of its example; undefined without one */
function exampleOf(name: string, file: string): readonly string[] | undefined {
  const source = readFileSync(join(folder, file), 'utf8');
  const comment = String.raw`\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n`;
  const found = new RegExp(`${comment}export (?:function|class|const) ${name}\\b`).exec(source);
  const example = found?.[1]?.split('@example')[1];
  return example
    ?.split('\n')
    .map((line) => line.replace(/^ *\* ?/, '').trim())
    .filter((line) => line !== '');
}

/** what an expression in the words of the library comes to; undefined where it needs more than the library */
function evaluate(expression: string): { readonly value: unknown } | undefined {
  const names = Object.keys(library);
  const body = `'use strict'; return { value: (${expression}) };`;
  try {
    return new Function(...names, body)(...names.map((name) => Reflect.get(library, name)));
  } catch (error) {
    // `state`, `config`: what the reader has
    if (error instanceof ReferenceError) return undefined;
    throw error;
  }
}

describe('bgp-ts, its door', () => {
  const all = exportsOfIndex();
  let checked = 0;

  it('is not empty', () => expect(all.length).to.be.above(80));

  for (const [name, file] of all) {
    if (typeof Reflect.get(library, name) !== 'function') continue;
    it(`${name} has an example, and it is right`, () => {
      const example = exampleOf(name, file);
      expect(example, `no @example in ${file}`).to.not.equal(undefined);
      for (const line of example ?? []) {
        const [, expression, said] = /^(.+?);? \/\/ (.+)$/.exec(line) ?? [];
        if (
          expression === undefined ||
          said === undefined ||
          !/^['{\d]|^(true|false|undefined|Uint8Array)/.test(said)
        )
          continue;
        const outcome = evaluate(expression);
        if (outcome === undefined) continue;
        checked += 1;
        expect(JSON.parse(JSON.stringify({ it: outcome.value })), line).to.deep.equal(
          JSON.parse(JSON.stringify({ it: evaluate(said)?.value })),
        );
      }
    });
  }

  it('had values to compare', () => expect(checked).to.be.above(25));
});
