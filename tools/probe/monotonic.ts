/** Milliseconds of CLOCK_MONOTONIC: the same clock in every process of this machine, whatever happens to the wall clock. */

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** A wall-clock moment of just now as one of the monotonic clock. */
export const fromWallMs = (wallMs: number): number => wallMs - Date.now() + nowMs();
