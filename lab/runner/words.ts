/** A command line as words, by the rules that containerlab uses for `cmd`, `entrypoint` and `exec`: quotes, no shell. */

import { LabRefusal } from './refusal.ts';

const part = /\s+|'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])|([^\s'"\\]+)|[\s\S]/g;

export function splitWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  for (const [text, single, double, escaped, plain] of line.matchAll(part)) {
    if (/^\s+$/.test(text)) {
      if (word !== undefined) words.push(word);
      word = undefined;
      continue;
    }
    const piece = single ?? double?.replaceAll(/\\(["\\])/g, '$1') ?? escaped ?? plain;
    if (piece === undefined) throw new LabRefusal(`the quote in \`${line}\` has no end`);
    word = `${word ?? ''}${piece}`;
  }
  if (word !== undefined) words.push(word);
  return words;
}
