/** At a signal: asks for proof of a planned restart, and says how to go. Never longer than two seconds. */

import type { Clock, PeerStatus } from 'bgp-ts';
import type { Log } from '../../log/log.ts';
import type { ClusterNode } from '../../model/cluster-node.ts';
import type { KubeApi } from '../../sources/kube/api.ts';
import type { DesiredState } from '../desired.ts';
import { type OwnPod, podEvidence } from './restart-evidence.ts';
import { type RestartSession, type StopKind, stopKind } from './restart-proof.ts';

/** What it reads of an agent. */
export interface StoppingAgent {
  readonly decided: DesiredState;
  readonly sessions: readonly PeerStatus[];
  readonly clusterNode: ClusterNode | undefined;
}

export interface HowToStopOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly log: Log;
  readonly agent: StoppingAgent;
  /** absent: this process is no pod */
  readonly pod?: OwnPod;
}

export async function howToStop({
  api,
  clock,
  log,
  agent,
  pod,
}: HowToStopOptions): Promise<StopKind> {
  const sessions = restartSessions(agent);
  // no use to ask where no router would wait
  const isWorthIt = pod !== undefined && sessions.some((one) => one.hasGracefulRestart);
  if (!isWorthIt) return { kind: 'away', sentence: 'nothing speaks for a planned restart' };
  const found = await podEvidence(api, clock, pod);
  const decided = stopKind({
    ...found,
    node: agent.clusterNode,
    sessions,
    boundAddresses: agent.decided.bindings.size,
  });
  log.info('agent.restart', { reason: decided.sentence }, `this stop is: ${decided.kind}`);
  return decided;
}

function restartSessions({ decided, sessions }: StoppingAgent): readonly RestartSession[] {
  const able = new Set(
    decided.plans.flatMap(({ peer }) => (peer.gracefulRestart === undefined ? [] : peer.name)),
  );
  return sessions.flatMap(({ name, state, negotiated }) => {
    if (state !== 'established') return [];
    // a neighbour of a range is named `peer/address`
    const isAble = able.has(name) || [...able].some((peer) => name.startsWith(`${peer}/`));
    return {
      peer: name,
      hasGracefulRestart: isAble && negotiated?.peerGracefulRestart !== undefined,
    };
  });
}
