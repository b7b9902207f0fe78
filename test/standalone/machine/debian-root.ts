/**
 * A Debian with the real systemd and cloud-init in it, made by debootstrap from the mirror that this machine's own apt uses, and kept outside
 * the checkout. It is made once (a minute or two and some 450 MB); machines of a test get it as the lower layer of an overlay and never
 * write to it. They have no network beyond the test's, so what they install later (a router) lies in the cache of their apt.
 */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { inCache } from '../../../tools/cache-folder.ts';
import { run } from '../../support/process.ts';

/**
 * What a Debian cloud image has of what matters here. libatomic1 is Node's; python3-cffi-backend stands behind virtual names that
 * debootstrap does not follow.
 */
const packages = [
  ...['cloud-init', 'python3-cffi-backend', 'systemd', 'iproute2', 'procps', 'libatomic1'],
  ...['ca-certificates'],
];
/** Not installed: a machine's own cloud-init does that, without a network. */
const downloaded = ['bird2', 'frr'];
const timeoutMs = 15 * 60_000;

/** The folder of the root; made when it is not there. */
export async function debianRoot(): Promise<string> {
  const folder = inCache('debootstrap');
  const suite = /^VERSION_CODENAME=(\S+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1];
  if (suite === undefined) throw new Error('/etc/os-release names no release');
  const root = join(folder, `${suite}-cloud-init-${downloaded.join('-')}`);
  if (existsSync(root)) return root;
  mkdirSync(folder, { recursive: true });
  // under a name of its own until it is whole
  const unfinished = `${root}.${process.pid}`;
  const mirror = await aptMirror(suite);
  process.stderr.write(`making a Debian root in ${root} from ${mirror}: once, a minute or two\n`);
  const args = ['--variant=minbase', `--include=${packages.join(',')}`, suite, unfinished, mirror];
  try {
    await run('debootstrap', args, { timeoutMs });
    await run('chroot', [unfinished, 'cloud-init', '--version']);
    await run('chroot', [unfinished, 'apt-get', '-qq', 'clean']);
    const only = ['-qq', '--download-only', '--no-install-recommends', 'install'];
    await run('chroot', [unfinished, 'apt-get', ...only, ...downloaded], { timeoutMs });
    renameSync(unfinished, root);
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return root;
}

/** The mirror of the release that apt is configured for. */
async function aptMirror(suite: string): Promise<string> {
  const format = ['--format', '$(SITE) $(RELEASE) $(COMPONENT)', 'Created-By: Packages'];
  const { stdout } = await run('apt-get', ['indextargets', ...format]);
  for (const line of stdout.split('\n')) {
    const [site, release, component] = line.split(' ');
    if (site !== undefined && release === suite && component === 'main') return site;
  }
  throw new Error(`apt knows no mirror of Debian ${suite}`);
}
