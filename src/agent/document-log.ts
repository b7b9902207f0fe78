/** What was read from the documents, as log lines: the counts each time, a refused document once. */

import type { Log } from '../log/log.ts';
import type { DocumentFault, Documents } from '../model/documents.ts';

/** a generator gone mad refuses thousands at once: the log is not the place for all of them */
const MAX_TOLD = 100;

/** tells a fault that was told before from a new one */
export function faultKey({ file, line, sentence }: DocumentFault): string {
  return `${file}:${line} ${sentence}`;
}

export interface DocumentLogOptions {
  /** faults that were told before */
  readonly known: ReadonlySet<string>;
  /** counts are of no interest to whoever reads the log */
  readonly isQuiet?: boolean;
}

export function logDocuments(
  log: Log,
  documents: Documents,
  { known, isQuiet = false }: DocumentLogOptions,
): void {
  const { peers, pools, claims, faults } = documents;
  const counts = { peers: peers.length, pools: pools.length, claims: claims.length };
  const fields = { ...counts, refused: faults.length };
  if (isQuiet) log.debug('documents.loaded', fields, 'documents read');
  else log.info('documents.loaded', fields, 'documents read');
  const fresh = faults.filter((one) => !known.has(faultKey(one)));
  for (const fault of fresh.slice(0, MAX_TOLD)) {
    const { file, line, subject, sentence, keepsLastGood } = fault;
    log.warn(
      'documents.refused',
      { file, line, subject, reason: sentence, keepsLastGood },
      'refused',
    );
  }
  const untold = fresh.length - MAX_TOLD;
  if (untold > 0) {
    log.warn(
      'documents.refused',
      { count: untold },
      'as many more refused; herald status has them',
    );
  }
}
