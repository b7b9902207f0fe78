/** The program of pod/main.go, built once and kept in the cache under the hash of its source; and the image that holds nothing else. */

import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { findGo, type Say } from '../../tools/kubernetes/go.ts';
import { run } from '../../tools/kubernetes/run.ts';
import { cacheFolder } from '../../tools/kubernetes/version.ts';
import { imageArchive } from './archive.ts';

export const PAUSE_IMAGE = 'herald-lab/pause:local';
export const WEB_IMAGE = 'herald-lab/web:local';

const SOURCE = join(import.meta.dirname, 'pod/main.go');
const architectures: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

/** What images call this machine's processor. */
function imageArchitecture(): string {
  const name = architectures[process.arch];
  if (name === undefined) throw new Error(`there are no images for ${process.arch}.`);
  return name;
}

/** Where the program is, or will be. first-process.ts knows a machine by this name. */
export function podProgramFile(): string {
  const hash = createHash('sha256').update(readFileSync(SOURCE)).digest('hex').slice(0, 16);
  return join(cacheFolder(), '../../lab', `pod-${hash}`);
}

/** The path of the program, static and with no other file. */
export async function podProgram(say: Say): Promise<string> {
  const program = podProgramFile();
  if (existsSync(program)) return program;
  const folder = dirname(program);
  mkdirSync(folder, { recursive: true });
  say('building the program of the pods, once');
  const go = await findGo(join(cacheFolder(), '..'), say);
  const scratch = mkdtempSync(join(folder, '.build-'));
  try {
    writeFileSync(join(scratch, 'go.mod'), 'module herald.dev/lab-pod\n\ngo 1.24\n');
    writeFileSync(join(scratch, 'main.go'), readFileSync(SOURCE));
    const env = { CGO_ENABLED: '0', GOTOOLCHAIN: 'local', GOWORK: 'off', GOFLAGS: '' };
    const args = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', 'pod', '.'];
    await run('nice', ['-n', '10', go, ...args], { cwd: scratch, env });
    renameSync(join(scratch, 'pod'), program);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return program;
}

/** The archives of both images, beside the program that they hold: the sandbox of every pod, and the web server of the scenarios. */
export function podImages(program: string): ReadonlyMap<string, string> {
  return new Map([
    ['pause', imageOf(program, PAUSE_IMAGE, 'pause')],
    ['web', imageOf(program, WEB_IMAGE, 'web')],
  ]);
}

function imageOf(program: string, tag: string, word: string): string {
  const file = `${program}-${word}.tar`;
  if (existsSync(file)) return file;
  const archive = imageArchive({
    tag,
    files: new Map([['pod', { content: readFileSync(program), mode: 0o755 }]]),
    entrypoint: ['/pod', word],
    architecture: imageArchitecture(),
  });
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, archive);
  renameSync(temporary, file);
  return file;
}
