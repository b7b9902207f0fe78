/**
 * The corpus of documents: each good one is taken, each bad one is refused at the line and with the words that its own first
 * lines name. `# files-only:` marks where the verdict of an API server is another, and why.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { DirectoryReader } from '../../../../src/sources/files/directory-reader.ts';
import { FolderThread } from '../../../../src/sources/files/folder-thread.ts';
import { readPiece } from '../../../../src/sources/files/read-document.ts';
import { splitDocuments } from '../../../../src/sources/files/split-documents.ts';

const CORPUS = new URL('../../../corpus/documents/', import.meta.url);

function names(folder: 'good' | 'bad'): string[] {
  return readdirSync(new URL(`${folder}/`, CORPUS)).sort();
}

function textOf(folder: 'good' | 'bad', name: string): string {
  return readFileSync(new URL(`${folder}/${name}`, CORPUS), 'utf8');
}

function note(text: string, key: string): string {
  const found = new RegExp(`^# ${key}: (.*)$`, 'm').exec(text)?.[1];
  if (found === undefined) throw new Error(`the document has no comment '# ${key}: …'`);
  return found;
}

describe('corpus of documents', () => {
  it('is large enough to mean something', () => {
    expect(names('good').length).to.be.at.least(25);
    expect(names('bad').length).to.be.at.least(60);
  });

  for (const name of names('good')) {
    it(`takes good/${name}`, () => {
      const text = textOf('good', name);
      expect(splitDocuments(text)).to.have.length(1);
      const [result, ...more] = readPiece(text);
      expect(more).to.deep.equal([]);
      expect(result).to.include({ ok: true });
    });
  }

  describe('bad', () => {
    const reader = new DirectoryReader(new FolderThread(new URL('bad/', CORPUS).pathname));
    const found = new Map<string, { line: number; sentence: string }[]>();

    before(async () => {
      const reading = await reader.read(await reader.find());
      if (!reading.ok) throw new Error(reading.sentence);
      for (const file of reading.files) {
        if (!file.ok) throw new Error(`${file.name}: ${file.sentence}`);
        const faults = file.documents.map(({ result, line }) => {
          return { line, sentence: result.ok ? 'it was taken' : result.sentence };
        });
        found.set(file.name, faults);
      }
    });

    for (const name of names('bad')) {
      it(`refuses bad/${name}`, () => {
        const text = textOf('bad', name);
        const faults = found.get(name) ?? [];
        expect(faults).to.have.length(1);
        expect(faults[0]?.sentence).to.include(note(text, 'says'));
        expect(faults[0]?.line).to.equal(Number(note(text, 'line')));
      });
    }
  });

  describe('aliases that stand for more than anybody can read', () => {
    const levels = ['b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
    const grown = levels.map((level, index) => {
      const below = `*${['a', ...levels][index]}`;
      return `${level}: &${level} [${Array.from({ length: 9 }, () => below).join(', ')}]`;
    });
    const bomb = ['a: &a [1, 2, 3, 4, 5, 6, 7, 8, 9]', ...grown].join('\n');
    const cases = {
      'as a kind': `${bomb}\nkind: *j\n`,
      'as a part': `${bomb}\napiVersion: herald.dev/v1alpha1\nkind: IPClaim\nmetadata: {name: 192.0.2.7}\nspec: {node: *j}\n`,
      'of themselves': '&a\nkind: *a\n',
      'of their list': '&a [*a]\n',
    };
    for (const [name, text] of Object.entries(cases)) {
      it(`are refused ${name}, and soon`, () => {
        const started = performance.now();
        const [result] = readPiece(text);
        expect(result).to.deep.include({
          ok: false,
          sentence: 'its anchors and aliases (& and *) stand for too much; write it out',
        });
        // written out they would be a billion parts
        expect(performance.now() - started).to.be.below(10_000);
      });
    }

    it('are taken where they are what people write', () => {
      const text = `apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata: {name: 192.0.2.7}
spec:
  checks:
    - &check {tcp: {host: 127.0.0.1, port: 80}, intervalSeconds: 1}
    - {<<: *check, tcp: {host: 127.0.0.1, port: 81}}
`;
      expect(readPiece(text)[0]).to.include({ ok: true });
    });
  });

  it('never throws, whatever becomes of the text of a document', () => {
    const texts = [
      ...names('good').map((name) => textOf('good', name)),
      ...names('bad').map((name) => textOf('bad', name)),
    ];
    const mutation = fc.record({
      text: fc.constantFrom(...texts),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      cut: fc.nat({ max: 12 }),
      put: fc.oneof(
        fc.constantFrom(...PIECES),
        fc.string({ maxLength: 6 }),
        fc.constantFrom(...texts),
      ),
    });
    fc.assert(
      fc.property(mutation, ({ text, at, cut, put }) => {
        const index = Math.floor(at * text.length);
        const mutated = text.slice(0, index) + put + text.slice(index + cut);
        for (const piece of splitDocuments(mutated)) {
          for (const result of readPiece(piece.text)) {
            if (!result.ok) expect(result.sentence).to.not.equal('');
          }
        }
      }),
      { numRuns: 1000 },
    );
  });
});

const PIECES = [
  '\n---\n',
  '\n...\n',
  ': ',
  '- ',
  '{',
  '}',
  '[',
  ']',
  '&a ',
  '*a',
  '<<: *a',
  '!!binary ',
  '!!set',
  '|',
  '>',
  '"',
  "'",
  '%YAML 1.2',
  'null',
  '~',
  '.nan',
  '.inf',
  '-1',
  '1e999',
  '__proto__:',
  'constructor:',
  '\t',
  '\u0000',
  '\ud800',
  '? ',
  '#',
];
