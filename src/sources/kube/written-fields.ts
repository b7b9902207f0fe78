/**
 * `metadata.managedFields`: the API server's record of who wrote which field, for server-side apply. It is half of a claim, every agent reads
 * it, and to keep it costs a quarter of each write. Where nobody but Herald has ever written, nobody needs it. Pure.
 */

import { type Loose, parts } from './loose-fields.ts';

/** by our User-Agent */
const OUR_NAME = 'herald';

/** as a value of `managedFields`: the record is taken away, and none is kept until somebody applies */
export const NO_RECORD = [{}];

/** There is a record, and nobody else is in it. */
export function isRecordOfOurs(metadata: Loose): boolean {
  const writers = parts(metadata, 'managedFields');
  return (
    writers.length > 0 &&
    writers.every(({ manager, operation }) => manager === OUR_NAME && operation === 'Update')
  );
}
