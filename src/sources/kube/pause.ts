/** Waiting that ends early when it has become pointless. */

import type { Clock } from 'bgp-ts';

/** resolves after the time, or when the signal comes; never rejects */
export function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const end = () => {
      timer.cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = clock.startTimer(delayMs, end);
    signal.addEventListener('abort', end);
  });
}
