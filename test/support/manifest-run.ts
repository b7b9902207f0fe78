/** `herald manifest` in this process, with streams of its own, and documents in a folder that goes when the process does. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { UsageError } from '../../src/cli/command.ts';
import { manifestCommand } from '../../src/cli/manifest.ts';

export interface ManifestRun {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

export async function runManifest(...args: readonly string[]): Promise<ManifestRun> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const world = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    pid: 1,
    version: '9.9.9',
    onStopSignal: () => undefined,
    onReloadSignal: () => undefined,
    onSuddenEnd: () => undefined,
  };
  const said = (stream: PassThrough) => String(stream.read() ?? '');
  try {
    const status = await manifestCommand.run(args, world);
    return { status, stdout: said(stdout), stderr: said(stderr) };
  } catch (error) {
    const isUsage =
      error instanceof UsageError ||
      (error instanceof Error &&
        'code' in error &&
        String(error.code).startsWith('ERR_PARSE_ARGS'));
    if (!isUsage) throw error;
    return { status: 2, stdout: said(stdout), stderr: `${said(stderr)}${error.message}` };
  }
}

/** Files by name; the folder is removed at exit. */
export function documentsFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'herald-documents-'));
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), content, { mode: 0o600 });
  }
  if (folders.length === 0) process.once('exit', removeFolders);
  folders.push(folder);
  return folder;
}

const folders: string[] = [];

function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

export function peerDocument(name: string, spec: Readonly<Record<string, unknown>>): string {
  return documentText('BGPPeer', name, spec);
}

export function poolDocument(name: string, spec: Readonly<Record<string, unknown>>): string {
  return documentText('IPPool', name, spec);
}

export function claimDocument(name: string, spec: Readonly<Record<string, unknown>>): string {
  return documentText('IPClaim', name, spec);
}

/** JSON is YAML */
function documentText(kind: string, name: string, spec: Readonly<Record<string, unknown>>): string {
  const apiVersion = 'herald.dev/v1alpha1';
  return `---\n${JSON.stringify({ apiVersion, kind, metadata: { name }, spec }, null, 2)}\n`;
}
