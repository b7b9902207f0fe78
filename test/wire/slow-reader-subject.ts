/**
 * Our speaker in a process of its own, so that its memory can be measured without the neighbour's. Told over IPC what to
 * announce; answers with its memory after a collection.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { churningRoutes } from '../support/churning-table.ts';
import { Subject, settings } from '../support/speaker-under-test.ts';

export type Order =
  | { readonly kind: 'apply'; readonly port: number; readonly generation: number }
  | { readonly kind: 'measure' }
  | { readonly kind: 'stop' };

export interface Measured {
  readonly heapBytes: number;
  /** array buffers: what waits to be written is here */
  readonly bufferBytes: number;
  readonly rssBytes: number;
  readonly state: string;
  readonly pending: number;
  readonly advertised: number;
  readonly downs: number;
  readonly synced: number;
}

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

const HOLD_SECONDS = 9;
const subject = new Subject();

function measure(): Measured {
  if (typeof collect !== 'function') throw new Error('no garbage collector to call');
  collect();
  const memory = process.memoryUsage();
  const status = subject.status();
  return {
    heapBytes: memory.heapUsed,
    bufferBytes: memory.arrayBuffers,
    rssBytes: memory.rss,
    state: status.state,
    pending: status.routesPending,
    advertised: status.routesAdvertised.ipv4,
    downs: subject.of('down').length,
    synced: subject.of('routes-synced').length,
  };
}

process.on('message', (order: Order) => {
  switch (order.kind) {
    case 'apply':
      subject.apply({
        settings: settings(order.port, {
          families: ['ipv4'],
          timers: { holdSeconds: HOLD_SECONDS },
        }),
        routes: churningRoutes(order.generation),
      });
      process.send?.({ applied: order.generation });
      break;
    case 'measure':
      process.send?.(measure());
      break;
    case 'stop':
      void subject.stop().then(() => process.exit(0));
      break;
  }
});
// the parent is gone: so are we
process.on('disconnect', () => process.exit(1));
