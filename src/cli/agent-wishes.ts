/** What the user asks of an agent: its settings, checked before anything is begun. What is wrong with them is a UsageError. */

import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { JoinCheck } from '../agent/health.ts';
import type { SettingTexts } from '../config/agent-settings.ts';
import { parseSources } from '../config/document-sources.ts';
import { joinCheckOf } from '../config/join-check.ts';
import { readSettings, SettingError } from '../config/read-settings.ts';
import type { KubeAccess } from '../sources/kube/kube-access.ts';
import { UsageError, type World } from './command.ts';

/** What the environment says to a controller in here is refused at the start, as everything else is. */
export async function checkOwnController(settings: SettingTexts, world: World): Promise<void> {
  if (settings.withController !== 'true') return;
  const { defaultControllerSettings } = await import('./controller.ts');
  defaultControllerSettings(world);
}

/** An agent of the cluster alone says at once that there is no way to it; beside files it starts without one, and looks again. */
export async function earlyAccess(
  settings: SettingTexts,
  world: World,
): Promise<KubeAccess | undefined> {
  const { sources, directory } = parseSources(settings.source);
  if (!sources.includes('api')) return undefined;
  const { accessOf } = await import('./api-access.ts');
  try {
    return await accessOf(settings, world);
  } catch (error) {
    if (directory !== undefined && error instanceof UsageError) return undefined;
    throw error;
  }
}

/** A kubelet's Node has the hostname in small letters, unless somebody has said otherwise. */
export function nodeNameOf({ nodeName, source }: SettingTexts, { env }: World): string {
  if (nodeName !== '') return nodeName;
  const given = env['NODE_NAME'];
  if (given !== undefined && given !== '') return given;
  return source.startsWith('kube') ? hostname().toLowerCase() : hostname();
}

export function readUserSettings(args: readonly string[], { env }: World): UserSettings {
  try {
    const settings = readSettings({ args, env, readFile: (path) => readFileSync(path, 'utf8') });
    if (settings.defaultClass === 'true' && settings.withController !== 'true') {
      throw new SettingError(
        '--default-class is for the controller: give it to herald controller, or give --with-controller too',
      );
    }
    if (settings.singleAnnouncer === 'true' && settings.withController !== 'true') {
      throw new SettingError(
        "--single-announcer goes by the controller's Lease: give --with-controller too",
      );
    }
    return { settings, joinCheck: joinCheckOf(settings) };
  } catch (error) {
    if (error instanceof SettingError) throw new UsageError(error.message);
    throw error;
  }
}

export interface UserSettings {
  readonly settings: SettingTexts;
  readonly joinCheck: JoinCheck;
}
