/** What a file of RBAC grants, one by one, and which of it an audit log shows in use. */

import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import { field, items, text } from '../../interop/routers/json.ts';
import type { AuditEntry } from './audit.ts';

export interface Grant {
  readonly verb: string;
  readonly group: string;
  /** `ipnodes/status` */
  readonly resource: string;
  /** of a Role; undefined: everywhere */
  readonly namespace: string | undefined;
  /** of a rule by names; undefined: all */
  readonly name: string | undefined;
}

/** Every verb of every resource of the roles in a file. */
export function grantsOf(file: string): Grant[] {
  return loadAll(readFileSync(file, 'utf8')).flatMap((object) => {
    const kind = text(field(object, 'kind'));
    if (kind !== 'ClusterRole' && kind !== 'Role') return [];
    const namespace = kind === 'Role' ? text(field(object, 'metadata', 'namespace')) : undefined;
    return items(field(object, 'rules')).flatMap((rule) => grantsOfRule(rule, namespace));
  });
}

function grantsOfRule(rule: unknown, namespace: string | undefined): Grant[] {
  const words = (name: string): string[] => items(field(rule, name)).map(text);
  const listed = words('resourceNames');
  const names = listed.length === 0 ? [undefined] : listed;
  return words('apiGroups').flatMap((group) =>
    words('resources').flatMap((resource) =>
      words('verbs').flatMap((verb) =>
        names.map((name) => ({ verb, group, resource, namespace, name })),
      ),
    ),
  );
}

export function isUse(grant: Grant, entry: AuditEntry): boolean {
  const { subresource } = entry;
  const resource = subresource === undefined ? entry.resource : `${entry.resource}/${subresource}`;
  return (
    entry.verb === grant.verb &&
    entry.group === grant.group &&
    resource === grant.resource &&
    entry.code !== 403 &&
    (grant.namespace === undefined || entry.namespace === grant.namespace) &&
    (grant.name === undefined || entry.name === grant.name)
  );
}

/** `get ipclaims.herald.dev` */
export function grantText({ verb, group, resource, namespace, name }: Grant): string {
  const where = namespace === undefined ? '' : ` in ${namespace}`;
  const which = name === undefined ? '' : ` '${name}'`;
  return `${verb} ${resource}${group === '' ? '' : `.${group}`}${which}${where}`;
}
