/** What was read from the documents, as log lines: the counts each time, a refused document once. */

import type { Log } from '../log/log.ts';
import type { DocumentFault, Documents } from '../model/documents.ts';
import type { Finding, View } from './view.ts';

/** a generator gone mad refuses thousands at once: the log is not the place for all of them */
const MAX_TOLD = 100;

function freshOf(
  faults: readonly DocumentFault[],
  known: readonly DocumentFault[],
): readonly DocumentFault[] {
  const told = new Set(known.map(faultKey));
  return faults.filter((one) => !told.has(faultKey(one)));
}

/** tells a fault that was told before from a new one */
function faultKey({ file, line, sentence }: DocumentFault): string {
  return `${file}:${line} ${sentence}`;
}

export interface DocumentLogOptions {
  /** faults that were told before */
  readonly known: readonly DocumentFault[];
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
  const fresh = faults === known ? [] : freshOf(faults, known);
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

/** Whether the cluster counts this machine as its node, when that has changed. */
export function logJoined(log: Log, before: Finding | undefined, after: Finding | undefined): void {
  if (after === undefined || before?.isOpen === after.isOpen) return;
  log.info('agent.join', { reason: after.sentence }, after.isOpen ? 'joined' : 'not joined');
}

/** What was saved and is in force, or why it is not. */
export function logRestored(
  log: Log,
  { stale, staleApi }: Pick<View, 'stale' | 'staleApi'>,
  foreign: string | undefined,
): void {
  const oldest = stale ?? staleApi;
  if (oldest !== undefined) log.info('agent.stale', { reason: oldest.sentence }, 'saved View');
  if (foreign === undefined) return;
  const what = 'the saved documents of the API are not used; nothing of them is announced';
  log.warn('state.foreign', { reason: foreign }, what);
}
