/**
 * `herald controller`: builds the real client of the API, metrics and probes, hands them to the controller, and stops it on a signal.
 * `startController` is the same without the process around it, for an agent that is its own controller.
 */

import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { nodeClock, nodeRandom } from 'bgp-ts';
import {
  CONTROLLER_SETTINGS,
  type ControllerSettingTexts,
  electionTimes,
  loopSettings,
} from '../config/controller-settings.ts';
import { readTable, SettingError, type SettingSources } from '../config/read-settings.ts';
import { Controller } from '../controller/controller.ts';
import type { LeaseEnd } from '../controller/election.ts';
import { type LeaseRecord, leaseIdentity } from '../controller/election-rules.ts';
import { LOG_LEVELS, type Log } from '../log/log.ts';
import { createPinoLog } from '../log/pino-log.ts';
import { optional } from '../model/optional.ts';
import type { KubeApi } from '../sources/kube/api.ts';
import { createKubeApi } from '../sources/kube/api-client.ts';
import { type Health, TelemetryServer } from '../telemetry/http.ts';
import { parseListenAddress } from '../telemetry/listen-address.ts';
import type { TelemetryHost } from '../telemetry/metrics-base.ts';
import { TurnWatch } from '../turns/turn-watch.ts';
import { labelled } from '../turns/work-labels.ts';
import { accessOf } from './api-access.ts';
import { type Command, UsageError, type World } from './command.ts';
import { processFacts } from './process-facts.ts';
import { settingsHelp } from './settings-help.ts';
import { turnWorld } from './turn-world.ts';

const HELP = `usage: herald controller [options]

Gives Services of type LoadBalancer (loadBalancerClass: herald.dev/herald) an address out of an
IPPool, writes it as an IPClaim, places exclusive claims on nodes, and tells in conditions, events
and metrics what became of it. It needs no privileges and nothing but the Kubernetes API; agents
announce the addresses (herald agent).

Run two or more: one leads (Lease herald-system/herald-controller), the others wait with all they
need to know. One that dies is followed within the lease (15 s), one that is stopped at once. None
of them ends because the API is away: they go on when it is back.

On SIGTERM or SIGINT it lets writes that are under way end, gives the Lease back and exits 0. A
second signal ends it at once.

Settings: a flag beats its environment variable, that beats the file of --config (YAML, by the
names in docs/settings.md). A flag whose value is true or false may stand alone, which means true.

${settingsHelp(CONTROLLER_SETTINGS)}
  --config FILE             settings from a file (HERALD_CONFIG)
  --help                    this text

Exit status: 0 stopped by a signal, 2 wrong usage.

Examples
  herald controller
  herald controller --kubeconfig ~/.kube/config --default-class --metrics-address 127.0.0.1:9179
`;

export const controllerCommand: Command = {
  name: 'controller',
  summary: 'give Services addresses out of pools, and exclusive addresses a node',
  help: HELP,
  isService: true,
  async run(args, world) {
    const settings = readControllerSettings(args, world);
    const identity = settings.identity === '' ? hostname() : settings.identity;
    const level = LOG_LEVELS.find((one) => one === settings.logLevel) ?? 'info';
    const log = createPinoLog({ level, node: identity, destination: world.stdout });
    const access = await accessOf(settings, world);
    const stopped = new Promise<string>((settle) => world.onStopSignal(settle));
    const { version } = world;
    log.info('controller.start', { version, pid: world.pid, access: access.origin }, 'starting');
    const api = createKubeApi(access, { clock: nodeClock, random: nodeRandom, log, version });
    const running = await startController({ api, settings, identity, log, version });
    const signal = await stopped;
    log.info('controller.stop', { signal }, 'stopping');
    await running.stop();
    api.close();
    return 0;
  },
};

function readControllerSettings(args: readonly string[], { env }: World): ControllerSettingTexts {
  return checkedSettings({ args, env, readFile: (path) => readFileSync(path, 'utf8') });
}

function checkedSettings(sources: SettingSources): ControllerSettingTexts {
  try {
    const settings = readTable(CONTROLLER_SETTINGS, sources);
    electionTimes(settings);
    return settings;
  } catch (error) {
    if (error instanceof SettingError) throw new UsageError(error.message);
    throw error;
  }
}

export interface ControllerParts {
  readonly api: KubeApi;
  readonly settings: ControllerSettingTexts;
  /** its name in the Lease; what makes it this process's alone is put behind it */
  readonly identity: string;
  /** put behind it; default: of this process alone */
  readonly uniqueBy?: string;
  readonly onRecord?: (record: LeaseRecord | undefined) => void;
  readonly onLeading?: (isLeading: boolean) => void;
  readonly log: Log;
  readonly version: string;
  /** who tells what there is to tell; absent: itself, on the address of its settings */
  readonly host?: TelemetryHost;
}

export interface RunningController {
  readonly controller: Controller;
  /** gives the Lease back, and resolves within seconds whatever the API does */
  stop(end?: LeaseEnd): Promise<void>;
}

export async function startController(parts: ControllerParts): Promise<RunningController> {
  const { settings, log, version, host } = parts;
  // a sub-command that only prints its help need not load it
  const { ControllerMetrics } = await import('../telemetry/controller-metrics.ts');
  const { MeteredApi } = await import('../telemetry/metered-api.ts');
  const { createMetricsBase } = await import('../telemetry/metrics-base.ts');
  const turns = new TurnWatch(turnWorld, log);
  // its host has one of its own
  if (host === undefined) turns.start();
  const base = host?.base ?? createMetricsBase(processFacts('controller', version, turns));
  const metrics = new ControllerMetrics(base);
  const controller = new Controller({
    api: new MeteredApi(parts.api, base.meter),
    clock: nodeClock,
    random: nodeRandom,
    log,
    // two pods of one hostname, or two runs on one machine, are two controllers
    identity: leaseIdentity(parts.identity, parts.uniqueBy ?? randomUUID()),
    ...optional('onRecord', parts.onRecord),
    ...optional('onLeading', parts.onLeading),
    ...(settings.leaderElect === 'true' && { election: electionTimes(settings) }),
    settings: loopSettings(settings),
    counters: metrics.counters,
  });
  metrics.watch(() => controller.facts());
  host?.join({ refresh: () => metrics.refresh(), ready: () => asGuest(readiness(controller)) });
  const telemetry = new TelemetryServer({
    metrics: () => labelled('metrics', () => metrics.text()),
    live: () => ({ ok: true, lines: [] }),
    ready: () => readiness(controller),
  });
  const address = parseListenAddress(settings.metricsAddress);
  const opened = address === undefined ? 0 : await telemetry.start(address);
  if (typeof opened === 'string') log.error('controller.start', {}, opened);
  controller.start();
  return {
    controller,
    stop: async (end) => {
      await controller.stop(end);
      await telemetry.stop();
      turns.stop();
    },
  };
}

/** The settings of a controller inside another process: those of the environment, and the defaults. */
export function defaultControllerSettings({ env }: Pick<World, 'env'>): ControllerSettingTexts {
  const { HERALD_CONFIG: _, ...own } = env;
  return checkedSettings({ args: [], env: own, readFile: () => '' });
}

/** A standby is ready: it could lead this moment. */
function readiness(controller: Controller): Health {
  const { unsynced, isLeading } = controller;
  if (unsynced.length === 0) return { ok: true, lines: [isLeading ? 'leading' : 'standby'] };
  return { ok: false, lines: [`not listed yet: ${unsynced.join(', ')}`] };
}

/** beside the lines of its host each says whose it is */
function asGuest({ ok, lines }: Health): Health {
  return { ok, lines: lines.map((line) => `controller: ${line}`) };
}
