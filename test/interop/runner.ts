/**
 * Runs cells, several at a time: nearly all of their time is waiting for timers of routers. Each has its own namespaces, so
 * they cannot meet. A cell that fails keeps the end of the router's log for whoever reads the failure.
 */

import { Cell, type Inspection } from './cell.ts';
import { notApplicable } from './not-applicable.ts';
import type { RouterKind } from './routers/router.ts';
import type { Row } from './rows/row.ts';
import type { Verdict } from './table.ts';

export type Outcome = {
  readonly verdict: Verdict;
  readonly inspection: Inspection;
  readonly seconds: number;
};

const nothing: Inspection = { messages: 0, complaints: [] };

export async function runCell(router: RouterKind, row: Row): Promise<Outcome> {
  const excuse = notApplicable.findIndex((each) => each.router === router && each.row === row.name);
  const reason = notApplicable[excuse]?.reason;
  if (reason !== undefined) {
    return { verdict: { kind: 'n/a', reason, note: excuse + 1 }, inspection: nothing, seconds: 0 };
  }
  const started = performance.now();
  const cell = new Cell(router, row.topology ?? 'direct');
  let inspection = nothing;
  let verdict: Verdict;
  try {
    await cell.build();
    const evidence = await row.run(cell);
    inspection = await cell.inspect();
    if (evidence.length === 0) throw new Error('passed without evidence');
    verdict = { kind: 'pass', evidence };
  } catch (error) {
    verdict = { kind: 'fail', error: explained(error, cell) };
  } finally {
    await cell.destroy();
  }
  return { verdict, inspection, seconds: (performance.now() - started) / 1_000 };
}

function explained(error: unknown, cell: Cell): Error {
  const message = error instanceof Error ? error.message : String(error);
  let log = '';
  try {
    log = cell.router.log().slice(-1_500);
  } catch {
    log = '(no log)';
  }
  return new Error(`${message}\n${cell.kind} logged: ${log}`, { cause: error });
}

/** Starts `work` for each item, at most `limit` at a time, in order; the promises are there at once. */
export function pooled<T, R>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<R>,
): Map<T, Promise<R>> {
  const promises = new Map<T, Promise<R>>();
  const slots: Promise<unknown>[] = Array.from({ length: limit }, () => Promise.resolve());
  const queue = [...items];
  const settle = new Map(items.map((item) => [item, Promise.withResolvers<R>()]));
  for (const [item, { promise }] of settle) {
    // A failure belongs to the test that awaits it, which may not have come yet.
    promise.catch(() => undefined);
    promises.set(item, promise);
  }
  const drain = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      const slot = settle.get(item);
      await work(item).then(slot?.resolve, slot?.reject);
    }
  };
  for (const slot of slots) void slot.then(drain);
  return promises;
}
