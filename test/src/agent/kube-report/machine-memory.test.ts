import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { MachineMemory } from '../../../../src/agent/kube-report/machine-memory.ts';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import { untilValue } from '../../../support/poll.ts';

const ID = '3f0c1a52-0000-4000-8000-000000000001';

describe('what a machine remembers of its agent', () => {
  let folder: string;
  let made = 0;
  const memory = (bootId?: string) =>
    new MachineMemory({
      folder,
      log: SILENT_LOG,
      makeId: () => {
        made += 1;
        return ID;
      },
      ...(bootId === undefined ? {} : { bootId }),
    });

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-memory-'));
    made = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is one instance over all restarts, whatever boot it is', async () => {
    expect(await memory('a').instance()).to.equal(ID);
    expect(await memory('b').instance()).to.equal(ID);
    expect(made).to.equal(1);
  });

  it('takes a pipe in the place of a file for a damaged one, and puts a file there', async () => {
    for (const name of ['instance', 'restart', 'announcer']) {
      execFileSync('mkfifo', [join(folder, name)]);
    }
    const pipes = memory('a');
    expect(await pipes.instance()).to.equal(ID);
    expect(await memory('a').instance()).to.equal(ID);
    expect(made).to.equal(1);
    await pipes.rememberRestart(1000);
    expect(memory('a').takeRestart(2000)).to.equal(true);
    expect(readdirSync(folder).toSorted()).to.deep.equal(['announcer', 'instance']);
  });

  it('does not read what cannot be an id', async () => {
    writeFileSync(join(folder, 'instance'), 'x'.repeat(5000));
    expect(await memory().instance()).to.equal(ID);
    expect(made).to.equal(1);
  });

  it('makes a new id for a damaged one, and one for each start where none can be kept', async () => {
    writeFileSync(join(folder, 'instance'), '\0\0');
    expect(await memory().instance()).to.equal(ID);
    expect(readFileSync(join(folder, 'instance'), 'utf8')).to.equal(`${ID}\n`);
    const gone = new MachineMemory({
      folder: '/proc/nowhere',
      log: SILENT_LOG,
      makeId: () => ID,
    });
    expect(await gone.instance()).to.equal(ID);
  });

  it('knows over a restart as which holder of the Lease it announced in simple mode', async () => {
    expect(memory().announcedTurn()).to.equal(undefined);
    for (const turn of [0, 12, undefined, 13]) {
      const before = memory();
      before.rememberAnnounced(turn);
      await untilValue(
        'the turn is kept',
        () => memory().announcedTurn(),
        (kept) => kept === turn,
      );
    }
    writeFileSync(join(folder, 'announcer'), 'yes \0\0');
    expect(memory().announcedTurn()).to.equal(undefined);
  });

  it('knows once that it went for a planned restart', async () => {
    await memory('boot').rememberRestart(1000);
    expect(memory('boot').takeRestart(2000)).to.equal(true);
    expect(memory('boot').takeRestart(2000)).to.equal(false);
  });

  it('not after a reboot, not after long, not with a clock that was set back', async () => {
    await memory('boot').rememberRestart(1000);
    expect(memory('other').takeRestart(2000)).to.equal(false);
    await memory('boot').rememberRestart(1000);
    expect(memory('boot').takeRestart(1000 + 301_000)).to.equal(false);
    await memory('boot').rememberRestart(1000);
    expect(memory('boot').takeRestart(500)).to.equal(false);
    expect(existsSync(join(folder, 'restart'))).to.equal(false);
    writeFileSync(join(folder, 'restart'), 'boot soon');
    expect(memory('boot').takeRestart(2000)).to.equal(false);
  });
});
