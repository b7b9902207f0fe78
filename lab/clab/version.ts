/**
 * The one containerlab that the lab's topology is tried with, and where it is kept. 0.78 is the first that knows `privileged: false`.
 */

import { inCache } from '../../tools/cache-folder.ts';

export const containerlabVersion = '0.79.0';
export const containerlabModule = 'github.com/srl-labs/containerlab';
/** The h1 hash of that module in the Go checksum database. */
export const containerlabHash = 'h1:XWLKsjQV3rn1KXViKDIO1XZg6JyqaQxQfTnEabjmxTI=';

/** What is made once and kept outside the checkout. */
export function containerlabFolder(): string {
  return inCache('containerlab', containerlabVersion);
}
