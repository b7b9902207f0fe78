/**
 * Hands what was decided to the speaker. Settings that no session can be made of are told; what runs goes on. `isPartial`: some of it could
 * not be decided yet, and routers that have kept our routes over a restart shall keep them until it is.
 */

import type { AgentOptions } from './agent-options.ts';
import type { DesiredState } from './desired.ts';

export function tellSpeaker(
  { peers, ranges }: DesiredState,
  { speaker, listen, log }: Pick<AgentOptions, 'speaker' | 'listen' | 'log'>,
  isPartial: boolean,
): void {
  const dynamic = ranges.map(({ name, range, template, routes }) => ({
    range,
    settings: { ...template, name },
    routes,
    isPartial,
  }));
  const isListening = dynamic.length > 0 || peers.some(({ settings }) => settings.listen === true);
  try {
    speaker.apply({ peers: peers.map((peer) => ({ ...peer, isPartial })), ranges: dynamic });
    if (isListening) listen();
  } catch (error) {
    // the schema should have said so
    if (!(error instanceof RangeError)) throw error;
    log.error('bgp.refused', { reason: error.message }, 'sessions left as they were');
  }
}
