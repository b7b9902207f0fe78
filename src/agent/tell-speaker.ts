/**
 * Hands what was decided to the speaker. `desired()` has turned away what no session can be made of, each peer by itself; what the speaker
 * refuses all the same is told here, and everything else is as decided. `isPartial`: some of it could not be decided yet, and routers that
 * have kept our routes over a restart shall keep them until it is.
 */

import { labelled } from '../turns/work-labels.ts';
import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';
import { rangeWish } from './peer-settings.ts';

export function tellSpeaker(
  { peers, ranges }: DesiredState,
  { speaker, listen, log }: Pick<AgentOptions, 'speaker' | 'listen' | 'log'>,
  isPartial: boolean,
): void {
  const dynamic = ranges.map((range) => ({ ...rangeWish(range), routes: range.routes, isPartial }));
  const isListening = dynamic.length > 0 || peers.some(({ settings }) => settings.listen === true);
  const refused = labelled('sessions', () =>
    speaker.apply({ peers: peers.map((peer) => ({ ...peer, isPartial })), ranges: dynamic }),
  );
  for (const { name, sentence } of refused) {
    log.error('bgp.refused', { peer: name, reason: sentence }, 'no session with it');
  }
  if (isListening) listen();
}
