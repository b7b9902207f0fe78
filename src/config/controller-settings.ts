/**
 * The controller's settings, in the manner of agent-settings.ts: one table for flags, environment, the settings file and the
 * documentation. What is here configures the process; pools, claims and peers are objects of the API.
 */

import type { ElectionTimes } from '../controller/election-rules.ts';
import type { LoopSettings } from '../controller/loops.ts';
import { LOG_LEVELS } from '../log/log.ts';
import { MOVE_RATE } from '../scheduler/move-rate.ts';
import { parseListenAddress } from '../telemetry/listen-address.ts';
import { API_SETTINGS } from './api-settings.ts';
import { SettingError } from './read-settings.ts';
import {
  anything,
  OFF,
  oneOf,
  optional,
  orOff,
  row,
  type SettingRow,
  seconds,
  wholeNumber,
  yesNo,
} from './setting-row.ts';

export const CONTROLLER_SETTINGS = {
  ...API_SETTINGS,
  defaultClass: yesNo(
    'default-class',
    'false',
    'also take Services of type LoadBalancer that name no loadBalancerClass',
  ),
  leaderElect: yesNo(
    'leader-elect',
    'true',
    'only one of several controllers writes at a time; turn it off where there is one for sure',
  ),
  identity: row(
    'identity',
    'NAME',
    '',
    anything,
    "this controller's name in the Lease, made unique by what is put behind it; default: its hostname",
  ),
  leaderLease: row(
    'leader-lease',
    'SECONDS',
    '15',
    wholeNumber(4, 3600),
    'how long another controller waits before it takes over from one that is silent. The leader goes on without a renewal for two thirds of it, and renews every two fifteenths',
  ),
  leaseDuration: row(
    'leader-elect-lease-duration',
    'SECONDS',
    '',
    optional(seconds(1)),
    'the same in fractions of a second, before --leader-lease; for tests',
  ),
  renewDeadline: row(
    'leader-elect-renew-deadline',
    'SECONDS',
    '',
    optional(seconds(0.5)),
    'how long a leader goes on without a renewal; default: two thirds of the lease',
  ),
  retryPeriod: row(
    'leader-elect-retry-period',
    'SECONDS',
    '',
    optional(seconds(0.1)),
    'from one renewal, or look at the Lease, to the next; default: two fifteenths of the lease',
  ),
  maxStale: row(
    'max-stale',
    'SECONDS',
    '86400',
    seconds(1),
    'after this long an address that was freed is given out again, whatever nodes have not confirmed; never shorter than that of the agents',
  ),
  coolDown: row(
    'cool-down',
    'SECONDS',
    '60',
    seconds(0),
    'for this long an address that has become free is given to a Service that does not name it only when its pool has no other: whoever had it finds it again',
  ),
  rebalanceInterval: row(
    'rebalance-interval',
    'SECONDS',
    OFF,
    orOff(seconds(1)),
    'how often one exclusive claim moves from a node that holds many to one that holds fewer, until they are even; `off`: only what has to move moves',
  ),
  moveRate: row(
    'move-rate',
    'NUMBER',
    String(MOVE_RATE.perSecond),
    wholeNumber(1, 100_000),
    'exclusive claims that may move in a second; twice as many go at once before that counts',
  ),
  metricsAddress: row(
    'metrics-address',
    'ADDRESS:PORT',
    ':9179',
    parseListenAddress,
    'where /metrics, /livez and /readyz are served; `:PORT` is all addresses, `off` none',
  ),
  logLevel: row('log-level', 'LEVEL', 'info', oneOf(LOG_LEVELS), `one of ${LOG_LEVELS.join(', ')}`),
} as const satisfies Readonly<Record<string, SettingRow>>;

export type ControllerSettingName = keyof typeof CONTROLLER_SETTINGS;
export type ControllerSettingTexts = Readonly<Record<ControllerSettingName, string>>;

/** What the loops go by. */
export function loopSettings(settings: ControllerSettingTexts): LoopSettings {
  const { rebalanceInterval } = settings;
  const perSecond = Number(settings.moveRate);
  return {
    defaultClass: settings.defaultClass === 'true',
    maxStaleMs: Number(settings.maxStale) * 1000,
    coolDownMs: Number(settings.coolDown) * 1000,
    moveRate: { perSecond, burst: 2 * perSecond },
    ...(rebalanceInterval !== OFF && { rebalanceEveryMs: Number(rebalanceInterval) * 1000 }),
  };
}

/** Throws a SettingError where the three do not fit together. */
export function electionTimes(settings: ControllerSettingTexts): ElectionTimes {
  const { leaderLease, leaseDuration, renewDeadline, retryPeriod } = settings;
  const leaseMs = Number(leaseDuration === '' ? leaderLease : leaseDuration) * 1000;
  const renewDeadlineMs = renewDeadline === '' ? (leaseMs * 2) / 3 : Number(renewDeadline) * 1000;
  const retryMs = retryPeriod === '' ? (leaseMs * 2) / 15 : Number(retryPeriod) * 1000;
  // what clocks may differ by, and what a write may take, lies between the two
  if (renewDeadlineMs > leaseMs * 0.8) {
    throw new SettingError(
      `--leader-elect-renew-deadline is ${renewDeadlineMs / 1000}, which is too close to the lease (${leaseMs / 1000}): write at most four fifths of it`,
    );
  }
  if (retryMs > renewDeadlineMs / 2) {
    throw new SettingError(
      `--leader-elect-retry-period is ${retryMs / 1000}: a leader must be able to renew twice within --leader-elect-renew-deadline (${renewDeadlineMs / 1000})`,
    );
  }
  return { leaseMs, renewDeadlineMs, retryMs };
}
