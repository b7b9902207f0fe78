/**
 * `make image`: Herald's image, from dist/, by docker, podman or buildah, whichever is there and works. Where Docker is installed and no daemon runs, root
 * gets one for as long as the build takes, and the image as a file. Nothing is pulled and nothing is pushed: name the image for your
 * registry (IMAGE=registry.example/herald:0.1.0) and push it yourself.
 *
 *   IMAGE       its name; herald:<version of package.json>, as deploy/base wants it, if not given
 *   IMAGE_TOOL  docker, podman or buildah; the first that works, if not given
 *   IMAGE_FILE  also write it to this file, as `docker load` and `ctr images import` read it
 *   IMAGE_ARCH  x64 or arm64; that of this machine, if not given
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { whyNoDocker, withDocker } from '../lab/docker/docker.ts';
import { parseArchitecture } from './image/architecture.ts';
import { buildImage, type ImageBuilder, type ImageOptions } from './image/build.ts';
import { archiveFile } from './image/names.ts';
import { run } from './kubernetes/run.ts';

const ANSWER_MS = 20_000;

const say = (sentence: string): void => {
  process.stderr.write(`image: ${sentence}\n`);
};

async function main(): Promise<void> {
  const { IMAGE = '', IMAGE_TOOL = '', IMAGE_FILE = '', IMAGE_ARCH = '' } = process.env;
  const { version } = JSON.parse(
    readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'),
  );
  const options: ImageOptions = {
    image: IMAGE === '' ? `herald:${version}` : IMAGE,
    ...(IMAGE_ARCH === '' ? {} : { architecture: parseArchitecture(IMAGE_ARCH) }),
    say,
  };
  const wanted = IMAGE_TOOL === '' ? ['docker', 'podman', 'buildah'] : [IMAGE_TOOL];
  const tool = wanted.filter(isInstalled).find(works);
  if (tool !== undefined) return buildBy(tool, options, IMAGE_FILE);
  const missing = whyNoDocker();
  if (!wanted.includes('docker') || missing.length > 0) {
    const reasons = wanted.includes('docker')
      ? ` To start a Docker here: ${missing.join(' ')}`
      : '';
    throw new Error(
      `no image was built: it takes docker, podman or buildah, and none that works was found (looked for: ${wanted.join(' ')}).${reasons}`,
    );
  }
  const file = IMAGE_FILE === '' ? archiveFile(options.image, options.architecture) : IMAGE_FILE;
  await withDocker({ say }, (docker) => build({ builder: docker, tool: 'docker' }, options, file));
}

async function buildBy(tool: string, options: ImageOptions, file: string): Promise<void> {
  // what was put together is removed on the way out
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  const builder = { run: (args: readonly string[]) => run(tool, args, { onLine: progress }) };
  await build({ builder, tool }, options, file);
}

/** what the tool says, as it says it */
function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

interface Tool {
  readonly builder: ImageBuilder;
  readonly tool: string;
}

async function build({ builder, tool }: Tool, options: ImageOptions, file: string): Promise<void> {
  const { image } = options;
  const { bytes } = await buildImage(builder, options);
  const size = `${Math.round(bytes / 1e6)} MB`;
  if (file === '') {
    say(`${image} is built by ${tool}: ${size}; push it to where your nodes pull from, or load it`);
    return;
  }
  mkdirSync(dirname(file), { recursive: true });
  const save =
    tool === 'buildah'
      ? ['push', image, `docker-archive:${file}:${image}`]
      : ['save', '--output', file, image];
  await builder.run(save);
  say(`${image} is built by ${tool}: ${size}, in ${file}`);
  say('load it by `docker load --input`, or on a node by `ctr --namespace k8s.io images import`');
}

/** A docker that cannot reach its daemon is as good as none, and so is one whose daemon (of another machine, it may be) does not answer. */
function works(tool: string): boolean {
  const { status, signal } = spawnSync(tool, ['info'], { stdio: 'ignore', timeout: ANSWER_MS });
  if (status === 0) return true;
  const what = signal === null ? 'fails' : `has no answer after ${ANSWER_MS / 1000} s`;
  say(`${tool} is installed and does not work: '${tool} info' ${what}`);
  return false;
}

function isInstalled(tool: string): boolean {
  return spawnSync('sh', ['-c', 'command -v "$0"', tool]).status === 0;
}

try {
  await main();
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
