/** Does a file exist? A dead network file system holds up its own check and no other (file-threads.ts). */

import { fileThreads } from './file-threads.ts';
import { type Ask, fail, pass, runBounded, type TargetOf } from './probe-bounds.ts';
import { describeFileError } from './probe-failure.ts';

export function probeFile(target: TargetOf<'file'>, ask: Ask): void {
  const { path } = target;
  runBounded(ask, (finish) => {
    void fileThreads.presence(path, ask.lane ?? 'claim').then((answer) => {
      if (answer.kind !== 'error') finish(pass(`${path} exists`));
      else finish(fail(`${path} cannot be seen: ${describeFileError(answer)}`));
    });
    return { release: () => {}, late: () => `the file system of ${path} did not answer` };
  });
}
