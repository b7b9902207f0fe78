/** A request that takes too long is given up on our own clock, whatever the connection thinks of it. */

import type { Clock } from 'bgp-ts';
import { ApiUnreachable } from '../../sources/kube/api.ts';

/** rejects with ApiUnreachable when the time is over; the work is told to end by the signal, and is not waited for */
export function withDeadline<T>(
  clock: Clock,
  deadlineMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const ending = new AbortController();
  return new Promise((resolve, reject) => {
    const timer = clock.startTimer(deadlineMs, () => {
      reject(new ApiUnreachable(`no answer within ${deadlineMs} ms`, undefined));
      ending.abort();
    });
    work(ending.signal).then(
      (value) => {
        timer.cancel();
        resolve(value);
      },
      (error: unknown) => {
        timer.cancel();
        reject(error);
      },
    );
  });
}
