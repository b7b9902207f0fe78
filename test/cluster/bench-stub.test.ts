/** The cluster's bench takes any balancer by three commands: a stub that puts its routes into BIRD by hand, and Herald itself, both in small. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { field, items, parseJson, text } from '../interop/routers/json.ts';
import { untilValue } from '../support/poll.ts';
import { run } from '../support/process.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';

const root = join(import.meta.dirname, '../..');
const bench = join(root, 'test/bench/cluster/run.ts');
const stub = join(root, 'test/bench/cluster/stub-balancer.ts');
const node = `"${process.execPath}" --conditions=bgp-ts-source`;
const TIMEOUT_MS = 300_000;

describe('the bench of the cluster', function suite() {
  // the bench is ended first, and then says how far it came
  this.timeout(TIMEOUT_MS + 60_000);
  let folder: string;

  before(function check() {
    skipWithoutCluster(this, { bird: true });
    folder = mkdtempSync(join(tmpdir(), 'herald-bench-stub-'));
  });
  after(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  const pidFile = () => join(folder, 'stub.pid');

  function stubCommands(): string[] {
    const start = `${node} "${stub}" & echo $! > "${pidFile()}"`;
    const stop = `kill $(cat "${pidFile()}")`;
    return [`--start=${start}`, `--stop=${stop}`, `--pids=echo stub $(cat "${pidFile()}")`];
  }

  async function measure(args: readonly string[]) {
    const json = join(folder, 'bench.json');
    const argv = ['--conditions=bgp-ts-source', bench, '--quick', `--json=${json}`, ...args];
    // 1: some target was missed, as happens in small and beside other tests
    const options = { timeoutMs: TIMEOUT_MS, anyStatus: true };
    const { stdout, stderr, status } = await run(process.execPath, argv, options);
    expect(status, stderr).to.be.oneOf([0, 1]);
    expect(existsSync(json), stderr).to.equal(true);
    const rows = items(field(parseJson(readFileSync(json, 'utf8')), 'rows'));
    return { stdout, stderr, rows: rows.map((row) => text(field(row, 'work'))) };
  }

  it('measures a stub by start, stop and pids, and leaves nothing of it behind', async () => {
    const rows = ['--row=single', '--row=burst', '--row=waiting', '--row=filtered'];
    const { rows: found, stdout } = await measure([...stubCommands(), ...rows]);
    expect(found.map((work) => work.split(/[,:]/)[0])).to.deep.equal([
      'Service created → route in BIRD',
      'Service deleted → withdrawn',
      'burst of 40 Services by 8 clients',
      'RSS after the burst',
      'balancer started with 60 Services waiting → all routes',
    ]);
    expect(stdout).to.match(/RSS after the burst: stub \| .* \d+ MB, peak \d+ MB/);
    const pid = readFileSync(pidFile(), 'utf8').trim();
    await untilValue(
      'the stub is gone',
      () => readdirSync('/proc').includes(pid),
      (isThere) => !isThere,
    );
  });

  it('measures Herald by the same rows', async () => {
    const { rows, stdout } = await measure(['--row=single', '--row=proxy', '--row=scheduler']);
    expect(rows).to.have.lengthOf(5);
    expect(stdout).to.contain('Service created → route in BIRD');
    expect(stdout).to.match(/routes before the rules \| – \| 0 \| 0;/);
  });

  it('says what is wrong with its options', async () => {
    const argv = ['--conditions=bgp-ts-source', bench, '--start=true'];
    const { status, stderr } = await run(process.execPath, argv, { anyStatus: true });
    expect(status).to.equal(2);
    expect(stderr).to.contain('another balancer needs all three');
  });
});
