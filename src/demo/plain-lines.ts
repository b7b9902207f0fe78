/** The story as plain lines, for pipes, logs and tests: one per thing seen, in the order it happened. Pure. */

import type { TimedEvent } from './demo.ts';
import { type Order, type Step, seconds } from './story.ts';

/** undefined = nothing to say */
export function plainLine({ atMs, event }: TimedEvent, steps: readonly Step[]): string | undefined {
  const stamp = `[${(atMs / 1000).toFixed(1).padStart(5)} s]`;
  const where = 'step' in event ? `step ${event.step + 1}/${steps.length}` : '';
  switch (event.kind) {
    case 'step':
      return `${stamp} ${where}: ${steps[event.step]?.title}`;
    case 'order':
      return `${stamp}   do  ${describeOrder(event.order)}`;
    case 'seen':
      return `${stamp}   see ${event.what} (after ${seconds(event.afterMs)})`;
    case 'step-seen':
      return `${stamp} ${where} ok: ${event.sentence}`;
    case 'step-failed':
      return `${stamp} ${where} FAILED, not seen at the router: ${steps[event.step]?.title}: ${event.sentence}`;
    case 'over':
      return event.isSeen
        ? `${stamp} every step was seen at the router`
        : `${stamp} the story was not seen to its end`;
  }
}

const ORDER_TEXTS: Readonly<Record<Order['kind'], string>> = {
  'api-up': 'start the API server of',
  'api-down': 'stop the API server of',
  drain: 'drain',
  undrain: 'undrain',
  freeze: 'freeze (SIGSTOP)',
  thaw: 'thaw (SIGCONT)',
  kill: 'kill (SIGKILL)',
  revive: 'revive',
};

function describeOrder({ kind, id }: Order): string {
  return `${ORDER_TEXTS[kind]} node-${id}`;
}
