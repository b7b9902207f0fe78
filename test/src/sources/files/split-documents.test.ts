/** Cutting files into documents agrees with a YAML parser about where they are. */

import { expect } from 'chai';
import fc from 'fast-check';
import { loadAll } from 'js-yaml';
import { nearest } from '../../../../src/model/nearest.ts';
import { contentLine, splitDocuments } from '../../../../src/sources/files/split-documents.ts';

describe('splitDocuments', () => {
  const pieces = (text: string) =>
    splitDocuments(text).map(({ line, text: piece }) => [line, piece]);

  it('cuts at markers, keeps lines, drops what is empty', () => {
    expect(pieces('a: 1\n---\nb: 2\n')).to.deep.equal([
      [1, 'a: 1\n'],
      [2, '---\nb: 2\n'],
    ]);
    expect(pieces('---\n# only words\n---\n\n---\nc: 3')).to.deep.equal([[4 + 1, '---\nc: 3']]);
    expect(pieces('')).to.deep.equal([]);
    expect(pieces('\n  \n# x\n')).to.deep.equal([]);
  });

  it('knows Windows line ends, content behind a marker, and directives', () => {
    expect(pieces('a: 1\r\n---\r\nb: 2\r\n')).to.have.length(2);
    expect(pieces('--- {a: 1}\n--- # two\nb: 2\n')).to.have.length(2);
    expect(pieces('%YAML 1.2\n---\na: 1\n')).to.deep.equal([[1, '%YAML 1.2\n---\na: 1\n']]);
  });

  it('leaves alone what only looks like a marker', () => {
    expect(pieces('a: |\n  ---\n  b\nc: ----\n')).to.have.length(1);
    expect(pieces('----\n')).to.have.length(1);
  });

  it('finds as many documents as a parser does', () => {
    const document = fc.constantFrom(
      'a: 1\n',
      '# words\nb: [1,\n 2]\n',
      'c: |\n  ---\n  x\n',
      '"d"\n',
    );
    fc.assert(
      fc.property(fc.array(document, { minLength: 1, maxLength: 6 }), (documents) => {
        const text = documents.join('---\n');
        expect(splitDocuments(text)).to.have.length(loadAll(text).length);
      }),
      { numRuns: 200 },
    );
  });

  it('says at which line the content begins', () => {
    expect(contentLine('a: 1\n')).to.equal(0);
    expect(contentLine('---\n# x\n\na: 1\n')).to.equal(3);
  });
});

describe('nearest', () => {
  const words = ['address', 'addressRange', 'asn', 'localASN', 'nodeSelector'];

  it('guesses what was meant', () => {
    expect(nearest('adress', words)).to.equal('address');
    expect(nearest('localAsn', words)).to.equal('localASN');
    expect(nearest('nodeSelctor', words)).to.equal('nodeSelector');
    expect(nearest('ans', words)).to.equal('asn');
  });

  it('does not guess wildly', () => {
    expect(nearest('bfd', words)).to.equal(undefined);
    expect(nearest('l2', words)).to.equal(undefined);
    expect(nearest('', words)).to.equal(undefined);
  });
});
