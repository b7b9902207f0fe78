/**
 * Has the lab's router image ready in the Docker that runs here, for `containerlab deploy`:
 *
 *   node_modules/.bin/node lab/images/main.ts
 */

import { startDocker } from '../docker/docker.ts';
import { ensureRouterImage, routerImage } from './router-image.ts';

const say = (sentence: string) => void process.stderr.write(`lab: ${sentence}\n`);

async function main(): Promise<number> {
  const docker = await startDocker();
  try {
    // an image in a daemon that ends with us would be of use to nobody
    if (docker.isOwn) throw new Error('no Docker daemon is running.');
    await ensureRouterImage(docker, say);
    say(`${routerImage} is there`);
    return 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  } finally {
    await docker.stop();
  }
}

process.exitCode = await main();
