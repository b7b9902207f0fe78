/** What a scenario is: a story that is played on the lab's real cluster and judged on the far side of it. */

import type { Outage } from '../../tools/probe/probe-log.ts';
import type { World } from './world.ts';

export interface Scenario {
  /** one line for the table */
  readonly title: string;
  /** part of `make test`, whose time is bounded; the others are for `make e2e` */
  readonly isShort?: boolean;
  run(world: World): Promise<readonly Measured[]>;
}

/** What a client noticed of one thing that was done. */
export interface Measured {
  readonly what: string;
  readonly outage: Outage;
}

export interface Result {
  readonly name: string;
  readonly title: string;
  readonly seconds: number;
  readonly measured: readonly Measured[];
  /** absent: it went as it should */
  readonly failure?: string;
}
