/**
 * A Go that can build Kubernetes: the one of PATH when it is new enough, else the toolchain of golang.org/toolchain, which the Go
 * module proxy serves like any module. The proxy is the user's own (GOPROXY, or what `go env -w` has written): no host is
 * named here. The archive is not trusted for having arrived: its content must have the hash of the Go checksum database.
 */

import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from './run.ts';
import { readZip } from './zip.ts';

const oldest = [1, 24] as const;
const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
const toolchain = 'go1.25.0';
/** The h1 hashes of golang.org/toolchain v0.0.1-go1.25.0.linux-<arch>. */
const toolchainHashes: Readonly<Record<string, string>> = {
  amd64: 'h1:wVC9wx2XOcP5gHiN8ZzfyTfjlrDLSS7Hu1wjI01n68U=',
  arm64: 'h1:hHtJUQup8RrD0u1JkoREqx9fkdEMQQUusYS1dYLIUpk=',
};

export type Say = (sentence: string) => void;

/** The path of a Go ≥ 1.24, fetched into `folder` when PATH has none. */
export async function findGo(folder: string, say: Say): Promise<string> {
  const installed = await versionOf('go');
  if (installed !== undefined && isNewEnough(installed)) return 'go';
  const arch = goArchitectures[process.arch];
  const hash = toolchainHashes[arch ?? ''];
  if (arch === undefined || hash === undefined) {
    throw new Error(
      `Go 1.24 or newer is needed and there is none for ${process.arch} to fetch; install it.`,
    );
  }
  const root = join(folder, `${toolchain}.linux-${arch}`);
  const program = join(root, 'bin', 'go');
  if (existsSync(program)) return program;
  say(`${installed === undefined ? 'no Go' : installed} in PATH; fetching ${toolchain}`);
  await fetchToolchain(root, arch, hash);
  return program;
}

async function versionOf(program: string): Promise<string | undefined> {
  try {
    return /\bgo\d+\.\d+\S*/.exec(await run(program, ['version']))?.[0];
  } catch {
    return undefined;
  }
}

export function isNewEnough(version: string): boolean {
  const [, major = '0', minor = '0'] = /^go(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > oldest[0] || (Number(major) === oldest[0] && Number(minor) >= oldest[1]);
}

async function fetchToolchain(root: string, arch: string, hash: string): Promise<void> {
  const module = `golang.org/toolchain@v0.0.1-${toolchain}.linux-${arch}`;
  const files = readZip(await download(module.replace('@', '/@v/')));
  const found = hashOfModule(files);
  if (found !== hash) {
    throw new Error(
      `${module} came with the hash ${found} and must have ${hash}; the module proxy serves something else.`,
    );
  }
  const temporary = `${root}.${process.pid}`;
  for (const [name, content] of files) {
    const path = join(temporary, name.slice(module.length + 1));
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    // A module archive has no modes; these folders hold programs only.
    if (/^(bin|pkg\/tool)\//.test(name.slice(module.length + 1))) chmodSync(path, 0o755);
  }
  renameSync(temporary, root);
}

/** The hash that go.sum and the checksum database use: over a sorted list of the hashes of all files. */
export function hashOfModule(files: ReadonlyMap<string, Uint8Array>): string {
  const list = [...files.keys()].sort().map((name) => {
    const hash = createHash('sha256')
      .update(files.get(name) ?? '')
      .digest('hex');
    return `${hash}  ${name}\n`;
  });
  return `h1:${createHash('sha256').update(list.join('')).digest('base64')}`;
}

async function download(path: string): Promise<Uint8Array> {
  const failures: string[] = [];
  for (const proxy of await proxies()) {
    try {
      const answer = await fetch(`${proxy.replace(/\/$/, '')}/${path}.zip`);
      if (answer.ok) return new Uint8Array(await answer.arrayBuffer());
      failures.push(`HTTP ${answer.status}`);
    } catch (error) {
      failures.push(error instanceof Error ? error.message : String(error));
    }
  }
  const why = failures.length === 0 ? 'no Go module proxy is configured' : failures.join(', ');
  throw new Error(
    `cannot fetch ${path}.zip: ${why}. Install Go 1.24 or newer, or set GOPROXY to a module proxy that can be reached.`,
  );
}

async function proxies(): Promise<string[]> {
  const { GOPROXY: fromEnvironment = '' } = process.env;
  const asked = fromEnvironment === '' ? await configuredProxy() : fromEnvironment;
  return asked.split(/[,|]/).filter((word) => /^https?:/.test(word));
}

/** What an old Go says, or the file that `go env -w` writes. */
async function configuredProxy(): Promise<string> {
  try {
    return (await run('go', ['env', 'GOPROXY'])).trim();
  } catch {
    const { XDG_CONFIG_HOME: base = join(homedir(), '.config') } = process.env;
    const file = join(base, 'go', 'env');
    return existsSync(file) ? (/^GOPROXY=(.+)$/m.exec(readFileSync(file, 'utf8'))?.[1] ?? '') : '';
  }
}
