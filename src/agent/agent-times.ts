/** How long the agent waits, and how often it looks. */

/** how long a withdrawal may take to be written before its address is taken off all the same */
export const FLUSH_DEADLINE_MS = 1000;
/** for a disk that has not taken the last View, at a stop by the time all else is done, and when a person has said something */
export const SAVE_PATIENCE_MS = 1000;
export const PASSWORD_POLL_MS = 2000;
/** after a planned restart: so long for checks, and for kube-proxy, to say how things are, before routers may drop what they have kept */
export const SETTLE_MS = 15_000;
