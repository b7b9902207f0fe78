/**
 * The half of `herald agent` that knows a cluster: the way to the API, the cluster as a source, the report to it, and in simple mode the
 * controller. Loaded only where a cluster is a source, so that an agent of files stays as light as it is.
 */

import { type Clock, nodeClock, nodeRandom } from 'bgp-ts';
import type { Agent } from '../agent/agent.ts';
import { howToStop } from '../agent/kube-report/how-to-stop.ts';
import { type KubeReport, startKubeReport } from '../agent/kube-report/kube-report.ts';
import type { OwnPod } from '../agent/kube-report/restart-evidence.ts';
import type { StopKind } from '../agent/kube-report/restart-proof.ts';
import type { SettingTexts } from '../config/agent-settings.ts';
import type { Log } from '../log/log.ts';
import { AgentSource } from '../sources/kube/agent-source.ts';
import { type ClosableKubeApi, createKubeApi, longestAnswer } from '../sources/kube/api-client.ts';
import type { KubeAccess } from '../sources/kube/kube-access.ts';
import { pause } from '../sources/kube/pause.ts';
import { MeteredApi } from '../telemetry/metered-api.ts';
import type { TelemetryHost } from '../telemetry/metrics-base.ts';
import type { AgentAnnouncer } from './agent-announcer.ts';
import { accessOf } from './api-access.ts';
import { UsageError, type World } from './command.ts';
import { OwnController } from './own-controller.ts';

export interface ClusterParts {
  readonly settings: SettingTexts;
  readonly nodeName: string;
  readonly log: Log;
  readonly world: World;
  readonly agent: Agent;
  /** of this machine, the same after a restart */
  readonly instance: string;
  /** simple mode with one replica that may start elsewhere */
  readonly announcer?: AgentAnnouncer;
  /** counts what is asked of the API, and tells what a controller in here has to tell */
  readonly host?: TelemetryHost;
}

/** What an agent has of its cluster while it runs. */
export interface ClusterLink {
  readonly api: ClosableKubeApi;
  readonly report: KubeReport;
  /** asked at a signal, while news still come */
  howToStop(): Promise<StopKind>;
  /** no more news; what was said stands */
  stopListening(): void;
  /** after the agent has stopped */
  close(how: 'away' | 'restart'): Promise<void>;
}

export async function linkCluster(parts: ClusterParts, access: KubeAccess): Promise<ClusterLink> {
  const { settings, nodeName, log, world, agent, instance } = parts;
  const { version } = world;
  const maxOctets = longestAnswer(process.constrainedMemory());
  const options = { clock: nodeClock, random: nodeRandom, log, version, maxOctets };
  const api = createKubeApi(access, options);
  log.info('kube.server', { access: access.origin }, 'way to the API');
  const metered = parts.host === undefined ? api : new MeteredApi(api, parts.host.base.meter);
  const shared = { api: metered, clock: nodeClock, random: nodeRandom, log };
  const source = new AgentSource({ ...shared, nodeName, agent });
  const ignoresExcludeLabel = settings.withController === 'true';
  const leaseSeconds = Number(settings.leaseDuration);
  const claimsHeardMs = () => source.placedHeardMs;
  const awaitClaims = (names: readonly string[]) => source.awaitClaims(names);
  const whose = {
    agent,
    node: nodeName,
    instance,
    ignoresExcludeLabel,
    leaseSeconds,
    claimsHeardMs,
    awaitClaims,
  };
  const report = startKubeReport({ ...shared, ...whose });
  source.start();
  const controller = settings.withController === 'true' ? new OwnController(parts, api) : undefined;
  await controller?.start();
  return {
    api,
    report,
    howToStop: async () => {
      const [how] = await Promise.all([
        howToStop({ ...shared, agent, ...podOf(settings) }),
        controller?.leave(),
      ]);
      return how;
    },
    stopListening: () => source.stop(),
    close: async (how) => {
      await Promise.all([report.stop(how), controller?.stop(how)]);
      api.close();
    },
  };
}

function podOf({ podName }: SettingTexts): { readonly pod?: OwnPod } {
  return podName === '' ? {} : { pod: { name: podName } };
}

const ACCESS_RETRY_MS = 2000;

/** Beside files the way to the API may come later: the machine that the cluster is made on has it only then. */
export async function awaitAccess(
  settings: SettingTexts,
  { world, log, clock, signal }: AwaitOptions,
): Promise<KubeAccess | undefined> {
  let said = '';
  while (!signal.aborted) {
    try {
      return await accessOf(settings, world);
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      if (error.message !== said) log.warn('kube.missing', { reason: error.message }, 'no API yet');
      said = error.message;
    }
    await pause(clock, ACCESS_RETRY_MS, signal);
  }
  return undefined;
}

export interface AwaitOptions {
  readonly world: World;
  readonly log: Log;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}
