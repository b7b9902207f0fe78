import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, read, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { ServiceOutput } from '../../../src/cli/service-output.ts';
import { createPinoLog } from '../../../src/log/pino-log.ts';

const readPiece = promisify(read);

describe('the output of a service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-output-'));
  after(() => rmSync(folder, { recursive: true }));

  for (const isTerminal of [false, true]) {
    it(`${isTerminal ? 'a terminal' : 'a file'} that takes nothing holds up nobody; lines beyond a bound are dropped and counted, in order`, async () => {
      // a pipe stands for both: it is full after 64 KiB, and whoever writes then waits
      const pipe = join(folder, `pipe-${isTerminal}`);
      execFileSync('mkfifo', [pipe]);
      const fd = openSync(pipe, constants.O_RDWR);
      const output = new ServiceOutput(fd, isTerminal);
      const log = createPinoLog({ level: 'info', node: 'n', destination: output });
      const started = performance.now();
      const text = 'x'.repeat(1000);
      for (let n = 0; n < 3000; n += 1) log.info('agent.start', { n, password: 'hush' }, text);
      expect(performance.now() - started, 'for three megabytes').to.be.below(5000);
      expect(output.writableLength).to.be.below(1_100_000);
      let shown = '';
      while (!shown.includes('log lines dropped')) {
        const { bytesRead, buffer } = await readPiece(fd, Buffer.alloc(65_536), 0, 65_536, null);
        shown += buffer.toString('utf8', 0, bytesRead);
      }
      const lines = shown
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      const dropped: unknown = lines.at(-1)?.count;
      const numbers: unknown[] = lines.slice(0, -1).map(({ n }) => n);
      expect(numbers).to.deep.equal(Array.from(numbers, (_, n) => n));
      expect(numbers.length + Number(dropped)).to.equal(3000);
      expect(shown).to.not.include('hush');
      closeSync(fd);
    });
  }
});
