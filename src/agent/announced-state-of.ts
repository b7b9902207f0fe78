/**
 * What routers may have of an agent that starts, by its options and the View that was saved. The process before it may have gone with its
 * machine: a reset, a panic, a loss of power. Then no kernel closed its connections, and a router that has not noticed keeps the routes
 * and takes no other session from here (RFC 4271 §6.8), until its hold timer ends or something that it sends is answered with a reset.
 */

import type { AgentOptions } from './agent-options.ts';
import { AnnouncedState } from './announced.ts';
import type { Carriers } from './carriers.ts';
import { hasBeenReady } from './cluster-memory.ts';
import { KeptRoutes, type KeptRoutesOptions } from './kept-routes.ts';
import type { SavedView } from './saved-view.ts';

interface Start extends AgentOptions {
  readonly saved: SavedView | undefined;
  readonly timers: KeptRoutesOptions['timers'];
  readonly agent: KeptRoutesOptions['agent'] & { readonly carriers: Carriers };
}

/** `onForgotten`: no router has anything any more that it cannot be told to drop */
export function announcedStateOf(start: Start, onForgotten: () => void): AnnouncedState {
  const { clock, timers, agent, speaker } = start;
  const before = { resetMs: resetMs(start), saved: start.saved?.lost ?? [] };
  const kept = new KeptRoutes({ clock, timers, agent, ...before }, onForgotten);
  return new AnnouncedState(speaker, () => agent.carriers, kept);
}

/**
 * When this machine came up; whatever was announced before, was so before then. undefined: an agent of this boot has been here, or the
 * claims were given back, or nobody waits for our answers. Where no View was saved nothing is known of before, and a machine that has
 * been up for longer than a hold time has nothing to wait for.
 */
function resetMs(start: Start): number | undefined {
  const { clock, node, cluster, sources = ['files'], upMs = 0, saved } = start;
  if (!sources.includes('api') || saved?.isGivenBack === true) return undefined;
  const context = { ignoresExcludeLabel: false, ...cluster, nodeName: node.name };
  if (saved?.cluster !== undefined && hasBeenReady(saved.cluster, context)) return undefined;
  return clock.now() - upMs;
}
