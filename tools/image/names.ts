/** Where an image is kept as a file when there is no daemon that would keep it. */

import { join } from 'node:path';
import { inCache } from '../cache-folder.ts';

/** What the lab and the image tools keep between runs. */
export function imageCache(): string {
  return inCache('images');
}

export function archiveFile(image: string, architecture?: string): string {
  const name = image.replaceAll(/[^\w.-]+/g, '_');
  return join(imageCache(), `${name}${architecture === undefined ? '' : `_${architecture}`}.tar`);
}
