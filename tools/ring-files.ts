/** The process in which the files of a ring run: mocha, and at the end the count for whoever started it. */

import Mocha from 'mocha';
import { ringOf } from './ring-list.ts';
import { FAILURE_MARK, NOTHING, RESULT_MARK } from './ring-process.ts';

async function runHere(name: string, files: readonly string[]): Promise<number> {
  const ring = ringOf(name);
  if (ring === undefined) return 2;
  const mocha = new Mocha({ timeout: ring.timeoutMs, forbidOnly: true, reporter: 'spec' });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const count = { ...NOTHING };
  const failures: string[] = [];
  await new Promise<void>((resolve) => {
    const runner = mocha.run(() => resolve());
    runner.on('pass', () => {
      count.passed += 1;
    });
    runner.on('fail', (test, error) => {
      count.failed += 1;
      failures.push(oneLine(`${test.fullTitle()}: ${String(error?.message ?? error)}`));
    });
    runner.on('pending', () => {
      count.skipped += 1;
    });
  });
  // a ring that ran nothing proves nothing
  if (count.passed + count.failed + count.skipped === 0) count.failed = 1;
  // behind a line end of its own: a test may have printed half a line
  for (const failure of failures) process.stdout.write(`\n${FAILURE_MARK}${failure}`);
  process.stdout.write(`\n${RESULT_MARK}${count.passed} ${count.failed} ${count.skipped}\n`);
  // a socket or timer that a test forgot must not keep the run alive, nor hide the count
  process.exit(count.failed === 0 ? 0 : 1);
}

const FAILURE_CHARACTERS = 300;

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').slice(0, FAILURE_CHARACTERS);
}

const [name = '', ...files] = process.argv.slice(2);
process.exitCode = await runHere(name, files);
