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
  const args = ['indextargets', '--format', fields.join('|'), 'Created-By: Packages'];
  return parseIndexTargets(await run('apt-get', args));
}

/** Debian itself, main, a release: no updates, no security, nobody else's packages. */
export function parseIndexTargets(text: string): DebianMirror {
  for (const line of text.split('\n')) {
    const [origin, label, component, suite = '', uri = ''] = line.split('|');
    const isDebian = origin === 'Debian' && label === 'Debian' && component === 'main';
    if (isDebian && /^[a-z]+$/.test(suite) && uri !== '') return { uri, suite };
  }
  throw new Error(
    'apt knows no mirror of Debian; the lab makes its router image from one (or run `apt-get update` first).',
  );
}
