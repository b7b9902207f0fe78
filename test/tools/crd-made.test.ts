/** What is made from deploy/crds is current, and what is said about the CRDs in general holds for each. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { PATTERN_WORDS } from '../../src/sources/files/schema-sentence.ts';
import { CRD_VALIDATORS_FILE, crdValidators, readCrdSchema } from '../../tools/crd-validators.ts';
import { DOCUMENT_FIELDS_FILE, documentFields } from '../../tools/document-fields.ts';

const CRDS = new URL('../../deploy/crds/', import.meta.url);

type Json = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

interface Node {
  readonly path: string;
  readonly schema: Json;
}

function nodes(schema: Json, path: string): Node[] {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : [];
  return [
    { path, schema },
    ...properties.flatMap(([name, value]) =>
      isObject(value) ? nodes(value, `${path}.${name}`) : [],
    ),
    ...(isObject(schema['items']) ? nodes(schema['items'], `${path}[]`) : []),
  ];
}

describe('deploy/crds', () => {
  const files = readdirSync(CRDS)
    .filter((name) => name !== 'kustomization.yaml')
    .sort();

  it('has the four kinds, all of them for kustomize', () => {
    expect(files).to.deep.equal(['bgppeers.yaml', 'ipclaims.yaml', 'ipnodes.yaml', 'ippools.yaml']);
    const kustomization = load(readFileSync(new URL('kustomization.yaml', CRDS), 'utf8'));
    expect(kustomization).to.have.deep.property('resources', files);
  });

  it('is what the validators of files mode are made from', () => {
    expect(crdValidators(), 'run: node tools/crd-validators.ts').to.equal(
      readFileSync(CRD_VALIDATORS_FILE, 'utf8'),
    );
  });

  it('is what docs/documents.md is made from', () => {
    expect(documentFields(), 'run: node tools/document-fields.ts').to.equal(
      readFileSync(DOCUMENT_FIELDS_FILE, 'utf8'),
    );
  });

  for (const file of files) {
    describe(file, () => {
      const crd = load(readFileSync(new URL(file, CRDS), 'utf8'));
      const all = nodes(readCrdSchema(file.replace('.yaml', '')), '');
      const ours = all.filter(({ path }) => /^\.(spec|status)/.test(path));

      it('is cluster-scoped, in the category herald, with status, columns and a short name', () => {
        expect(crd).to.have.nested.property('spec.scope', 'Cluster');
        expect(crd).to.have.deep.nested.property('spec.names.categories', ['herald']);
        expect(crd).to.have.nested.property('spec.names.shortNames[0]');
        expect(crd).to.have.deep.nested.property('spec.versions[0].subresources.status', {});
        expect(crd).to.have.nested.property('spec.versions[0].additionalPrinterColumns[3]');
      });

      it('describes every field', () => {
        const silent = ours.filter(
          ({ path, schema }) => !path.endsWith('[]') && schema['description'] === undefined,
        );
        expect(silent.map(({ path }) => path)).to.deep.equal([]);
      });

      it('bounds every text, list and number, which keeps the cost of rules bounded', () => {
        const open = ours.filter(({ schema }) => !isBounded(schema));
        expect(open.map(({ path }) => path)).to.deep.equal([]);
      });

      it('has a message for every rule', () => {
        const rules = all.flatMap(({ schema }) => schema['x-kubernetes-validations'] ?? []);
        for (const rule of rules) {
          expect(rule).to.have.property('message').that.is.a('string').with.length.above(10);
        }
      });

      it('has patterns that messages have words for', () => {
        const patterns = all.flatMap(({ schema }) => schema['pattern'] ?? []);
        expect([...PATTERN_WORDS.keys()]).to.include.members(patterns);
      });
    });
  }
});

function isBounded(schema: Json): boolean {
  switch (schema['type']) {
    case 'string':
      return ['maxLength', 'enum', 'format'].some((key) => schema[key] !== undefined);
    case 'array':
      return schema['maxItems'] !== undefined;
    case 'integer':
    case 'number':
      return schema['minimum'] !== undefined;
    default:
      return true;
  }
}
