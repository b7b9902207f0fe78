/** What an agent is made of: everything of the world that it touches comes in here, so that the fast-forward tests run the very class. */

import type { Clock, Random, Speaker } from 'bgp-ts';
import type { AskHttp } from '../checks/ask-http.ts';
import type { Probe } from '../checks/probe.ts';
import type { AddressTable } from '../linux/address-table.ts';
import type { DiscardRoutes } from '../linux/discard-routes.ts';
import type { Log } from '../log/log.ts';
import type { ClusterIdentity } from '../model/cluster-identity.ts';
import type { Labels } from '../model/labels.ts';
import type { DocumentSource } from '../model/refusal.ts';
import type { AnnouncerSource } from './announcer.ts';
import type { ClusterContext } from './cluster-memory.ts';
import type { JoinCheck } from './health.ts';
import type { SavedDrains, SavedView } from './saved-view.ts';

export interface AgentOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly speaker: Pick<Speaker, 'apply' | 'status' | 'stop' | 'subscribe'>;
  /** a peer wants us to accept what it dials; may be called again */
  readonly listen: () => void;
  readonly addresses: AddressTable;
  /** unreachable routes for aggregates; absent: host routes go out */
  readonly discards?: DiscardRoutes;
  readonly probe: Probe;
  /** whom to ask about Services; absent: nobody */
  readonly kubeProxy?: KubeProxy;
  /** text of a password file, at once; throws what the file system says, EAGAIN where that is still to come */
  readonly readPassword: (path: string) => string;
  readonly store: ViewStore;
  readonly log: Log;
  readonly node: { readonly name: string; readonly labels: Labels };
  readonly asn?: number;
  readonly routerId: number;
  /** a person chose it; otherwise the one of the saved View stands, so that a restart is the same speaker */
  readonly isRouterIdFixed: boolean;
  readonly joinCheck: JoinCheck;
  readonly maxStaleMs: number;
  /** how long a stop may wait for exclusive claims of the API to be announced elsewhere; absent: as long as their pool says */
  readonly stopMoveMs?: number;
  /** simple mode with one replica that may start on another node */
  readonly announcer?: AnnouncerSource;
  /** a stop drains no longer than this, whatever pools say: the process is killed soon after; absent: it is not */
  readonly stopMostMs?: number;
  /** from a planned restart, over which routers have kept the routes */
  readonly isBack?: boolean;
  /** what the documents come from, for people */
  readonly source: string;
  /** which sources there are; default: files */
  readonly sources?: readonly DocumentSource[];
  /** which boot of this machine it is, and what the cluster's word means here */
  readonly cluster?: Pick<ClusterContext, 'bootId' | 'ignoresExcludeLabel'>;
  /** for how long this machine has been up; absent: not known, it may have come up just now */
  readonly upMs?: number;
  /** which cluster the API is of: undefined while the way to it is not known; absent: whatever was saved is of this one */
  readonly clusterIdentity?: () => ClusterIdentity | undefined;
  readonly version: string;
  readonly pid: number;
  /** sentences about this machine's settings that will surprise, given the interfaces that claims are bound to */
  readonly warnings?: (interfaces: ReadonlySet<string>) => readonly string[];
}

/** Where the last View is kept; a failure to is told by the store itself. */
export interface ViewStore {
  load(): SavedView | undefined;
  /** what a person has said, of a View that could not be loaded otherwise */
  readonly drains?: SavedDrains | undefined;
  /** a promise: it takes its time; resolved, this one or a newer one is kept (true) or cannot be */
  save(view: SavedView): undefined | Promise<boolean>;
}

/** kube-proxy on this machine. */
export interface KubeProxy {
  readonly ask: AskHttp;
  /** of its own health; undefined: it is not asked, and Services wait for nothing */
  readonly url: string | undefined;
  /** of its metrics */
  readonly metricsUrl?: string | undefined;
}
