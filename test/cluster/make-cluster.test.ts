/** `make cluster` as a person uses it: up, used, up again, down, down again. */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { run } from '../support/process.ts';
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

describe('make cluster', () => {
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

    const again = await cluster();
    expect(again.stdout).to.match(/runs already/);
    expect(kubeconfigOf(again.stdout)).to.equal(kubeconfig);

    const pids = [...readFileSync(join(folder, 'state.json'), 'utf8').matchAll(/"pid":(\d+)/g)];
    expect(pids).to.have.length(2);
    const down = await cluster('--down');
    expect(down.stdout).to.match(/is gone/);
    expect(down.status).to.equal(0);
    expect(existsSync(folder)).to.equal(false);
    for (const [, pid] of pids) expect(isAlive(pid ?? ''), `process ${pid}`).to.equal(false);
  });

  it('has nothing to end where nothing runs', async () => {
    const { status, stdout } = await cluster('--down');
    expect(status).to.equal(0);
    expect(stdout).to.match(/No cluster runs/);
  });

  it('refuses a place that is not its own, and words that it does not know', async () => {
    writeFileSync(folder, '');
    const { status, stderr } = await cluster();
    expect(status).to.equal(1);
    expect(stderr).to.match(/belongs to somebody else/);
    rmSync(folder);
    expect(await cluster('--up')).to.include({ status: 2 });
  });
});
