import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { FileThreads } from '../../../src/checks/file-threads.ts';
import { RecentMap } from '../../../src/checks/recent-map.ts';
import { untilValue } from '../../support/poll.ts';

describe('FileThreads', () => {
  const folder = mkdtempSync(join(tmpdir(), 'herald-threads-'));
  const path = join(folder, 'text');
  const threads = new FileThreads();
  after(async () => {
    await threads.close();
    rmSync(folder, { recursive: true });
  });

  it('gives the text of a file as it is now, whoever asks', async () => {
    for (const text of ['one', 'another']) {
      writeFileSync(path, text);
      const lanes = ['join', 'password', 'claim', 'claim'] as const;
      const answers = await Promise.all(lanes.map((lane) => threads.text(path, lane)));
      expect(answers.map((answer) => answer.kind === 'text' && answer.text)).to.deep.equal(
        lanes.map(() => text),
      );
    }
  });

  it('without a thread to be had: no file, key or document ends the process, and each says so; a key that is known stays', async () => {
    const password = join(folder, 'password');
    writeFileSync(password, 'k');
    chmodSync(folder, 0o755);
    const main = join(import.meta.dirname, 'thread-limit-subject.ts');
    const isRoot = process.getuid?.() === 0;
    const node = [process.execPath, ...process.execArgv, main, password, password];
    const [command = '', ...args] = isRoot ? ['prlimit', '--nproc=1:', ...node] : node;
    const subject = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = createInterface({ input: subject.stdout })[Symbol.asyncIterator]();
    const next = async () => String((await lines.next()).value);
    const round = async (line = '') => {
      subject.stdin.write(`${line}\n`);
      return JSON.parse(await next());
    };
    try {
      expect(await next()).to.equal('ready');
      const key = { kind: 'ready', password: 'k' };
      expect(await round()).to.deep.include({ file: { kind: 'there' }, password: key });
      if (!isRoot) execFileSync('prlimit', ['--pid', String(subject.pid), '--nproc=1:']);
      const { file, password: kept, document } = await round('nobody');
      expect(file.code).to.equal('EAGAIN');
      expect(file.sentence).to.match(/no thread can be started/);
      expect(kept).to.deep.equal(key);
      expect(document.sentence).to.match(/no thread can be started/);
    } finally {
      subject.kill();
    }
  });
});

describe('a process that has asked FileThreads and has nothing more to do', () => {
  it('ends by itself', () => {
    const module = join(import.meta.dirname, '../../../src/checks/file-threads.ts');
    const code = `
      const { FileThreads } = await import(${JSON.stringify(module)});
      const wait = setTimeout(() => undefined, 10_000);
      const answer = await new FileThreads().presence('/', 'claim');
      clearTimeout(wait);
      console.log(answer.kind);`;
    const args = [...process.execArgv, '--input-type=module', '--eval', code];
    const said = execFileSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
    expect(said).to.equal('there\n');
  });
});

describe('RecentMap', () => {
  it('forgets what nobody asks for, and nothing that somebody does', async () => {
    const map = new RecentMap<number>(1000);
    for (let index = 0; index < 100; index += 1) map.set(`${index}`, index);
    await untilValue(
      'all but one are forgotten',
      () => {
        expect(map.get('7')).to.equal(7);
        return map.size;
      },
      (size) => size === 1,
      { everyMs: 5 },
    );
    await untilValue(
      'that one too',
      () => map.size,
      (size) => size === 0,
    );
  });

  it('gives what was set last, and nothing that was deleted', () => {
    const map = new RecentMap<number>();
    map.set('a', 1);
    map.set('a', 2);
    expect([map.get('a'), map.size]).to.deep.equal([2, 1]);
    map.delete('a');
    expect(map.get('a')).to.equal(undefined);
  });
});
