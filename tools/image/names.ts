/** Where an image is kept as a file when there is no daemon that would keep it. */

import { homedir } from 'node:os';
import { join } from 'node:path';

/** What the lab and the image tools keep between runs. */
export function imageCache(): string {
  const { XDG_CACHE_HOME: base = '' } = process.env;
  return join(base === '' ? join(homedir(), '.cache') : base, 'herald', 'images');
}

export function archiveFile(image: string, architecture?: string): string {
  const name = image.replaceAll(/[^\w.-]+/g, '_');
  return join(imageCache(), `${name}${architecture === undefined ? '' : `_${architecture}`}.tar`);
}
