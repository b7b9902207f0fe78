/**
 * Simple mode: the controller inside an agent's process. Where its replica may start on another node (`--single-announcer`) it acts only when no
 * DaemonSet of Herald is left in the cluster, its Lease says that the process is leaving before the routes go, and a planned restart keeps
 * the Lease for as long as routers keep the routes.
 */

import { nodeClock } from 'bgp-ts';
import type { LeaseEnd } from '../controller/election.ts';
import { NAMESPACE } from '../model/names.ts';
import { optional } from '../model/optional.ts';
import { ApiError, ApiUnreachable, isNotFound, type KubeApi } from '../sources/kube/api.ts';
import { pause } from '../sources/kube/pause.ts';
import { DAEMON_SETS } from '../sources/kube/resources.ts';
import type { ClusterParts } from './agent-cluster.ts';
import type { RunningController } from './controller.ts';

const OLD_DAEMON_SET = 'herald-agent';
const LOOK_AGAIN_MS = 5000;
/** a stop does not wait longer for the Lease to say that it is one */
const LEAVE_MS = 2000;
/** routers end a graceful restart a little late */
const RESTART_MARGIN_MS = 3000;

export class OwnController {
  readonly #parts: ClusterParts;
  readonly #api: KubeApi;
  readonly #ending = new AbortController();
  #starting: Promise<RunningController | undefined> = Promise.resolve(undefined);
  #running: RunningController | undefined;

  constructor(parts: ClusterParts, api: KubeApi) {
    this.#parts = parts;
    this.#api = api;
  }

  /** With one process for one node it runs when this resolves; else it waits in the background until it may act. */
  async start(): Promise<void> {
    this.#starting = this.#begin();
    if (this.#parts.announcer === undefined) await this.#starting;
  }

  /** At a stop signal: the next process may announce beside this one from now on. */
  async leave(): Promise<void> {
    if (this.#parts.announcer === undefined || this.#running === undefined) return;
    const limit = new AbortController();
    const left = this.#running.controller.leave().finally(() => limit.abort());
    await Promise.race([left, pause(nodeClock, LEAVE_MS, limit.signal)]);
  }

  async stop(how: 'away' | 'restart'): Promise<void> {
    this.#ending.abort();
    const running = await this.#starting;
    await running?.stop(this.#leaseEnd(how));
  }

  async #begin(): Promise<RunningController | undefined> {
    if (this.#parts.announcer !== undefined && !(await this.#isAlone())) return undefined;
    const { settings, nodeName, log, world, host, announcer, instance } = this.#parts;
    const { defaultControllerSettings, startController } = await import('./controller.ts');
    const byLease =
      announcer === undefined
        ? { identity: `${nodeName}_${world.pid}` }
        : {
            identity: nodeName,
            uniqueBy: instance,
            onRecord: announcer.onRecord.bind(announcer),
            onLeading: announcer.onLeading.bind(announcer),
          };
    this.#running = await startController({
      api: this.#api,
      settings: {
        ...defaultControllerSettings(world),
        maxStale: settings.maxStale,
        defaultClass: settings.defaultClass,
        // it is the agent that is asked
        metricsAddress: 'off',
        ...(announcer === undefined ? {} : { leaderElect: 'true' }),
      },
      ...optional('host', host),
      ...byLease,
      log,
      version: world.version,
    });
    return this.#running;
  }

  /** resolves to false only at a stop */
  async #isAlone(): Promise<boolean> {
    const { announcer, log } = this.#parts;
    const { signal } = this.#ending;
    let said = false;
    while (!signal.aborted) {
      const found = await this.#oldDaemonSet();
      if (found === 'absent') {
        announcer?.setRefusal(undefined);
        return true;
      }
      if (found === 'present') {
        const sentence = `DaemonSet ${NAMESPACE}/${OLD_DAEMON_SET} exists, and its pods announce: simple mode does nothing beside it`;
        const remedy = `kubectl -n ${NAMESPACE} delete daemonset ${OLD_DAEMON_SET}`;
        announcer?.setRefusal({ sentence, remedy });
        if (!said) log.error('agent.lease', { remedy }, sentence);
        said = true;
      }
      await pause(nodeClock, LOOK_AGAIN_MS, signal);
    }
    return false;
  }

  async #oldDaemonSet(): Promise<'present' | 'absent' | 'unknown'> {
    try {
      await this.#api.get(DAEMON_SETS, OLD_DAEMON_SET, { signal: this.#ending.signal });
      return 'present';
    } catch (error) {
      if (isNotFound(error)) return 'absent';
      if (!(error instanceof ApiError) && !(error instanceof ApiUnreachable)) throw error;
      const { log } = this.#parts;
      log.warn(
        'agent.restart',
        { problem: error.message },
        'the old DaemonSet cannot be looked for',
      );
      return 'unknown';
    }
  }

  #leaseEnd(how: 'away' | 'restart'): LeaseEnd {
    const { announcer, agent } = this.#parts;
    if (announcer === undefined || how === 'away') return { kind: 'release' };
    const kept = agent.decided.plans.map(({ peer }) => peer.gracefulRestart?.restartSeconds ?? 0);
    return { kind: 'keep', keepMs: Math.max(0, ...kept) * 1000 + RESTART_MARGIN_MS };
  }
}
