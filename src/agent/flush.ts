/** Waits until what was decided has been written to every neighbour that is up; bounded, since one may not read. */

import type { Clock, PeerStatus, Speaker } from 'bgp-ts';

export function flushed(
  speaker: Pick<Speaker, 'status' | 'subscribe'>,
  clock: Clock,
  deadlineMs: number,
): Promise<void> {
  const isDone = () => !speaker.status().some(isBehind);
  if (isDone()) return Promise.resolve();
  return new Promise((resolve) => {
    const end = () => {
      timer.cancel();
      unsubscribe();
      resolve();
    };
    const timer = clock.startTimer(deadlineMs, end);
    const unsubscribe = speaker.subscribe(({ kind }) => {
      if ((kind === 'routes-synced' || kind === 'down') && isDone()) end();
    });
  });
}

/** resolves after something has changed */
export function nextChange(source: { subscribe(onChange: () => void): () => void }): Promise<void> {
  return new Promise((resolve) => {
    const end = source.subscribe(() => {
      end();
      resolve();
    });
  });
}

function isBehind({ state, isSynced }: PeerStatus): boolean {
  return state === 'established' && !isSynced;
}
