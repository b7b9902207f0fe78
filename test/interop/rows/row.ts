/** A row of the interop table: one feature, tried against every router; it resolves with its evidence or throws. */

import type { Cell, Topology } from '../cell.ts';

export type Row = {
  readonly name: string;
  readonly topology?: Topology;
  readonly run: (cell: Cell) => Promise<readonly string[]>;
};
