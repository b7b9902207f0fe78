/**
 * `herald plan`: which sessions and routes a change of documents would change, node by node. Pure: the agents' own `desired()`, asked twice. What the controller
 * would do after that (place a claim, give an address to a Service that waits) is not in it, and said so in the notes.
 */

import { formatPrefix, hostPrefix } from 'bgp-ts';
import { type DesiredState, desired } from '../agent/desired.ts';
import type { Documents } from '../model/documents.ts';
import { outlivesPool, withFormerPools } from '../model/former-pools.ts';
import type { IpPool } from '../model/ip-pool.ts';
import { ANYCAST_LABEL, isNodeLabel } from '../model/names.ts';
import { poolHolds } from '../model/pool-addresses.ts';
import { type PlanNode, planView } from './plan-view.ts';

export interface Plan {
  readonly nodes: readonly NodePlan[];
  readonly notes: readonly string[];
}

export interface NodePlan {
  readonly node: string;
  readonly sessions: readonly SessionChange[];
  readonly routes: readonly RouteChange[];
}

export interface SessionChange {
  readonly peer: string;
  /** `restart`: it goes down and comes back with other settings */
  readonly what: 'open' | 'close' | 'restart' | 'refused';
  readonly sentence?: string;
}

export interface RouteChange {
  readonly prefix: string;
  readonly peer: string;
  readonly what: 'announce' | 'withdraw' | 'change';
  /** of what is withdrawn: the gate that closes */
  readonly sentence?: string;
}

export function plan(before: Documents, changed: Documents, nodes: readonly PlanNode[]): Plan {
  // agents go on with the last form of a pool that goes while Services have addresses of it
  const after = withFormerPools(changed, before);
  return {
    nodes: nodes.map((node) => {
      const now = desired(planView(node, before));
      const then = desired(planView(node, after));
      return { node: node.name, sessions: sessions(now, then), routes: routes(now, then) };
    }),
    notes: notesOf(before, after),
  };
}

function sessions(now: DesiredState, then: DesiredState): readonly SessionChange[] {
  const old = settingsOf(now);
  const young = settingsOf(then);
  const closed = [...old.keys()].filter((peer) => !young.has(peer));
  const refused = new Map(
    then.plans.flatMap((each) =>
      each.kind === 'refused' ? [[each.peer.name, each.sentence] as const] : [],
    ),
  );
  const known = new Set(
    now.plans.flatMap((each) => (each.kind === 'refused' ? [each.peer.name] : [])),
  );
  return [
    ...closed
      .filter((peer) => !refused.has(peer))
      .map((peer) => ({ peer, what: 'close' }) as const),
    ...[...young].flatMap(([peer, settings]): readonly SessionChange[] => {
      if (!old.has(peer)) return [{ peer, what: 'open' }];
      return old.get(peer) === settings ? [] : [{ peer, what: 'restart' }];
    }),
    ...[...refused]
      .filter(([peer]) => !known.has(peer))
      .map(([peer, sentence]) => ({ peer, what: 'refused', sentence }) as const),
  ];
}

function settingsOf({ peers, ranges }: DesiredState): ReadonlyMap<string, string> {
  return new Map([
    ...peers.map(({ settings }) => [settings.name, JSON.stringify(settings)] as const),
    ...ranges.map(
      ({ name, range, template }) => [name, JSON.stringify([range, template])] as const,
    ),
  ]);
}

interface RouteEntry {
  readonly prefix: string;
  readonly peer: string;
  readonly attributes: string;
}

function routes(now: DesiredState, then: DesiredState): readonly RouteChange[] {
  const old = routesOf(now);
  const young = routesOf(then);
  const gone = [...old].filter(([key]) => !young.has(key));
  return [
    ...gone.map(([, { prefix, peer }]): RouteChange => {
      return { prefix, peer, what: 'withdraw', sentence: whyGone(prefix, peer, then) };
    }),
    ...[...young].flatMap(([key, { prefix, peer, attributes }]): readonly RouteChange[] => {
      const was = old.get(key);
      if (was === undefined) return [{ prefix, peer, what: 'announce' }];
      return was.attributes === attributes ? [] : [{ prefix, peer, what: 'change' }];
    }),
  ];
}

function routesOf({ peers, ranges }: DesiredState): ReadonlyMap<string, RouteEntry> {
  const all = [
    ...peers.map(({ settings, routes: own }) => ({ peer: settings.name, own })),
    ...ranges.map(({ name, routes: own }) => ({ peer: name, own })),
  ];
  return new Map(
    all.flatMap(({ peer, own }) =>
      own.map((route) => {
        const prefix = formatPrefix(route.prefix);
        const attributes = JSON.stringify(route.attributes);
        return [`${prefix} ${peer}`, { prefix, peer, attributes }] as const;
      }),
    ),
  );
}

function whyGone(prefix: string, peer: string, { claims }: DesiredState): string {
  const address = prefix.slice(0, prefix.indexOf('/'));
  const decision = claims.find(
    ({ subject }) => formatPrefix(hostPrefix(subject.claim.object.address)) === prefix,
  );
  if (decision === undefined) {
    const isHost = prefix.endsWith(address.includes(':') ? '/128' : '/32');
    return isHost
      ? `nothing claims ${address} any more`
      : 'no claim inside it is announced any more';
  }
  const { joined, assigned, pooled, healthy, bound, notDraining } = decision.gates;
  const shut = [joined, assigned, pooled, healthy, bound, notDraining].find(
    ({ state }) => state === 'closed',
  );
  const own = decision.peers.find((each) => each.peer === peer);
  return shut?.sentence ?? own?.allowed.sentence ?? `BGPPeer ${peer} is not for this node any more`;
}

/** what the controller would do is its own affair, and told as such */
function notesOf(before: Documents, after: Documents): readonly string[] {
  const modes = new Map(before.pools.map(({ object }) => [object.name, object.placement.mode]));
  const moved = after.pools.flatMap(({ object }) => moves(object, modes.get(object.name), after));
  const unplaced = after.claims.filter(
    ({ object, source }) =>
      source === 'api' &&
      !(ANYCAST_LABEL in object.labels) &&
      !Object.keys(object.labels).some(isNodeLabel),
  );
  const waiting = unplaced.map(
    ({ object }) =>
      `IPClaim ${object.name} is exclusive and on no node: the controller will choose one`,
  );
  return [...moved, ...waiting, ...outlived(before, after)];
}

/** addresses of Services that a pool leaves behind: nothing changes for them, and that is not what one would expect */
function outlived({ pools }: Documents, { claims, pools: after }: Documents): readonly string[] {
  const then = new Map(after.map(({ object }) => [object.name, object]));
  return pools.flatMap(({ object: pool }) => {
    const left = claims.filter(({ object }) => {
      const kept = then.get(pool.name);
      const isLeft = kept === undefined || !poolHolds(kept, object.address);
      const wasIts = object.pool === pool.name && poolHolds(pool, object.address);
      return isLeft && wasIts && outlivesPool(object);
    });
    if (left.length === 0) return [];
    const which = left.length === 1 ? '1 address' : `${left.length} addresses`;
    return `IPPool ${pool.name} leaves ${which} of Services behind: they are flagged (InPool) and stay announced until the Services go`;
  });
}

function moves(pool: IpPool, was: string | undefined, { claims }: Documents): readonly string[] {
  const { mode } = pool.placement;
  if (was === undefined || was === mode) return [];
  const count = claims.filter(({ object }) => object.pool === pool.name).length;
  return [
    `IPPool ${pool.name} becomes ${mode}: the controller will place its ${count} claims anew; that is not part of this plan`,
  ];
}
