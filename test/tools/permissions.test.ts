/** docs/permissions.md and deploy/base/rbac-*.yaml say the same: every granted verb of every resource has a line with its reason, and no more. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { field, items, text } from '../interop/routers/json.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/permissions.md'), 'utf8');

/** `cluster nodes list`, one per granted verb */
function granted(file: string): string[] {
  const objects = loadAll(readFileSync(join(ROOT, 'deploy/base', file), 'utf8'));
  return objects.flatMap((object) => {
    const kind = text(field(object, 'kind'));
    if (kind !== 'ClusterRole' && kind !== 'Role') return [];
    const place = kind === 'Role' ? text(field(object, 'metadata', 'namespace')) : 'cluster';
    return items(field(object, 'rules')).flatMap((rule) => grantsOf(rule, place));
  });
}

const words = (value: unknown): string[] => items(value).map((each) => text(each));

function grantsOf(rule: unknown, place: string): string[] {
  const names = words(field(rule, 'resourceNames'));
  return words(field(rule, 'apiGroups')).flatMap((group) =>
    words(field(rule, 'resources')).flatMap((resource) =>
      words(field(rule, 'verbs')).flatMap((verb) => {
        const what = qualified(resource, group);
        return names.length === 0
          ? [`${place} ${what} ${verb}`]
          : names.map((name) => `${place} ${what}/${name} ${verb}`);
      }),
    ),
  );
}

/** `ipnodes.herald.dev/status` */
function qualified(resource: string, group: string): string {
  const [plural, subresource] = resource.split('/');
  const full = group === '' ? plural : `${plural}.${group}`;
  return subresource === undefined ? `${full}` : `${full}/${subresource}`;
}

interface Row {
  readonly grants: readonly string[];
  readonly why: string;
}

/** the table below a heading of the page */
function rowsOf(heading: string): Row[] {
  const section = PAGE.split(/^## /m).find((each) => each.startsWith(`${heading}\n`)) ?? '';
  const lines = section.split('\n').filter((line) => /^\| (cluster|`)/.test(line));
  return lines.map((line) => {
    const [, place = '', what = '', verbs = '', why = ''] = line.split('|').map((c) => c.trim());
    const plain = (cell: string) => cell.replaceAll('`', '');
    const grants = verbs.split(', ').map((verb) => `${plain(place)} ${plain(what)} ${verb}`);
    return { grants, why };
  });
}

describe('docs/permissions.md', () => {
  for (const [heading, file] of [
    ['The agent', 'rbac-agent.yaml'],
    ['The controller', 'rbac-controller.yaml'],
  ] as const) {
    it(`lists what ${file} grants, each with its reason`, () => {
      const rows = rowsOf(heading);
      const listed = rows.flatMap(({ grants }) => grants);
      expect(listed.length).to.be.above(10);
      expect(listed.toSorted()).to.deep.equal(granted(file).toSorted());
      for (const { why } of rows) expect(why.length).to.be.above(5);
    });
  }

  it('is about grants by name: no verb, resource or group is a star', () => {
    for (const file of ['rbac-agent.yaml', 'rbac-controller.yaml', 'rbac-users.yaml']) {
      expect(granted(file).filter((grant) => grant.includes('*'))).to.deep.equal([]);
    }
  });
});
