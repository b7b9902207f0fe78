/** What was read from the documents, as log lines: the counts each time, a refused document once. */

import type { Log } from '../log/log.ts';
import type { DocumentFault, Documents } from '../model/documents.ts';

/** tells a fault that was told before from a new one */
export function faultKey({ file, line, sentence }: DocumentFault): string {
  return `${file}:${line} ${sentence}`;
}

export function logDocuments(log: Log, documents: Documents, known: ReadonlySet<string>): void {
  const { peers, pools, claims, faults } = documents;
  const counts = { peers: peers.length, pools: pools.length, claims: claims.length };
  log.info('documents.loaded', { ...counts, refused: faults.length }, 'documents read');
  for (const fault of faults.filter((one) => !known.has(faultKey(one)))) {
    const { file, line, subject, sentence, keepsLastGood } = fault;
    log.warn(
      'documents.refused',
      { file, line, subject, reason: sentence, keepsLastGood },
      'refused',
    );
  }
}
