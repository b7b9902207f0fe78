/** Server-side apply of YAML files and folders, with the API server's own discovery to find where a kind lives. */

import { globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import type { KubeObject, Resource } from '../../../src/sources/kube/api.ts';
import { field, items, text } from '../../interop/routers/json.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { TestApi } from './test-api.ts';

export const CRDS: Resource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};

/** The documents of files and of `*.yaml` in folders (not those below), in order of their names. */
export function readDocuments(paths: readonly string[]): object[] {
  const files = paths.flatMap((path) =>
    statSync(path).isDirectory()
      ? globSync('*.yaml', { cwd: path })
          .filter((name) => name !== 'kustomization.yaml')
          .toSorted()
          .map((name) => join(path, name))
      : [path],
  );
  return files.flatMap((file) => parseDocuments(readFileSync(file, 'utf8')));
}

export function parseDocuments(yaml: string): object[] {
  return parseAllDocuments(yaml).flatMap((document) => {
    const value: unknown = document.toJS();
    return typeof value === 'object' && value !== null ? [value] : [];
  });
}

/**
 * The server makes every creation wait for two seconds while the kind is younger than that, lest another server does not know the kind yet; a
 * test that measures must not meet it.
 */
const SETTLING_MS = 2_000;

export class Applier {
  readonly #api: TestApi;
  readonly #known = new Map<string, { readonly plural: string; readonly namespaced: boolean }>();

  constructor(api: TestApi) {
    this.#api = api;
  }

  /** One after the other; CRDs are waited for, so that objects of theirs may follow. */
  async apply(documents: readonly object[]): Promise<KubeObject[]> {
    const applied: KubeObject[] = [];
    let settledAt = 0;
    for (const document of documents) {
      const resource = await this.resourceOf(document);
      const name = text(field(document, 'metadata', 'name'));
      const patch = { kind: 'apply', body: document } as const;
      applied.push(await this.#api.patch(resource, name, patch, { force: true }));
      if (resource.plural === CRDS.plural) {
        settledAt = Math.max(settledAt, (await this.#established(name)) + SETTLING_MS);
      }
    }
    const restMs = settledAt - Date.now();
    if (restMs > 0) await delay(restMs);
    return applied;
  }

  async resourceOf(document: object): Promise<Resource> {
    const apiVersion = text(field(document, 'apiVersion'));
    const kind = text(field(document, 'kind'));
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const found = await this.#find(apiVersion, kind);
    const namespace = text(field(document, 'metadata', 'namespace')) || 'default';
    return {
      group: group ?? '',
      version: version ?? '',
      plural: found.plural,
      ...(found.namespaced ? { namespace } : {}),
    };
  }

  async #find(apiVersion: string, kind: string) {
    const key = `${apiVersion} ${kind}`;
    if (!this.#known.has(key)) await this.#discover(apiVersion);
    const found = this.#known.get(key);
    if (found === undefined) throw new Error(`the API server knows no ${kind} of ${apiVersion}`);
    return found;
  }

  async #discover(apiVersion: string): Promise<void> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const answer = await this.#api.call({ method: 'GET', path });
    for (const each of items(field(answer, 'resources'))) {
      const plural = text(field(each, 'name'));
      if (plural.includes('/')) continue;
      const namespaced = field(each, 'namespaced') === true;
      this.#known.set(`${apiVersion} ${text(field(each, 'kind'))}`, { plural, namespaced });
    }
  }

  /** Established, and served: discovery and the handlers follow the condition by some milliseconds. Since when. */
  async #established(name: string): Promise<number> {
    return await until(`${name} is served`, async () => {
      const crd = await this.#api.get(CRDS, name);
      const plural = text(field(crd, 'spec', 'names', 'plural'));
      const group = text(field(crd, 'spec', 'group'));
      const conditions = items(field(crd, 'status', 'conditions'));
      const established = conditions.find(
        (each) => field(each, 'type') === 'Established' && field(each, 'status') === 'True',
      );
      if (established === undefined) return notYet(conditions);
      for (const version of items(field(crd, 'spec', 'versions'))) {
        const path = `/apis/${group}/${text(field(version, 'name'))}`;
        const query = { limit: '1' };
        await this.#api.call({ method: 'GET', path: `${path}/${plural}`, query });
        await this.#api.call({ method: 'GET', path });
      }
      return done(new Date(text(field(established, 'lastTransitionTime'))).getTime());
    });
  }
}
