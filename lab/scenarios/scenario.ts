/** What a scenario is: a story that is played on the lab's real cluster and judged on the far side of it. */

import type { Held } from '../../tools/probe/hold-log.ts';
import type { Outage } from '../../tools/probe/probe-log.ts';
import type { World } from './world.ts';

export interface Scenario {
  /** one line for the table */
  readonly title: string;
  /** part of `make test`, whose time is bounded; the others are for `make e2e` */
  readonly isShort?: boolean;
  /** takes Herald away, and with its kinds all that somebody has told it: never on a lab that was up already, unless it is asked for by name */
  readonly isDestructive?: boolean;
  run(world: World): Promise<readonly Measured[]>;
}

/** What a client noticed of one thing that was done. */
export interface Measured {
  readonly what: string;
  readonly outage: Outage;
  /** connections that were kept open all the while */
  readonly held?: Held;
}

export interface Result {
  readonly name: string;
  readonly title: string;
  readonly seconds: number;
  readonly measured: readonly Measured[];
  /** absent: it went as it should */
  readonly failure?: string;
  /** it says nothing: the client could not see how it went */
  readonly isUnseen?: boolean;
  /** why it was not played */
  readonly refusal?: string;
}
