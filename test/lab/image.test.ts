/**
 * The image, built and run by a real Docker: small, without a shell, as both pods of deploy/base run it (read-only root, their users and capabilities, an
 * API server that does not answer), with Node started as the launcher would.
 */

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { loadAll } from 'js-yaml';
import { type Docker, startDocker, whyNoDocker } from '../../lab/docker/docker.ts';
import { buildImage } from '../../tools/image/build.ts';
import { skipLoudly } from '../interop/require-lab.ts';
import { field, items, parseJson, text } from '../interop/routers/json.ts';
import { TestAuthority } from '../support/certificates.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';

const ROOT = join(import.meta.dirname, '../..');
const IMAGE = 'herald:under-test';
const LARGEST_BYTES = 190e6;
const ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
const { version: VERSION } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

describe('the image', function () {
  this.timeout(10 * 60_000);
  let docker: Docker;
  let account = '';

  before(async function build() {
    const missing = whyNoDocker({ own: true });
    if (missing.length > 0) skipLoudly(this, `the image cannot be built: ${missing.join(' ')}`);
    docker = await startDocker({ own: true });
    await buildImage(docker, { image: IMAGE });
    // what a pod has of its ServiceAccount
    account = mkdtempSync(join(tmpdir(), 'herald-image-account-'));
    writeFileSync(join(account, 'token'), 'no-token');
    writeFileSync(join(account, 'namespace'), 'herald-system');
    const authority = new TestAuthority('image');
    cpSync(authority.caFile, join(account, 'ca.crt'));
    rmSync(authority.directory, { recursive: true, force: true });
    await run('chmod', ['-R', 'a+rX', account]);
  });

  after(async () => {
    rmSync(account, { recursive: true, force: true });
    await docker?.stop();
  });

  const inspect = async (kind: 'image' | 'container', name: string): Promise<unknown> =>
    items(parseJson(await docker.run([kind, 'inspect', name])))[0];

  it('is at most 190 MB, for this processor, and is nobody unless it is told', async () => {
    const image = await inspect('image', IMAGE);
    expect(field(image, 'Size')).to.be.above(0).and.at.most(LARGEST_BYTES);
    expect(field(image, 'Architecture')).to.equal(process.arch === 'x64' ? 'amd64' : 'arm64');
    expect(field(image, 'Config', 'User')).to.equal('65532:65532');
  });

  it('says its version, by its entry and by its name in PATH', async () => {
    const nobody = ['run', '--rm', '--network', 'none', '--read-only', '--cap-drop', 'ALL'];
    expect(await docker.run([...nobody, IMAGE, '--version'])).to.equal(`herald ${VERSION}\n`);
    const byName = await docker.run([...nobody, '--entrypoint', 'herald', IMAGE, '--version']);
    expect(byName).to.equal(`herald ${VERSION}\n`);
  });

  it('has no shell and nothing that gains rights', async () => {
    const name = (await docker.run(['create', '--network', 'none', IMAGE])).trim();
    const folder = mkdtempSync(join(tmpdir(), 'herald-image-files-'));
    try {
      await docker.run(['export', '--output', join(folder, 'files.tar'), name]);
      const { stdout } = await run('tar', ['-tvf', join(folder, 'files.tar')]);
      const rows = stdout.trim().split('\n');
      expect(rows.length).to.be.above(20);
      expect(rows.filter((row) => /^.{3}s|^.{6}s/.test(row))).to.deep.equal([]);
      const programs = rows.filter((row) => /^-..x/.test(row)).map((row) => row.split(/\s+/)[5]);
      expect(programs.toSorted()).to.deep.equal([
        // Docker's own, empty, below what it mounts
        '.dockerenv',
        'dev/console',
        'etc/hostname',
        'etc/hosts',
        'etc/resolv.conf',
        ...[process.arch === 'x64' ? 'lib64/ld-linux-x86-64.so.2' : 'lib/ld-linux-aarch64.so.1'],
        'opt/herald/bin/node',
        'opt/herald/image-entry.mjs',
      ]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  /** Runs one pod of deploy/base until it answers, looks at it, ends it. */
  const serve = async (file: string, given: readonly string[]) => {
    const { args, user, capabilities } = podOf(file);
    const name = (
      await docker.run([
        ...['run', '--detach', '--network', 'none', '--read-only'],
        ...['--security-opt', 'no-new-privileges', '--cap-drop', 'ALL', '--user', user],
        ...capabilities.map((each) => `--cap-add=${each}`),
        ...['--volume', `${account}:${ACCOUNT}:ro`],
        ...['--env', 'KUBERNETES_SERVICE_HOST=127.0.0.1', '--env', 'KUBERNETES_SERVICE_PORT=1'],
        ...given,
        ...[IMAGE, ...args],
      ])
    ).trim();
    const pid = String(field(await inspect('container', name), 'State', 'Pid'));
    const livez = [
      'curl',
      '--silent',
      '--write-out',
      '%{http_code}',
      'http://127.0.0.1:9179/livez',
    ];
    const answer = await untilValue(
      `${file} answers`,
      async () =>
        (await run('nsenter', [`--net=/proc/${pid}/ns/net`, ...livez], { anyStatus: true })).stdout,
      (said) => said.endsWith('200'),
      { timeoutMs: 60_000 },
    );
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    await docker.run(['stop', '--time', '20', name]);
    const exitCode = field(await inspect('container', name), 'State', 'ExitCode');
    await docker.run(['rm', name]);
    return { answer, commandLine, environment, status, exitCode };
  };

  it('runs the agent as its DaemonSet says, with NET_ADMIN alone, and ends with 0', async () => {
    const tmpfs = ['/var/lib/herald', '/run/herald'].flatMap((path) => ['--tmpfs', path]);
    const env = ['HERALD_NODE_NAME=n1', 'HERALD_POD_NAME=a', 'HERALD_METRICS_ADDRESS=127.0.0.1'];
    const given = [...tmpfs, ...env.flatMap((each) => ['--env', each])];
    const seen = await serve('agent.yaml', given);
    expect(seen.exitCode).to.equal(0);
    expect(seen.commandLine).to.deep.equal([
      '/opt/herald/bin/node',
      '--max-semi-space-size=2',
      '--optimize-for-size',
      '/opt/herald/herald.mjs',
      'agent',
      '--source',
      'kube',
    ]);
    expect(seen.environment).to.include('MALLOC_ARENA_MAX=2');
    // CAP_NET_ADMIN is the twelfth bit
    expect(seen.status).to.match(/^CapEff:\s+0000000000001000$/m);
  });

  it('runs the controller as its Deployment says, with no power at all, and ends with 0', async () => {
    const seen = await serve('controller.yaml', []);
    expect(seen.exitCode).to.equal(0);
    expect(seen.commandLine).to.deep.equal([
      '/opt/herald/bin/node',
      '--max-semi-space-size=2',
      '/opt/herald/bin/herald',
      'controller',
    ]);
    expect(seen.environment).to.include('MALLOC_ARENA_MAX=2');
    expect(seen.status).to.match(/^CapEff:\s+0+$/m);
    expect(seen.status).to.match(/^Uid:\s+65532\s/m);
  });
});

interface Pod {
  readonly args: readonly string[];
  readonly user: string;
  readonly capabilities: readonly string[];
}

function podOf(file: string): Pod {
  const [owner] = loadAll(readFileSync(join(ROOT, 'deploy/base', file), 'utf8'));
  const pod = field(owner, 'spec', 'template', 'spec');
  const [container] = items(field(pod, 'containers'));
  const of = (name: string) =>
    field(container, 'securityContext', name) ?? field(pod, 'securityContext', name);
  const added = field(container, 'securityContext', 'capabilities', 'add');
  return {
    args: items(field(container, 'args')).map(text),
    user: `${of('runAsUser')}:${of('runAsGroup')}`,
    capabilities: added === undefined ? [] : items(added).map(text),
  };
}
