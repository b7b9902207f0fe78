/**
 * The file of the control socket: made so that no other user can ever connect, taken so that of two agents exactly one gets it, and
 * told apart from what a crash has left.
 *
 * The server listens in a directory of its own first, which nobody else can enter, gets mode 0600 there, and the wanted name is then
 * linked to it: linking fails if the name exists, so there is no moment between looking and taking. A socket in the way
 * is dead when nobody accepts on it; it is moved aside before it is judged again and removed, since another agent may have
 * taken the name meanwhile. The directory is locked all the while, so agents that start together do this one after the other.
 * Whatever is not a socket is never touched.
 */

import { chmod, link, lstat, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { connect, type Server } from 'node:net';
import { dirname, join } from 'node:path';
import { errorCode } from '../error-code.ts';
import { makeFolder } from '../linux/make-folder.ts';
import { lockDirectory } from './directory-lock.ts';
import { identify } from './identify.ts';

/** struct sockaddr_un holds 108 octets with the NUL */
const MAX_PATH_OCTETS = 107;
const ATTEMPTS = 5;

export type TakenSocket =
  | { readonly kind: 'listening'; readonly release: () => Promise<void> }
  | { readonly kind: 'refused'; readonly sentence: string };

export async function takeSocket(server: Server, path: string): Promise<TakenSocket> {
  let nursery: string | undefined;
  let unlock: (() => void) | undefined;
  try {
    makeFolder(dirname(path));
    unlock = await lockDirectory(dirname(path));
    // mode 0700; in the directory itself, which may be all that we may write to, or a file system of its own
    nursery = await mkdtemp(`${dirname(path)}/.`);
    return await takeFrom(join(nursery, 's'), server, path);
  } catch (error) {
    return refused(path, describe(error));
  } finally {
    if (nursery !== undefined) await rm(nursery, { recursive: true });
    unlock?.();
  }
}

async function takeFrom(born: string, server: Server, path: string): Promise<TakenSocket> {
  if (Buffer.byteLength(path) > MAX_PATH_OCTETS || Buffer.byteLength(born) > MAX_PATH_OCTETS) {
    return refused(path, 'its name is too long for a socket; name a shorter one with --socket');
  }
  await listen(server, born);
  await chmod(born, 0o600);
  const problem = await linkTo(born, path);
  if (problem !== undefined) return { kind: 'refused', sentence: problem };
  const own = await lstat(born);
  return { kind: 'listening', release: () => removeOwn(path, own) };
}

function refused(path: string, why: string): TakenSocket {
  return { kind: 'refused', sentence: `cannot make the control socket ${path}: ${why}` };
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** undefined when it is done, else the sentence */
async function linkTo(born: string, path: string): Promise<string | undefined> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    try {
      await link(born, path);
      return undefined;
    } catch (error) {
      if (errorCode(error) !== 'EEXIST')
        return `cannot make the control socket ${path}: ${describe(error)}`;
    }
    const problem = await clear(path, `${born}~`);
    if (problem !== undefined) return problem;
  }
  return `cannot make the control socket ${path}: others keep taking that name`;
}

/** Removes a dead socket; undefined when the way may be free now. */
async function clear(path: string, aside: string): Promise<string | undefined> {
  const state = await look(path);
  if (state.kind === 'absent') return undefined;
  if (state.kind !== 'dead') return inTheWay(path, state);
  try {
    await rename(path, aside);
  } catch (error) {
    // another agent was quicker
    return errorCode(error) === 'ENOENT'
      ? undefined
      : `cannot remove the dead socket ${path}: ${describe(error)}`;
  }
  const again = await look(aside);
  if (again.kind === 'dead' || again.kind === 'absent') {
    await rm(aside, { force: true });
    return undefined;
  }
  await link(aside, path).catch(ignoreTaken);
  await unlink(aside);
  return inTheWay(path, again);
}

function ignoreTaken(error: unknown): void {
  if (errorCode(error) !== 'EEXIST') throw error;
}

type Look =
  | { readonly kind: 'absent' }
  | { readonly kind: 'dead' }
  | { readonly kind: 'alive'; readonly who: string }
  | { readonly kind: 'foreign'; readonly why: string };

function inTheWay(path: string, state: Exclude<Look, { kind: 'absent' | 'dead' }>): string {
  return state.kind === 'alive'
    ? `another agent${state.who} runs on this host and answers at ${path}; there is one per host: stop that one, or give this one another --socket`
    : `cannot make the control socket ${path}: ${state.why}`;
}

async function look(path: string): Promise<Look> {
  try {
    const found = await lstat(path);
    if (!found.isSocket()) {
      return {
        kind: 'foreign',
        why: 'something that is not a socket has this name; remove it, or name another path',
      };
    }
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'absent' };
    return { kind: 'foreign', why: describe(error) };
  }
  const code = await knock(path);
  if (code === 'ECONNREFUSED') return { kind: 'dead' };
  if (code === 'ENOENT') return { kind: 'absent' };
  if (code === 'EACCES' || code === 'EPERM') {
    return { kind: 'foreign', why: 'a socket of another user has this name; name another path' };
  }
  return { kind: 'alive', who: await identify(path) };
}

/** the code of the error, undefined when somebody accepts; a full queue (EAGAIN) is a living one */
function knock(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(undefined);
    });
    socket.once('error', (error) => resolve(errorCode(error)));
  });
}

/** not if another agent has the name now */
async function removeOwn(path: string, own: { ino: number; dev: number }): Promise<void> {
  try {
    const { ino, dev } = await lstat(path);
    if (ino === own.ino && dev === own.dev) await unlink(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}

function describe(error: unknown): string {
  switch (errorCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'permission denied; run it as root, or name a path of yours with --socket';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a part of its path is a file, not a directory';
    case 'EROFS':
      return 'its file system is read-only; name another path with --socket';
    default:
      return error instanceof Error ? error.message : String(error);
  }
}
