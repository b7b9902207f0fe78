/** The scheduler alone, without an API: test/bench/scheduler.ts. */

import { benchScheduler, FULL_SIZE, LIMIT_MS } from '../../scheduler.ts';
import type { BenchSizes } from '../options.ts';
import { count, ms, NO_ANCHOR, type Row, verdictOf } from '../report.ts';

export function measureScheduler({ scheduled }: BenchSizes): readonly Row[] {
  const nodes = Math.min(FULL_SIZE.nodes, scheduled / 10);
  const runs = benchScheduler({
    claims: scheduled,
    nodes,
    lost: Math.min(FULL_SIZE.lost, nodes / 4),
  });
  return [
    {
      work: `scheduler, pure: ${count(scheduled)} claims over ${count(nodes)} nodes`,
      anchor: NO_ANCHOR,
      target: `≤ ${LIMIT_MS} ms`,
      measured: runs.map(({ what, ms: took }) => `${what} ${ms(took)}`).join(', '),
      verdict: verdictOf(runs.every((run) => run.ms <= LIMIT_MS)),
      samples: { ms: runs.map((run) => run.ms) },
    },
  ];
}
