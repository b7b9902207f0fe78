/**
 * What the log of a probing client (probe-main.ts) says about an outage. Pure. Counted is what a client would have noticed: probes without an
 * answer, the time from the first of them to the last, the longest time in which nobody answered at all, and, beside them, connections that
 * were open when their way changed: no router without state can keep those.
 */

export type Probe = {
  readonly sentMs: number;
  readonly latencyMs: number;
  /** The server that answered. */
  readonly who?: string;
  /** Why there was no answer: timeout (no connection came about), no-answer (it did, and then nothing came), reset, ECONNREFUSED, EHOSTUNREACH, … */
  readonly lost?: string;
};

export type Outage = {
  readonly sent: number;
  /** Without an answer, except `resets`. */
  readonly lost: number;
  /** Connections that were open when their way changed, or their server died, and were reset. */
  readonly resets: number;
  /** From the first lost probe until one interval after the last; 0 when none was lost. */
  readonly outageMs: number;
  /** The longest time between two answered probes, by when they were sent. */
  readonly longestGapMs: number;
  /** The longest time in which the client itself sent nothing. */
  readonly longestPauseMs: number;
  /** How many each server answered. */
  readonly answeredBy: Readonly<Record<string, number>>;
  /** How many were lost for which reason. */
  readonly reasons: Readonly<Record<string, number>>;
};

const resetWhileOpen = 'reset';

export function parseProbes(text: string): Probe[] {
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n');
  return lines
    .filter((line) => line !== '')
    .map((line) => {
      const [sent = '', latency = '', outcome = ''] = line.split(' ');
      const times = { sentMs: Number(sent), latencyMs: Number(latency) };
      return outcome.startsWith('!')
        ? { ...times, lost: outcome.slice(1) }
        : { ...times, who: outcome };
    });
}

export function analyse(
  all: readonly Probe[],
  fromMs: number,
  toMs: number,
  everyMs: number,
): Outage {
  const probes = all
    .filter((probe) => probe.sentMs >= fromMs && probe.sentMs <= toMs)
    .toSorted((a, b) => a.sentMs - b.sentMs);
  const lost = probes.filter(({ lost: why }) => why !== undefined && why !== resetWhileOpen);
  const [first, last] = [lost.at(0), lost.at(-1)];
  const answers = probes.filter((probe) => probe.lost === undefined).map((probe) => probe.sentMs);
  return {
    sent: probes.length,
    lost: lost.length,
    resets: probes.filter((probe) => probe.lost === resetWhileOpen).length,
    outageMs: first === undefined || last === undefined ? 0 : last.sentMs - first.sentMs + everyMs,
    longestGapMs: longestGap([fromMs, ...answers, toMs]),
    longestPauseMs: longestGap([fromMs, ...probes.map(({ sentMs }) => sentMs), toMs]),
    answeredBy: tally(probes.map((probe) => probe.who)),
    reasons: tally(lost.map((probe) => probe.lost)),
  };
}

/** One by one: a log may have more probes than a call has room for arguments. */
function longestGap(edges: readonly number[]): number {
  return edges.reduce(
    (longest, edge, index) => Math.max(longest, edge - (edges[index - 1] ?? edge)),
    0,
  );
}

export function tally(words: readonly (string | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const word of words) if (word !== undefined) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}
