/**
 * Does a file exist? A dead network file system makes the question hang in the kernel, on one of Node's four threads, for as long as
 * it likes: a path is therefore never asked again while an earlier question is out, the new one waits for that answer.
 */

import { stat } from 'node:fs/promises';
import { type Ask, fail, pass, runBounded, type TargetOf } from './probe-bounds.ts';
import { describeFileError } from './probe-failure.ts';
import type { Answer } from './verdict.ts';

const underWay = new Map<string, Promise<Answer>>();

export function probeFile(target: TargetOf<'file'>, ask: Ask): void {
  const { path } = target;
  runBounded(ask, (finish) => {
    void look(path).then(finish);
    return { release: () => {}, late: () => `the file system of ${path} did not answer` };
  });
}

function look(path: string): Promise<Answer> {
  const earlier = underWay.get(path);
  if (earlier !== undefined) return earlier;
  const answer = stat(path)
    .then(
      () => pass(`${path} exists`),
      (error: unknown) => fail(`${path} cannot be seen: ${describeFileError(error)}`),
    )
    .finally(() => underWay.delete(path));
  underWay.set(path, answer);
  return answer;
}
