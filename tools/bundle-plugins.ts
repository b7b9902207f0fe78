/** What the bundle leaves out, or takes another way than the sources do, to be smaller in memory. Used by build.ts. */

import { sep } from 'node:path';
import type { OnResolveArgs, Plugin } from 'esbuild';

/**
 * An ES import of a built-in module reads every one of its exports, the lazy ones too: for node:http that is all of undici (fetch,
 * WebSocket), for node:tls the parsing of 150 root certificates. Asked for as an object, they load what is used.
 */
export const plainBuiltins: Plugin = {
  name: 'plain-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?(https?|tls|crypto)$/ }, ({ path }) => ({
      path: path.startsWith('node:') ? path : `node:${path}`,
      namespace: 'builtin',
    }));
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
      loader: 'js',
    }));
  },
};

const CLIENT = `${sep}@kubernetes${sep}client-node${sep}`;
const IS_RESOLVED = 'lean-client: resolved';

/**
 * Of @kubernetes/client-node we use how it reads credentials, and make the calls ourselves (docs/decisions/0012). Its package does not say
 * that its files have no effects of their own, so a bundler keeps hundreds of generated models: here it is said. Its dispatchers
 * for undici's fetch are never asked for (src/sources/kube/kube-access.ts takes what is for node:https, proxies too), so undici stays out.
 */
export const leanKubernetesClient: Plugin = {
  name: 'lean-kubernetes-client',
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'left-out' }));
    onLoad({ filter: /./, namespace: 'left-out' }, ({ path }) => ({
      contents: leftOut(path, ['Agent', 'ProxyAgent', 'fetch']),
      loader: 'js',
    }));
    onResolve({ filter: /./ }, async (args) => {
      if (!isOfClient(args) || args.pluginData === IS_RESOLVED) return undefined;
      const { path: wanted, importer, resolveDir, kind } = args;
      const options = { importer, resolveDir, kind, pluginData: IS_RESOLVED };
      const { errors, path, external, namespace } = await resolve(wanted, options);
      return { errors, path, external, namespace, sideEffects: false };
    });
  },
};

function isOfClient({ path, importer }: OnResolveArgs): boolean {
  return (
    path.startsWith('@kubernetes/client-node') ||
    (path.startsWith('.') && importer.includes(CLIENT))
  );
}

/** whoever calls or makes one of them after all is told */
function leftOut(from: string, names: readonly string[]): string {
  return names
    .map(
      (name) =>
        `export function ${name}() { throw new Error('${name} of ${from} is not in this bundle'); }`,
    )
    .join('\n');
}
