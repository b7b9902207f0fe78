/**
 * Makes src/sources/files/crd-validators.mjs from deploy/crds: the shapes as functions that ajv has written out, the CEL rules as a
 * list, the schemas as JSON for messages. So an agent starts without reading, parsing and compiling schemas (100 ms), and the
 * bundle carries them. `node tools/crd-validators.ts` writes it; a test sees that the committed file is current.
 *
 * Two things are added to what the API server would take from the CRDs, since documents in files have no API server in front of
 * them: metadata gets the schema that the API server has for it, and fields that are not in the schema are refused.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { load } from 'js-yaml';

export const CRD_VALIDATORS_FILE = new URL(
  '../src/sources/files/crd-validators.mjs',
  import.meta.url,
);

/** the kinds that may stand in files, and where their CRDs are */
const KINDS = { BGPPeer: 'bgppeers', IPPool: 'ippools', IPClaim: 'ipclaims' } as const;

type Json = Readonly<Record<string, unknown>>;

interface Rule {
  readonly path: readonly string[];
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/** what a Kubernetes API server asks of metadata; what it fills in itself may stand there too */
const METADATA: Json = {
  type: 'object',
  required: ['name'],
  properties: {
    name: {
      type: 'string',
      minLength: 1,
      maxLength: 253,
      pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
    },
    labels: {
      type: 'object',
      propertyNames: {
        pattern:
          '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$',
      },
      additionalProperties: {
        type: 'string',
        pattern: '^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$',
      },
    },
    annotations: { type: 'object', additionalProperties: { type: 'string' } },
    creationTimestamp: {},
    deletionGracePeriodSeconds: {},
    deletionTimestamp: {},
    finalizers: {},
    generation: {},
    managedFields: {},
    ownerReferences: {},
    resourceVersion: {},
    selfLink: {},
    uid: {},
  },
};

export function readCrdSchema(plural: string): Json {
  const file = new URL(`../deploy/crds/${plural}.yaml`, import.meta.url);
  const [version] = array(object(object(load(readFileSync(file, 'utf8')))['spec'])['versions']);
  return object(object(object(version)['schema'])['openAPIV3Schema']);
}

/** The schema as files mode applies it. Status is left out: it is cut off before. */
function filesSchema(crd: Json): Json {
  const { status: _status, metadata, ...properties } = object(crd['properties']);
  const name = object(object(metadata)['properties'] ?? {})['name'] ?? {};
  const metadataProperties = object(METADATA['properties']);
  return strict({
    ...crd,
    properties: {
      ...properties,
      metadata: {
        ...METADATA,
        properties: {
          ...metadataProperties,
          name: { ...object(metadataProperties['name']), ...object(name) },
        },
      },
    },
    required: ['apiVersion', 'kind', 'metadata', ...array(crd['required'] ?? [])],
  });
}

/** Unknown fields are refused, at every level. */
function strict(schema: Json): Json {
  const changed: Record<string, unknown> = { ...schema };
  if (schema['properties'] !== undefined) {
    const properties = Object.entries(object(schema['properties']));
    changed['properties'] = Object.fromEntries(
      properties.map(([name, property]) => [name, strict(object(property))]),
    );
    changed['additionalProperties'] = false;
  }
  if (schema['items'] !== undefined) changed['items'] = strict(object(schema['items']));
  if (schema['x-kubernetes-list-type'] === 'set') changed['uniqueItems'] = true;
  return changed;
}

/** Every rule with the path of what it calls `self`; `*` stands for each item of a list. Innermost first, as they are reported. */
function rulesOf(schema: Json, path: readonly string[] = []): Rule[] {
  const properties = Object.entries(object(schema['properties'] ?? {}));
  return [
    ...properties.flatMap(([name, property]) => rulesOf(object(property), [...path, name])),
    ...(schema['items'] === undefined ? [] : rulesOf(object(schema['items']), [...path, '*'])),
    ...array(schema['x-kubernetes-validations'] ?? []).map((each) => ruleOf(object(each), path)),
  ];
}

function ruleOf({ rule, message, fieldPath }: Json, path: readonly string[]): Rule {
  return {
    path,
    rule: text(rule),
    message: text(message),
    ...(fieldPath === undefined ? {} : { fieldPath: text(fieldPath) }),
  };
}

/** The schema without rules and descriptions: what ajv and the makers of messages need. */
function outline(schema: Json): Json {
  const { 'x-kubernetes-validations': _rules, description: _text, ...rest } = schema;
  return Object.fromEntries(
    Object.entries(rest).map(([key, value]) => {
      if (key === 'properties') {
        const properties = Object.entries(object(value));
        return [key, Object.fromEntries(properties.map(([n, p]) => [n, outline(object(p))]))];
      }
      return [key, key === 'items' ? outline(object(value)) : value];
    }),
  );
}

/** Selectors are all alike and there are many: they share one function. */
function shareSelectors(schema: Json, share: (selector: Json) => void): Json {
  const properties = Object.entries(object(schema['properties'] ?? {}));
  if (properties.length === 2 && schema['default'] === undefined && isSelector(properties)) {
    share(schema);
    return { $ref: SELECTOR };
  }
  const changed: Record<string, unknown> = { ...schema };
  if (properties.length > 0) {
    changed['properties'] = Object.fromEntries(
      properties.map(([name, property]) => [name, shareSelectors(object(property), share)]),
    );
  }
  if (schema['items'] !== undefined) {
    changed['items'] = shareSelectors(object(schema['items']), share);
  }
  return changed;
}

const SELECTOR = 'LabelSelector';

function isSelector(properties: readonly (readonly [string, unknown])[]): boolean {
  return properties.every(([name]) => name === 'matchLabels' || name === 'matchExpressions');
}

export function crdValidators(): string {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    useDefaults: true,
    validateFormats: false,
    inlineRefs: false,
    code: { source: true, esm: true, lines: false },
  });
  const outlines: Record<string, unknown> = {};
  const rules: Record<string, readonly Rule[]> = {};
  for (const [kind, plural] of Object.entries(KINDS)) {
    const schema = filesSchema(readCrdSchema(plural));
    outlines[kind] = outline(schema);
    const share = (selector: Json) => {
      if (ajv.getSchema(SELECTOR) === undefined) ajv.addSchema(selector, SELECTOR);
    };
    ajv.addSchema(shareSelectors(outline(schema), share), kind);
    rules[kind] = rulesOf(schema);
  }
  const names = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, kind]));
  // ajv asks for its helpers by require(); an ES module imports them
  const code = standalone
    .default(ajv, names)
    .replace(
      /const (\w+) = require\("(ajv\/[^"]+)"\)\.default;/g,
      (_all, name, path) =>
        `import ${name}Module from '${path}.js';const ${name} = ${name}Module.default;`,
    );
  return [
    '// Made by tools/crd-validators.ts from deploy/crds; change those and run it again.',
    '// biome-ignore-all lint: written by a program',
    '// biome-ignore-all format: written by a program',
    '// biome-ignore-all assist: written by a program',
    code,
    `export const RULES = ${JSON.stringify(rules, undefined, 1)};`,
    `export const OUTLINES_JSON = ${JSON.stringify(JSON.stringify(outlines))};`,
    '',
  ].join('\n');
}

function object(value: unknown): Json {
  if (!isObject(value)) throw new Error(`an object was expected, not ${JSON.stringify(value)}`);
  return value;
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function array(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`a list was expected, not ${JSON.stringify(value)}`);
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new Error(`text was expected, not ${JSON.stringify(value)}`);
  return value;
}

if (import.meta.main) writeFileSync(CRD_VALIDATORS_FILE, crdValidators());
