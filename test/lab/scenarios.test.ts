/** The short stories of lab/scenarios, as `make scenario` plays them, on a cluster that is brought up for them and taken away. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'chai';
import { whyNoCluster } from '../../lab/cluster/lab.ts';
import { skipLoudly } from '../interop/require-lab.ts';

const program = join(import.meta.dirname, '../../lab/scenarios/run.ts');

describe('the short stories', function () {
  this.timeout(900_000);

  it('go as they should on a real cluster behind real routers', async function () {
    const missing = whyNoCluster();
    if (missing.length > 0) skipLoudly(this, missing.join(' '));
    const child = spawn(process.execPath, [...process.execArgv, program, '--short'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let table = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      table += chunk;
    });
    const [status] = await once(child, 'close');
    process.stderr.write(table);
    expect(status, table).to.equal(0);
  });
});
