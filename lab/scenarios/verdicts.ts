/** What a story may cost its client. Pure: what was seen against what is allowed, and an error that says by how much it was missed. */

import type { Outage } from '../../tools/probe/probe-log.ts';

export interface Allowance {
  /** of the client: between two probes */
  readonly everyMs: number;
  /** how often routers changed over from one way to another; 1 where it is not said */
  readonly changes?: number;
}

/** the routers of a rack and the spine take over a new way in less */
const CHANGE_OVER_MS = 100;
/** A client that has sent nothing for longer could see nothing: the machine was too busy for it, or stood still. */
const BLIND_MS = 2000;

/** Nobody can say how the story went. */
export class ClientWasBlind extends Error {}

/** No probe was lost, and no connection was cut. */
export function expectNone(outage: Outage): void {
  expectSight(outage);
  if (outage.lost + outage.resets > 0) throw new Error(told(outage));
}

/** No new connection was lost; of those that were open when their way changed, no more were cut than can have been open then. */
export function expectNoneLost(outage: Outage, allowance: Allowance): void {
  expectSight(outage);
  if (outage.lost > 0) throw new Error(told(outage));
  expectFewCut(outage, allowance);
}

/**
 * Nothing but what is on its way while routers change over from one way to another: the handshake of a connection may begin at one node and end at
 * another, and between racks FRR takes the old way out before the new one is in.
 */
export function expectBrief(outage: Outage, allowance: Allowance): void {
  expectSight(outage);
  if (outage.outageMs > CHANGE_OVER_MS) throw new Error(told(outage));
  expectFewCut(outage, allowance);
}

/** Whatever was lost was lost within this time, and the client was answered again after it. */
export function expectWithin(outage: Outage, withinMs: number, allowance: Allowance): void {
  expectSight(outage);
  if (outage.outageMs > withinMs) throw new Error(`not within ${withinMs} ms: ${told(outage)}`);
  expectFewCut(outage, allowance);
}

function expectFewCut(outage: Outage, { everyMs, changes = 1 }: Allowance): void {
  const most = Math.ceil(CHANGE_OVER_MS / everyMs) * changes;
  if (outage.resets > most) throw new Error(`${told(outage)}; at most ${most} can have been open`);
}

function expectSight(outage: Outage): void {
  const { sent, longestGapMs, longestPauseMs } = outage;
  if (sent === 0) throw new Error('no probe was sent');
  if (longestPauseMs > BLIND_MS) {
    const time = `${Math.round(longestPauseMs)} ms`;
    throw new ClientWasBlind(`the client itself sent nothing for ${time}; ${told(outage)}`);
  }
  if (longestGapMs <= BLIND_MS) return;
  throw new Error(`nobody answered for ${Math.round(longestGapMs)} ms; ${told(outage)}`);
}

function told({ sent, lost, resets, outageMs, reasons }: Outage): string {
  const time = `${Math.round(outageMs)} ms from the first lost to the last`;
  return `of ${sent} probes ${lost} were lost and ${resets} cut, ${time}: ${JSON.stringify(reasons)}`;
}
