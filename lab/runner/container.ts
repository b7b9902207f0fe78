/** A container of the lab from outside: started, looked at, and entered. What it is inside, container.sh tells. */

import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { labMark } from './left-overs.ts';
import { type Output, type RunOptions, run, start } from './machine.ts';
import { namespacePath, type PlannedCommand, type PlannedContainer } from './plan.ts';
import { LabRefusal } from './refusal.ts';
import { logFile, type StartedContainer } from './state.ts';

const readyWithinMs = 20_000;

/** Starts it and waits until its program is about to run. */
export async function startContainer(
  lab: string,
  planned: PlannedContainer,
): Promise<StartedContainer> {
  const { node, namespace, argv } = planned;
  const environment = { HOME: '/root', ...planned.environment, [labMark]: lab };
  const log = logFile(lab, node);
  const outer = await start(argv, log, environment);
  const deadline = performance.now() + readyWithinMs;
  for (;;) {
    const pid = firstChild(outer);
    if (pid !== undefined && existsSync(`/proc/${pid}/root/run/.lab/ready`)) {
      return { node, namespace, pid, environment };
    }
    if (!existsSync(`/proc/${outer}`))
      throw new LabRefusal(`${node} did not start: ${lastLines(log)}`);
    if (performance.now() > deadline) {
      throw new LabRefusal(
        `${node} did not start within ${readyWithinMs / 1000} s: ${lastLines(log)}`,
      );
    }
    await delay(10);
  }
}

export const isRunning = ({ pid }: StartedContainer) =>
  existsSync(`/proc/${pid}/root/run/.lab/ready`);

/** Runs something inside; without a container in the network namespace only. */
export function enter(
  { namespace, argv }: Pick<PlannedCommand, 'namespace' | 'argv'>,
  container: StartedContainer | undefined,
  options: RunOptions = {},
): Promise<Output> {
  const environment = container === undefined ? {} : { environment: container.environment };
  return run([...enterArguments(namespace, container), ...argv], { ...options, ...environment });
}

/** The command line that puts what follows inside. */
export function enterArguments(
  namespace: string,
  container: StartedContainer | undefined,
): string[] {
  if (container === undefined) return ['nsenter', `--net=${namespacePath(namespace)}`, '--'];
  return ['nsenter', `--target=${container.pid}`, '--mount', '--uts', '--pid', '--net', '--'];
}

export function lastLines(file: string): string {
  const lines = readFileSync(file, 'utf8').trim().split('\n');
  return lines.slice(-5).join(' | ') || 'it said nothing';
}

/** The process that unshare(1) forked into the new process namespace. */
function firstChild(pid: number): number | undefined {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
    return children === '' ? undefined : Number(children.split(' ')[0]);
  } catch {
    return undefined;
  }
}
