import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeProbe } from '../../../src/checks/probe.ts';
import { untilValue } from '../../support/poll.ts';
import { PATIENT_MS, probe } from './probing.ts';

const sh = (script: string, ...args: readonly string[]) =>
  ({ kind: 'exec', command: ['sh', '-c', script, 'check', ...args] }) as const;

describe('probeExec', () => {
  const directory = mkdtempSync(join(tmpdir(), 'herald-exec-'));
  after(() => rmSync(directory, { recursive: true }));

  /** processes of this machine with such an argument: found by what they are, not by what we were told */
  function running(mark: string): readonly string[] {
    return readdirSync('/proc').filter(
      (pid) => /^\d+$/.test(pid) && commandLine(pid).includes(mark),
    );
  }

  function commandLine(pid: string): string {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return ''; // gone meanwhile
    }
  }

  async function untilGone(mark: string): Promise<void> {
    await untilValue(
      `no process ${mark}`,
      () => running(mark),
      (pids) => pids.length === 0,
    );
  }

  it('passes with status 0 and fails with another, with the first line of what it said', async () => {
    expect(await probe({ kind: 'exec', command: ['true'] })).to.include({
      kind: 'pass',
      sentence: 'exec:true ended with status 0',
    });
    const answer = await probe(sh('echo; echo "not yet" >&2; echo more; exit 3'));
    expect(answer.kind).to.equal('fail');
    expect(answer.sentence).to.match(/ ended with status 3: not yet$/);
  });

  it('uses no shell: what looks like one is an argument', async () => {
    const file = join(directory, 'made');
    await probe({ kind: 'exec', command: ['true', ';', 'touch', file, '$(touch', `${file})`] });
    expect(readdirSync(directory)).to.not.include('made');
  });

  it('gives it no input', async () => {
    expect((await probe({ kind: 'exec', command: ['cat'] })).kind).to.equal('pass');
  });

  it('says when it cannot be started, and when a signal has ended it', async () => {
    expect((await probe({ kind: 'exec', command: ['/no/such/command'] })).sentence).to.equal(
      'exec:/no/such/command cannot be started: no such file',
    );
    const plain = join(directory, 'plain');
    writeFileSync(plain, 'x', { mode: 0o644 });
    expect((await probe({ kind: 'exec', command: [plain] })).sentence).to.include(
      'permission denied',
    );
    expect((await probe({ kind: 'exec', command: ['a\0b'] })).kind).to.equal('fail');
    expect((await probe(sh('kill -SEGV $$'))).sentence).to.match(/ was ended by SIGSEGV$/);
  });

  it('kills the whole group at the timeout', async () => {
    const mark = `mark-timeout-${process.pid}`;
    const answer = await probe(sh(`sh -c 'sleep 60; :' ${mark} & sleep 60`), 300);
    expect(answer.sentence).to.match(/ did not end within 0\.3 s$/);
    expect(answer.tookMs).to.be.within(290, PATIENT_MS);
    await untilGone(mark);
  });

  it('does not wait for a grandchild that holds the pipe, and ends it', async () => {
    const mark = `mark-grandchild-${process.pid}`;
    const passes = await probe(sh(`sh -c 'sleep 60; :' ${mark} & exit 0`));
    expect(passes.kind).to.equal('pass');
    expect(passes.tookMs).to.be.lessThan(PATIENT_MS / 2);
    const fails = await probe(sh(`sh -c 'sleep 60; :' ${mark} & echo broken; exit 1`));
    expect(fails.sentence).to.match(/ ended with status 1: broken$/);
    await untilGone(mark);
  });

  it('does not wait for a grandchild that has left the group either', async () => {
    const mark = `mark-left-${process.pid}`;
    const answer = await probe(
      sh(`setsid sh -c 'sleep 60; :' ${mark} & sleep 0.1; echo broken; exit 1`),
    );
    expect(answer.sentence).to.match(/ ended with status 1: broken$/);
    expect(answer.tookMs).to.be.lessThan(PATIENT_MS / 2);
    for (const pid of running(mark)) process.kill(Number(pid), 'SIGKILL');
  });

  it('is not blocked by a talkative command', async () => {
    const answer = await probe(sh('head -c 3000000 /dev/zero | tr "\\0" x; exit 1'));
    expect(answer.sentence).to.match(/ ended with status 1: x{199}…$/);
  });

  it('is killed when it is aborted', async () => {
    const mark = `mark-abort-${process.pid}`;
    const abort = new AbortController();
    nodeProbe(sh('sleep 60; :', mark), {
      timeoutMs: 60_000,
      signal: abort.signal,
      answer: () => expect.fail('an aborted check has nothing to say'),
    });
    await untilValue(
      'it runs',
      () => running(mark),
      (pids) => pids.length > 0,
    );
    abort.abort();
    await untilGone(mark);
  });
});
