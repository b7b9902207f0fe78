/** The rows in the order of the table. */

import { announceRows, restartRows } from './announce.ts';
import { asnRows } from './asn.ts';
import { attributeRows } from './attributes.ts';
import { gracefulRestartRows } from './graceful-restart.ts';
import { nextHopRows } from './next-hop.ts';
import type { Row } from './row.ts';
import { securityRows } from './security.ts';
import { sessionRows, shutdownRows } from './session.ts';
import { silenceRows } from './silence.ts';

export const allRows: readonly Row[] = [
  ...announceRows,
  ...attributeRows,
  ...asnRows,
  ...nextHopRows,
  ...securityRows,
  ...sessionRows,
  ...silenceRows,
  ...shutdownRows,
  ...gracefulRestartRows,
  ...restartRows,
];
