/** Builds Herald's image with whatever tool can build one: the folder is made, handed over and removed. */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Architecture, architectures, parseArchitecture } from './architecture.ts';
import { foreignParts } from './foreign.ts';
import { nativeParts, stage } from './stage.ts';
import { withFolder } from './temporary.ts';

export interface ImageBuilder {
  /** docker, podman or buildah, and its arguments */
  run(args: readonly string[]): Promise<unknown>;
}

export interface ImageOptions {
  /** its name and tag */
  readonly image: string;
  /** that of this machine if not given */
  readonly architecture?: Architecture;
  readonly say?: (sentence: string) => void;
}

/** dist/ must be there: `make build`. Returns the size of what is inside. */
export async function buildImage(
  builder: ImageBuilder,
  { image, architecture, say = () => undefined }: ImageOptions,
): Promise<{ readonly bytes: number }> {
  const ours = parseArchitecture(process.arch);
  const wanted = architecture ?? ours;
  const parts = wanted === ours ? nativeParts(ours) : await foreignParts(wanted, say);
  return withFolder(join(tmpdir(), 'herald-image-'), async (context) => {
    say('putting Node, its libraries and dist/ together');
    const bytes = stage(context, parts);
    say(`building ${image}, ${Math.round(bytes / 1e6)} MB`);
    // said only where it must be: old builders do not know it
    const platform = wanted === ours ? [] : ['--platform', architectures[wanted].docker];
    await builder.run(['build', ...platform, '--tag', image, context]);
    return { bytes };
  });
}
