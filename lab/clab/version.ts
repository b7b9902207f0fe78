/**
 * The one containerlab that the lab's topology is tried with, and where it is kept. 0.78 is the first that knows `privileged: false`.
 */

import { homedir } from 'node:os';
import { join } from 'node:path';

export const containerlabVersion = '0.79.0';
export const containerlabModule = 'github.com/srl-labs/containerlab';
/** The h1 hash of that module in the Go checksum database. */
export const containerlabHash = 'h1:XWLKsjQV3rn1KXViKDIO1XZg6JyqaQxQfTnEabjmxTI=';

/** What is made once and kept outside the checkout. */
export function containerlabFolder(): string {
  const { XDG_CACHE_HOME: base = '' } = process.env;
  const cache = base === '' ? join(homedir(), '.cache') : base;
  return join(cache, 'herald', 'containerlab', containerlabVersion);
}
