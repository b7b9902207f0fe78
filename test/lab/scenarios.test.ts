/** The short stories of lab/scenarios, as `make scenario` plays them, on a cluster that is brought up for them and taken away. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { takeDownLab, whyNoCluster } from '../../lab/cluster/lab.ts';
import { skipLoudly } from '../interop/require-lab.ts';

const program = join(import.meta.dirname, '../../lab/scenarios/run.ts');
/** Its own: a lab that somebody plays with may run other code, and is not ours to play on. */
const NAME = `s${process.pid}`;
/** a story ends, and a cluster goes, in less */
const END_WITHIN_MS = 120_000;

describe('the short stories', function () {
  this.timeout(900_000);
  let child: ChildProcess | undefined;

  after(async () => {
    if (child === undefined) return;
    await ended(child);
    // whatever it has come to: after a test that took too long as well
    await takeDownLab(NAME, () => undefined);
  });

  it('go as they should on a real cluster behind real routers', async function () {
    const missing = whyNoCluster();
    if (missing.length > 0) skipLoudly(this, missing.join(' '));
    const args = [...process.execArgv, program, '--short', '--name', NAME];
    const started = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child = started;
    let table = '';
    started.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      table += chunk;
    });
    const [status] = await once(started, 'close');
    process.stderr.write(table);
    expect(status, table).to.equal(0);
  });
});

/** Asked to end, and to take everything away, with a bound. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  const impatience = setTimeout(() => child.kill('SIGKILL'), END_WITHIN_MS);
  await exit;
  clearTimeout(impatience);
}
