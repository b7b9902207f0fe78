import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Guard } from '../../../src/demo/guard.ts';
import { untilValue } from '../../support/poll.ts';

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'herald-guard-'));
  writeFileSync(join(directory, 'a file'), '');
  return directory;
}

function sleeper() {
  const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  return { child, pid: child.pid ?? -1, gone: once(child, 'exit') };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the guard of the demo', () => {
  it('kills what it watches, frozen ones too, and removes the directory; what it forgot it leaves', async () => {
    const directory = makeDirectory();
    const guard = new Guard(directory);
    const [one, frozen, other] = [sleeper(), sleeper(), sleeper()];
    for (const { pid } of [one, other, frozen]) guard.watch(pid);
    process.kill(frozen.pid, 'SIGSTOP');
    guard.forget(other.pid);
    await guard.release();
    const ends = await Promise.all([one.gone, frozen.gone]);
    expect(ends.map(([, signal]) => signal)).to.deep.equal(['SIGKILL', 'SIGKILL']);
    expect(isAlive(other.pid)).to.equal(true);
    other.child.kill('SIGKILL');
    await other.gone;
    expect(existsSync(directory)).to.equal(false);
  });

  it('does so when its owner is killed', async () => {
    const directory = makeDirectory();
    const module = join(import.meta.dirname, '../../../src/demo/guard.ts');
    const source = `
      import { spawn } from 'node:child_process';
      const { Guard } = await import(${JSON.stringify(module)});
      const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
      new Guard(${JSON.stringify(directory)}).watch(child.pid);
      process.stdout.write(child.pid + '\\n');
      setInterval(() => {}, 1000);`;
    const owner = spawn(process.execPath, ['--input-type=module', '-e', source]);
    const [text] = await once(owner.stdout.setEncoding('utf8'), 'data');
    const pid = Number(text);
    expect(isAlive(pid)).to.equal(true);
    owner.kill('SIGKILL');
    await untilValue(
      'the child is gone',
      () => isAlive(pid),
      (alive) => !alive,
    );
    await untilValue(
      'the directory is gone',
      () => existsSync(directory),
      (is) => !is,
    );
  });
});
