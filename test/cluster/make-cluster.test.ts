/** `make cluster` as a person uses it: up, used, up again, down, down again. */

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { isAlive as isAliveStill, processesIn } from '../../tools/cluster/processes.ts';
import { untilValue } from '../support/poll.ts';
import { Running, run } from '../support/process.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const program = join(import.meta.dirname, '../../tools/cluster.ts');

/** One that has ended and that nobody has taken notice of yet is no more. */
function isAlive(pid: string): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

const pidsOf = (folder: string): readonly string[] =>
  [...readFileSync(join(folder, 'state.json'), 'utf8').matchAll(/"pid":(\d+)/g)].map(
    ([, pid = '']) => pid,
  );

const CLAIM = `apiVersion: herald.dev/v1alpha1
kind: IPClaim
metadata: {name: 198.51.100.7}
spec: {}
`;

describe('make cluster', function () {
  this.timeout(360_000);
  const runtime = mkdtempSync(join(tmpdir(), 'herald-make-cluster-'));
  const folder = join(runtime, `herald-cluster-${process.getuid?.()}`);
  const env = { XDG_RUNTIME_DIR: runtime };
  const cluster = (...args: readonly string[]) =>
    run(process.execPath, [...process.execArgv, program, ...args], {
      env,
      timeoutMs: 120_000,
      anyStatus: true,
    });

  before(function check() {
    skipWithoutCluster(this);
  });

  after(async () => {
    await cluster('--down');
    rmSync(runtime, { recursive: true, force: true });
  });

  const kubeconfigOf = (said: string) => /export KUBECONFIG=(\S+)/.exec(said)?.[1] ?? '';

  it('comes up, tells where it is, and goes', async () => {
    const first = await cluster();
    expect(first.status, first.stderr).to.equal(0);
    const kubeconfig = kubeconfigOf(first.stdout);
    const kubectl = async (...args: readonly string[]) =>
      (await run('kubectl', args, { env: { KUBECONFIG: kubeconfig } })).stdout;
    expect(await kubectl('get', 'nodes', '-o', 'name')).to.equal(
      'node/worker-1\nnode/worker-2\nnode/worker-3\n',
    );
    expect(await kubectl('get', 'ippools,ipclaims,ipnodes,bgppeers', '-o', 'name')).to.equal('');

    expect(await kubectl('get', 'ns', 'herald-system', '-o', 'name')).to.match(/herald-system/);
    const base = join(import.meta.dirname, '../../deploy/base');
    const applied = await run('kubectl', ['apply', '-k', base], {
      env: { KUBECONFIG: kubeconfig },
    });
    expect(applied.stderr, 'no warning').to.equal('');

    const again = await cluster();
    expect(again.stdout).to.match(/runs already/);
    expect(kubeconfigOf(again.stdout)).to.equal(kubeconfig);

    const pids = pidsOf(folder);
    expect(pids).to.have.length(2);
    const down = await cluster('--down');
    expect(down.stdout).to.match(/is gone/);
    expect(down.status).to.equal(0);
    expect(existsSync(folder)).to.equal(false);
    for (const pid of pids) expect(isAlive(pid), `process ${pid}`).to.equal(false);
  });

  it('has several servers on one etcd, and a proxy in front that fails as it is told', async () => {
    const first = await cluster('--servers=2', '--proxy');
    expect(first.status, first.stderr).to.equal(0);
    const through = kubeconfigOf(first.stdout);
    const [other = ''] = /\S+admin-\d+\.kubeconfig$/m.exec(first.stdout) ?? [];
    const kubectl = (kubeconfig: string, ...args: readonly string[]) =>
      run('kubectl', args, { env: { KUBECONFIG: kubeconfig }, anyStatus: true });
    const nodes = async (kubeconfig: string) =>
      (await kubectl(kubeconfig, 'get', 'nodes', '-o', 'name')).stdout.split('\n').length - 1;
    expect([await nodes(through), await nodes(other)]).to.deep.equal([3, 3]);
    await kubectl(other, 'create', 'namespace', 'shop');
    expect((await kubectl(through, 'get', 'namespace', 'shop')).status, 'one etcd').to.equal(0);

    // the lines that it prints, as they stand
    const said = first.stdout.split('\n').map((line) => line.trim());
    const curl = (part: string) =>
      said.find((line) => line.startsWith('curl') && line.includes(part));
    const tell = async (part: string) => (await run('sh', ['-c', curl(part) ?? 'exit 9'])).stdout;
    await tell('"ipclaims"');
    const create = () => kubectl(through, 'create', '-f', claimFile);
    const claimFile = join(runtime, 'claim.yaml');
    writeFileSync(claimFile, CLAIM);
    for (const _ of ['first', 'second']) {
      expect((await create()).stderr).to.include('Conflict by the failing proxy');
    }
    expect((await create()).stderr, 'the third').to.equal('');
    const report = JSON.parse(await tell('http://proxy/ '));
    expect(report.rules).to.have.lengthOf(1);
    expect(report.rules[0]).to.include({ matched: 3, applied: 2, times: 2 });
    await tell('-X DELETE');
    expect(JSON.parse(await tell('http://proxy/ ')).rules).to.deep.equal([]);
    await tell('http://proxy/refuse');
    expect((await kubectl(through, 'get', 'nodes')).stderr).to.match(/refused/);
    expect(await nodes(other)).to.equal(3);

    expect((await cluster()).stdout).to.match(/runs already/);
    const different = await cluster('--servers=3');
    expect(different.status).to.equal(1);
    expect(different.stderr).to.match(/with 2 servers and a proxy/);
    expect(pidsOf(folder)).to.have.lengthOf(4);
    const pids = pidsOf(folder);
    await cluster('--down');
    for (const pid of pids) expect(isAlive(pid), `process ${pid}`).to.equal(false);
  });

  it('has nothing to end where nothing runs', async () => {
    const { status, stdout } = await cluster('--down');
    expect(status).to.equal(0);
    expect(stdout).to.match(/No cluster runs/);
  });

  it('ends what a start left that was broken off', async () => {
    const start = new Running(
      [process.execPath, ...process.execArgv, program],
      join(runtime, 'log'),
      {
        env,
      },
    );
    const running = () => processesIn(folder).map(({ name }) => name);
    await untilValue('both servers run', running, (names) => names.length === 2, {
      timeoutMs: 60_000,
      everyMs: 5,
    });
    await start.kill();
    const left = processesIn(folder);
    expect(left.map(({ name }) => name).toSorted()).to.deep.equal(['etcd', 'kube-apiserver']);
    const down = await cluster('--down');
    expect(down.stdout).to.match(/is gone/);
    expect(left.filter(isAliveStill)).to.deep.equal([]);
    expect(existsSync(folder)).to.equal(false);
  });

  it('says what is missing, before it starts anything', async () => {
    const tools = join(runtime, 'bin');
    mkdirSync(tools);
    for (const tool of ['sh', 'kubectl', 'openssl']) {
      const { stdout } = await run('sh', ['-c', `command -v ${tool}`]);
      symlinkSync(stdout.trim(), join(tools, tool));
    }
    const { status, stdout, stderr } = await run(process.execPath, [...process.execArgv, program], {
      env: { ...env, PATH: tools },
      anyStatus: true,
    });
    expect(stderr).to.equal(
      'cluster: etcd cannot be found; tools/setup.sh --packages installs it, as root.\n',
    );
    expect([status, stdout]).to.deep.equal([1, '']);
  });

  it('refuses a place that is not its own, and words that it does not know', async () => {
    writeFileSync(folder, '');
    const { status, stderr } = await cluster();
    expect(status).to.equal(1);
    expect(stderr).to.match(/belongs to somebody else/);
    rmSync(folder);
    expect(await cluster('--up')).to.include({ status: 2 });
    expect(await cluster('--servers=0')).to.include({ status: 2 });
    expect((await cluster('--help')).stdout).to.include('--proxy');
  });
});
