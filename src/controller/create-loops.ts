/** The loops of a leader. Each reads the shared caches and writes through the guard of its term; a new term has new ones. */

import { optional } from '../model/optional.ts';
import { AdvertisedLoop } from './advertised-loop.ts';
import { LivenessLoop } from './liveness-loop.ts';
import type { ControllerLoop, LoopContext } from './loops.ts';
import { NodeEvents } from './node-events.ts';
import { PeerStatusLoop } from './peer-status-loop.ts';
import { PlacementLoop } from './placement-loop.ts';
import { ServiceLoops } from './service-loops.ts';

export function createLoops(context: LoopContext): readonly ControllerLoop[] {
  const services = new ServiceLoops(context);
  const liveness = new LivenessLoop(context);
  const { moveRate, rebalanceEveryMs, maxStaleMs } = context.settings;
  const placement = {
    maxStaleMs,
    ...optional('moveRate', moveRate),
    ...optional('rebalanceEveryMs', rebalanceEveryMs),
  };
  const isBusy = () => services.isBusy;
  return [
    services,
    liveness,
    new PlacementLoop({ ...context, ...placement, liveness, isBusy }),
    new AdvertisedLoop({ ...context, isBusy }),
    new PeerStatusLoop(context),
    new NodeEvents(context),
  ];
}
