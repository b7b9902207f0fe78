/** The saved View on a disk that does not answer: a pipe in the place of the file that is written, which takes nothing until somebody reads. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { NamedTimers } from '../../../src/agent/named-timers.ts';
import { formatSavedView, type SavedView } from '../../../src/agent/saved-view.ts';
import { SavedViewFile } from '../../../src/agent/saved-view-file.ts';
import { ViewSaver } from '../../../src/agent/view-saver.ts';
import { type Log, SILENT_LOG } from '../../../src/log/log.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { claim, documents, savedViewIn, sourced } from './scenery.ts';

function viewOf(savedAtMs: number, count = 1): SavedView {
  const claims = Array.from({ length: count }, (_, n) =>
    sourced(claim({ at: `198.51.${n >> 8}.${n & 255}` })),
  );
  const { faults: _, ...rest } = documents();
  return { version: 1, savedAtMs, routerId: 7, documents: { ...rest, claims }, claimDrains: [] };
}

describe('the saved View on disk', () => {
  let folder = '';
  let path = '';
  const warnings: string[] = [];
  const log: Log = {
    ...SILENT_LOG,
    warn: (_name, { reason }, text) =>
      void warnings.push([text, ...(reason ? [reason] : [])].join(': ')),
  };

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'herald-view-'));
    path = join(folder, 'state', 'view.json');
    warnings.length = 0;
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('comes back as it was, also one of many claims', async () => {
    const file = new SavedViewFile(path, log);
    const view = viewOf(1, 1201);
    await file.save(view);
    expect(file.load()).to.deep.equal(view);
    expect(savedViewIn(formatSavedView(view))).to.deep.equal(view);
    expect(warnings).to.deep.equal([]);
  });

  it('is not used where it is damaged, and the log says what is wrong', () => {
    mkdirSync(dirname(path));
    const text = formatSavedView(viewOf(1)).replace('"holdSeconds":9', '"holdSeconds":null');
    writeFileSync(path, text);
    expect(new SavedViewFile(path, log).load()).to.equal(undefined);
    expect(warnings).to.deep.equal([
      'the saved View is not used: View.documents.peers[0].object.timers.holdSeconds is no whole number from 0 to 65535',
    ]);
  });

  it('is not waited for: a disk that stalls holds up nothing, and of what came meanwhile the newest is written', async () => {
    const file = new SavedViewFile(path, log);
    await file.save(viewOf(1));
    execFileSync('mkfifo', [`${path}.new`]);
    let isDone = false;
    const saved = Promise.all([2, 3, 4].map((at) => file.save(viewOf(at)))).then(() => {
      isDone = true;
    });
    // whoever writes to the pipe waits for this reader, for as many turns as there may be
    for (let turn = 0; turn < 1000; turn += 1) await new Promise(setImmediate);
    expect(isDone, 'written without a reader').to.equal(false);
    expect(file.load()?.savedAtMs).to.equal(1);
    const reader = await open(`${path}.new`, 'r');
    rmSync(`${path}.new`);
    await reader.close();
    await saved;
    expect(savedViewIn(readFileSync(path, 'utf8'))?.savedAtMs).to.equal(4);
  });

  it('is waited for at a stop, and not for longer than a stop may take', async () => {
    const clock = new ManualClock();
    const saves: ((isKept: boolean) => void)[] = [];
    const saver = new ViewSaver({
      clock,
      timers: new NamedTimers(clock),
      store: { load: () => undefined, save: () => new Promise((resolve) => saves.push(resolve)) },
      view: () => viewOf(1),
    });
    await saver.settled(1000);
    saver.last();
    let ended = '';
    const first = saver.settled(1000).then(() => {
      ended = 'by its time';
    });
    await new Promise(setImmediate);
    expect(ended).to.equal('');
    clock.advance(1000);
    await first;
    expect(ended).to.equal('by its time');
    const second = saver.settled(1000);
    saves[0]?.(true);
    expect(await second).to.equal(true);
  });

  it('is made and given to a disk that hangs once, however many changes come, and the newest follows when it goes on', async () => {
    const clock = new ManualClock();
    const saves: ((isKept: boolean) => void)[] = [];
    let views = 0;
    const saver = new ViewSaver({
      clock,
      timers: new NamedTimers(clock),
      store: { load: () => undefined, save: () => new Promise((resolve) => saves.push(resolve)) },
      view: () => {
        views += 1;
        return viewOf(views);
      },
    });
    saver.again(60_000);
    for (let change = 0; change < 1000; change += 1) {
      saver.soon();
      clock.advance(500);
    }
    expect(views, 'Views that were made').to.equal(1);
    expect(saves, 'what waits for the disk').to.have.length(1);
    saves[0]?.(true);
    await new Promise(setImmediate);
    clock.advance(10_000);
    expect(views, 'after the disk went on').to.equal(2);
    // a person's word, and that of a stop, are given to it all the same
    const kept = saver.now(1000);
    expect(views).to.equal(3);
    clock.advance(1000);
    expect(await kept).to.equal(false);
    saver.soon();
    clock.advance(10_000);
    expect(views).to.equal(3);
    saver.last();
    expect(views).to.equal(4);
    for (const each of saves) each(true);
    await new Promise(setImmediate);
    clock.advance(10_000);
    expect(views, 'after the stop').to.equal(4);
  });
});
