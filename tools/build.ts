/**
 * Builds dist/: the launcher, the program as a bundle (herald.mjs, and chunks/ with a part per command), and koffi with the
 * native file of this platform beside it (a native module cannot go into a bundle). dist/ as a whole can be copied to any
 * machine that has Node 26.
 */

import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build } from 'esbuild';
import { readPageParts } from '../src/web/page-parts.ts';
import { leanKubernetesClient, plainBuiltins } from './bundle-plugins.ts';

const root = dirname(import.meta.dirname);
const dist = join(root, 'dist');
const { version }: { readonly version: string } = JSON.parse(
  readFileSync(join(root, 'package.json'), 'utf8'),
);

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist);
await build({
  entryPoints: [
    { in: join(root, 'src/cli/main.ts'), out: 'herald' },
    { in: join(root, 'src/sources/files/piece-worker.ts'), out: 'piece-worker' },
    { in: join(root, 'src/sources/files/folder-worker.ts'), out: 'folder-worker' },
  ],
  outdir: dist,
  outExtension: { '.js': '.mjs' },
  // a command's code is read when the command is asked for: an agent does not compile the demo
  splitting: true,
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  format: 'esm',
  platform: 'node',
  target: 'node26',
  minify: true,
  keepNames: true,
  conditions: ['bgp-ts-source'],
  // supports-color: asked for by `debug` where it is there; it is not
  external: ['koffi', 'supports-color'],
  plugins: [plainBuiltins, leanKubernetesClient],
  define: {
    HERALD_PIECE_WORKER: JSON.stringify('piece-worker.mjs'),
    HERALD_FOLDER_WORKER: JSON.stringify('folder-worker.mjs'),
    HERALD_VERSION: JSON.stringify(version),
    HERALD_PAGE: JSON.stringify(readPageParts()),
  },
  // what CommonJS packages expect to find, inside an ES module
  banner: {
    js: "import { createRequire as heraldCreateRequire } from 'node:module'; const require = heraldCreateRequire(import.meta.url);",
  },
});
cpSync(join(root, 'src/cli/herald'), join(dist, 'herald'));
chmodSync(join(dist, 'herald'), 0o755);
copyKoffi();
process.stdout.write(`dist/herald ${version}: ${kilobytes()} kB of code\n`);

/** koffi's own script files, and the native module that npm installed for this platform; its C++ sources stay behind */
function copyKoffi(): void {
  const native = `@koromix/koffi-${process.platform}-${process.arch}`;
  const from = join(root, 'node_modules');
  const to = join(dist, 'node_modules');
  cpSync(join(from, 'koffi'), join(to, 'koffi'), {
    recursive: true,
    filter: (path) => {
      if (statSync(path).isDirectory()) return !/\/(doc|vendor|lib|abi)$/.test(path);
      return /\.(js|cjs)$|package\.json$|LICENSE\.txt$/.test(path) && !path.endsWith('cnoke.cjs');
    },
  });
  cpSync(join(from, native), join(to, native), { recursive: true });
}

function kilobytes(): number {
  const files = globSync('{*.mjs,chunks/*.mjs}', { cwd: dist });
  return Math.round(files.reduce((sum, file) => sum + statSync(join(dist, file)).size, 0) / 1000);
}
