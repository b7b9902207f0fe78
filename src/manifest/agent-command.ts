/**
 * How the generated manifests run `herald agent`: its arguments, what it may need of the machine, and how long it takes to stop. The
 * same for a unit, a static pod and cloud-init, so that the three cannot drift apart.
 */

import type { Documents } from '../model/documents.ts';

export interface AgentSettings {
  /** where the documents are on the node */
  readonly documentsFolder: string;
  /** absent: the manifest's own way to name the machine */
  readonly nodeName?: string;
  /** a file of the node that the join check needs */
  readonly joinCa?: string;
  /** where peers that are listened for find the agent */
  readonly listenPort: number;
  /** further settings, by flag, as the person wrote them */
  readonly flags: readonly (readonly [flag: string, value: string])[];
}

export const STATE_FOLDER = '/var/lib/herald';
export const RUN_FOLDER = '/run/herald';
const SOCKET = `${RUN_FOLDER}/agent.sock`;

/** What an agent does after the last drain wait: withdraw, unbind, Cease, close; and a slow disk. */
const STOP_MARGIN_SECONDS = 20;
const DEFAULT_DRAIN_SECONDS = 10;
/** of `--stop-grace` */
const DEFAULT_STOP_GRACE = 60;

/** The arguments behind `herald`, without the node's name. */
export function agentArguments(
  documents: Documents,
  { documentsFolder, flags }: AgentSettings,
): string[] {
  const grace = stopSeconds(documents);
  const isSaid = grace <= DEFAULT_STOP_GRACE || flags.some(([flag]) => flag === 'stop-grace');
  return [
    'agent',
    ...['--source', `files:${documentsFolder}`, '--state-dir', STATE_FOLDER, '--socket', SOCKET],
    ...(isSaid ? [] : ['--stop-grace', String(grace)]),
    ...flags.flatMap(([flag, value]) => [`--${flag}`, value]),
  ];
}

/** Until the agent must be gone after SIGTERM: the longest drain of any pool, and some. */
export function stopSeconds({ pools }: Documents): number {
  const waits = pools.map(({ object }) => object.drain.waitSeconds);
  return Math.max(...(waits.length === 0 ? [DEFAULT_DRAIN_SECONDS] : waits)) + STOP_MARGIN_SECONDS;
}

/** A port below 1024 for peers that are listened for. */
export function needsBindService({ peers }: Documents, { listenPort }: AgentSettings): boolean {
  return listenPort < 1024 && peers.some(({ object }) => object.listen);
}

/** IPv4 addresses on an interface of the node are answered for by ARP on every other one, unless told otherwise. */
export function bindsIpv4({ claims }: Documents): boolean {
  return claims.some(({ object }) => object.bind !== undefined && object.address.family === 'ipv4');
}

/** Checks by command, which a person may have written to look at other processes. */
export function runsCommands({ claims }: Documents, { flags }: AgentSettings): boolean {
  const isJoinCheck = flags.some(
    ([flag, value]) => flag === 'join-check' && value.startsWith('exec:'),
  );
  const isClaim = claims.some(({ object }) =>
    object.checks.some(({ target }) => target.kind === 'exec'),
  );
  return isJoinCheck || isClaim;
}

/** Password files that the documents name, each once. */
export function passwordFiles({ peers }: Documents): string[] {
  const paths = peers.flatMap(({ object: { password } }) =>
    password?.kind === 'file' ? [password.path] : [],
  );
  return [...new Set(paths)];
}
