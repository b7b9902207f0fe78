/**
 * bgp-ts as a stranger gets it: `npm pack`, installed into an empty project, type-checked from there, and the example of its README
 * run. Proves that the emitted files, the exports map and the declared dependencies belong together.
 */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const root = join(import.meta.dirname, '../..');
const tsc = join(root, 'node_modules/.bin/tsc');

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
}

describe('bgp-ts, packed', () => {
  let project = '';

  before(async () => {
    project = mkdtempSync(join(tmpdir(), 'bgp-ts-consumer-'));
    await run('npm', ['pack', '--pack-destination', project], { cwd: join(root, 'protocol') });
    const tarball = readdirSync(project).find((name) => name.endsWith('.tgz'));
    writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
    await run('npm', ['install', '--prefer-offline', '--no-audit', `./${tarball}`], {
      cwd: project,
    });
  });

  after(() => rmSync(project, { recursive: true, force: true }));

  it('ships compiled files, types, README and licence, and no sources', () => {
    const installed = join(project, 'node_modules/bgp-ts');
    expect(readdirSync(installed)).to.include.members([
      'dist',
      'package.json',
      'README.md',
      'LICENSE',
    ]);
    expect(readdirSync(installed)).not.to.include('index.ts');
    const dist = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' });
    expect(dist).to.include.members(['index.js', 'index.d.ts', 'bgp/decode.js', 'bgp/decode.d.ts']);
    const sources = dist.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
    expect(sources).to.deep.equal([]);
  });

  it('type-checks a consumer, and refuses one that is wrong', async () => {
    const flags = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--types',
      '',
    ];
    writeFileSync(
      join(project, 'consumer.ts'),
      "import { prefix, type Route } from 'bgp-ts';\n" +
        "export const route: Route = { prefix: prefix('192.0.2.0/24'), attributes: { med: 1 } };\n",
    );
    await run(tsc, [...flags, 'consumer.ts'], { cwd: project });
    writeFileSync(
      join(project, 'wrong.ts'),
      "import type { Route } from 'bgp-ts';\nexport const route: Route = { prefix: '192.0.2.0/24' };\n",
    );
    const outcome = await run(tsc, [...flags, 'wrong.ts'], { cwd: project }).catch(
      (error) => error,
    );
    expect(String(outcome.stdout)).to.match(/wrong\.ts.*error TS/);
  });

  it('runs the example of its README, which prints what the README says', async () => {
    const readme = readFileSync(join(project, 'node_modules/bgp-ts/README.md'), 'utf8');
    const [, example, printed] =
      /<!-- example.*?-->\n```ts\n(.*?)```.*?```\n(.*?)```/s.exec(readme) ?? [];
    // a port that is free on this machine: two runs side by side must not meet
    const port = await freePort();
    writeFileSync(join(project, 'example.ts'), (example ?? '').replaceAll('1790', String(port)));
    const { stdout } = await run(process.execPath, ['example.ts'], {
      cwd: project,
      timeout: 90_000,
    });
    expect(stdout.split('\n').toSorted()).to.deep.equal((printed ?? '').split('\n').toSorted());
    expect(stdout).to.include('announced');
  });
});
