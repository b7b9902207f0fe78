/**
 * Makes docs/documents.md, the reference of every field, from deploy/crds: `node tools/document-fields.ts` writes it, a test sees that
 * the committed file is current.
 */

import { writeFileSync } from 'node:fs';
import { readCrdSchema } from './crd-validators.ts';

export const DOCUMENT_FIELDS_FILE = new URL('../docs/documents.md', import.meta.url);

type Json = Readonly<Record<string, unknown>>;

const KINDS = { BGPPeer: 'bgppeers', IPPool: 'ippools', IPClaim: 'ipclaims', IPNode: 'ipnodes' };

const INTRODUCTION = `# The documents

Made by \`tools/document-fields.ts\` from \`deploy/crds\`. The same documents are read from files
(\`herald agent --source files:DIR\`) and from the cluster; \`kubectl explain bgppeer.spec\` shows the same text.

\`\`\`yaml
apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata:
  name: tor-a
spec:
  address: 192.0.2.1
  asn: 65000
---
apiVersion: herald.dev/v1alpha1
kind: IPPool
metadata:
  name: public
spec:
  addresses: [198.51.100.0/24]
---
apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata:
  name: 198.51.100.7
spec:
  bind: {interface: lo}
  checks:
    - http: {url: "https://127.0.0.1:6443/readyz", caFile: /etc/kubernetes/pki/ca.crt}
\`\`\`

## Documents in files

All files of the directory whose names end in \`.yaml\`, \`.yml\` or \`.json\` are read, in the order of their names; names that
begin with a dot and directories below are left alone. A file may have several documents with \`---\` between them, or a \`kind: List\`.
A change counts as soon as the file has been quiet for 10 ms. Write a new file beside the old one and rename it over it where
that matters.

A directory has at most 10,000 such files, a file at most 16 MB and 100,000 documents, a document at most 4 MB. What is beyond that is refused as a whole and named in
\`herald status\`; what was in use before stays in use.

What happens to a document that is refused:

- It is named with file, line and what to do; all others are used.
- If an earlier form of it was in use (the same kind and name), that stays in use, over restarts too.
- While a file cannot be read, is empty, or has a document whose kind or name cannot be read, nothing of that file is removed.
- If the directory cannot be read, nothing is removed.
- A document that was deleted from a file, or whose file was deleted, is removed.
- Of two documents of one kind and name the first counts, by name of file and line.
- Of two pools that share addresses, or two peers that are the same session, the one that was in use before counts, then the
  older one.

Files are stricter than an API server. A field that is not in the schema is refused, since nobody would read a warning. YAML is version
1.2: \`yes\`, \`no\`, \`on\` and \`off\` are text. An IPNode is written by agents and is refused. \`password.file\` and checks by \`file\` and
\`exec\` are for files only, \`password.secret\` for the cluster only.
`;

function table(kind: string, schema: Json): string {
  const rows = fields(schema, '').filter(({ path }) => !/^(apiVersion|kind|metadata)/.test(path));
  const rules = rulesOf(schema, '');
  return [
    `## ${kind}\n`,
    `${sentence(schema)}\n`,
    '| field | type | default | what it is |\n|---|---|---|---|',
    ...rows.map(
      ({ path, type, fallback, text }) => `| \`${path}\` | ${type} | ${fallback} | ${text} |`,
    ),
    ...(rules.length === 0 ? [] : ['\nRules:\n', ...rules]),
    '',
  ].join('\n');
}

interface Row {
  readonly path: string;
  readonly type: string;
  readonly fallback: string;
  readonly text: string;
}

/** A field and all below it; selectors and conditions are the same everywhere and are not opened. */
function fields(schema: Json, path: string): Row[] {
  if (isSelector(schema)) return [];
  const required = list(schema['required']);
  return Object.entries(object(schema['properties'])).flatMap(([name, value]) => {
    const field = object(value);
    const isList = field['type'] === 'array';
    const at = `${path}${name}${isList ? '[]' : ''}`;
    const inner = isList ? object(field['items']) : field;
    const row = {
      path: at,
      type: `${typeOf(inner)}${required.includes(name) ? ', needed' : ''}`,
      fallback: defaultOf(field),
      text: cell(sentence(field)),
    };
    return name === 'conditions' ? [row] : [row, ...fields(inner, `${at}.`)];
  });
}

function typeOf(schema: Json): string {
  if (isSelector(schema)) return 'label selector';
  if (schema['x-kubernetes-int-or-string'] === true) {
    return `number or \`external\`, \`internal\``;
  }
  const words = list(schema['enum']);
  if (words.length > 0) return words.map((word) => `\`${String(word)}\``).join(', ');
  const { minimum, maximum, type } = schema;
  if (minimum !== undefined && maximum !== undefined) return `${type}, ${minimum} to ${maximum}`;
  return minimum === undefined ? String(type) : `${type}, from ${minimum}`;
}

function defaultOf(field: Json): string {
  const value = field['default'];
  // the default of an object is that of its fields
  if (value === undefined || field['type'] === 'object') return '';
  return `\`${Array.isArray(value) ? value.join(', ') : String(value)}\``;
}

function rulesOf(schema: Json, path: string): string[] {
  if (isSelector(schema)) return [];
  const own = list(schema['x-kubernetes-validations']).map((rule) => {
    const message = String(object(rule)['message']);
    return path === '' ? `- ${message}` : `- \`${path}\`: ${message}`;
  });
  const below = Object.entries(object(schema['properties'])).flatMap(([name, value]) => {
    const at = path === '' ? name : `${path}.${name}`;
    return rulesOf(object(value), at);
  });
  const items = schema['items'] === undefined ? [] : rulesOf(object(schema['items']), `${path}[]`);
  return [...own, ...below, ...items];
}

function isSelector(schema: Json): boolean {
  const names = Object.keys(object(schema['properties']));
  return names.length === 2 && names.includes('matchLabels') && names.includes('matchExpressions');
}

function sentence(schema: Json): string {
  const text = schema['description'];
  return typeof text === 'string' ? text : '';
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

function object(value: unknown): Json {
  const isObject = (each: unknown): each is Json => typeof each === 'object' && each !== null;
  return isObject(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function documentFields(): string {
  const tables = Object.entries(KINDS).map(([kind, plural]) => table(kind, readCrdSchema(plural)));
  return [INTRODUCTION, ...tables].join('\n');
}

if (import.meta.main) writeFileSync(DOCUMENT_FIELDS_FILE, documentFields());
