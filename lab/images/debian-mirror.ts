/**
 * Where this machine has its Debian packages from. It is read from apt's own configuration and never written down: a mirror near by is used, and a machine
 * without apt says so.
 */

import { run } from '../../tools/kubernetes/run.ts';

export interface DebianMirror {
  readonly uri: string;
  /** such as bookworm */
  readonly suite: string;
}

const fields = ['$(ORIGIN)', '$(LABEL)', '$(COMPONENT)', '$(CODENAME)', '$(REPO_URI)'];

export async function debianMirror(): Promise<DebianMirror> {
  return parseIndexTargets(await indexTargets());
}

/** All that Debian itself publishes for its release: with what was corrected since. */
export async function debianSources(): Promise<readonly DebianMirror[]> {
  return parseSources(await indexTargets());
}

function indexTargets(): Promise<string> {
  return run('apt-get', ['indextargets', '--format', fields.join('|'), 'Created-By: Packages']);
}

/** Debian itself, main: nobody else's packages. */
export function parseSources(text: string): readonly DebianMirror[] {
  return text
    .split('\n')
    .map((line) => line.split('|'))
    .filter(([origin, , component]) => origin === 'Debian' && component === 'main')
    .map(([, , , suite = '', uri = '']) => ({ suite, uri }))
    .filter(({ suite, uri }) => suite !== '' && uri !== '');
}

/** A release: no updates, no security. */
export function parseIndexTargets(text: string): DebianMirror {
  const release = parseSources(text).find(({ suite }) => /^[a-z]+$/.test(suite));
  if (release !== undefined) return release;
  throw new Error(
    'apt knows no mirror of Debian, and packages of Debian are needed here; is there one, `apt-get update` makes it known.',
  );
}
