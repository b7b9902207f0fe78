/** A restart while the documents cannot be read: the saved View carries the routes, and says that it is old. */

import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { untilValue } from '../../support/poll.ts';
import { skipWithoutStandalone } from '../support/require-standalone.ts';
import { AgentLab, claim, peer, pool, SAME_SESSION_MS } from './agent-lab.ts';

const VIP = '198.51.100.10';

describe('standalone: the saved View', function () {
  this.timeout(180_000);
  let lab: AgentLab;

  before(async function () {
    skipWithoutStandalone(this);
    lab = await AgentLab.create('static');
  });
  afterEach(async () => await lab?.reset());
  after(async () => await lab?.destroy());

  const saved = () => join(lab.state, 'view.json');

  async function savedOnce(): Promise<void> {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP)] });
    lab.ready(true);
    lab.start();
    await lab.announces([VIP]);
    await untilValue(
      'it is saved',
      () => readFileSync(saved(), 'utf8'),
      (text) => text.includes(VIP),
    );
  }

  it('carries the routes over a restart without documents, marked stale, until they are back', async () => {
    await savedOnce();
    expect(await lab.agent.stop()).to.equal(0);
    renameSync(lab.documents, `${lab.documents}.away`);
    lab.start();
    await lab.announces([VIP]);
    const { stale, faults } = await untilValue(
      'stale',
      () => lab.status(),
      (status) => status.stale !== undefined && status.faults.length > 0,
    );
    expect(stale?.sentence).to.contain('could not be read since');
    expect(faults.map(({ sentence }) => sentence).join()).to.match(/director/);
    const before = await lab.upSince();
    renameSync(`${lab.documents}.away`, lab.documents);
    await untilValue(
      'not stale',
      () => lab.status(),
      (status) => status.stale === undefined,
    );
    await lab.announces([VIP]);
    expect(await lab.upSince()).to.be.closeTo(before, SAME_SESSION_MS);
  });

  it('still announces nothing before the join check has passed in this life', async () => {
    await savedOnce();
    await lab.agent.stop();
    renameSync(lab.documents, `${lab.documents}.away`);
    lab.ready(false);
    lab.start();
    await lab.established();
    await untilValue(
      'asked',
      () => lab.status(),
      ({ joined }) => /does not exist|no such/i.test(joined.sentence),
    );
    await lab.announces([]);
    lab.ready(true);
    await lab.announces([VIP]);
    renameSync(`${lab.documents}.away`, lab.documents);
  });

  it('counts no longer than --max-stale', async () => {
    await savedOnce();
    await lab.agent.stop();
    renameSync(lab.documents, `${lab.documents}.away`);
    lab.start(['--max-stale', '12']);
    await lab.announces([VIP]);
    await lab.announces([], 60_000);
    expect(
      (await lab.status()).claims[0]?.gates.find(({ name }) => name === 'assigned')?.sentence,
    ).to.contain('too long');
    renameSync(`${lab.documents}.away`, lab.documents);
    await lab.announces([VIP]);
  });

  it('is as old as the last good reading, not as the last change', async () => {
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP)] });
    lab.ready(true);
    lab.start(['--max-stale', '12']);
    await lab.announces([VIP]);
    const began = performance.now();
    await untilValue(
      'longer than that has passed without a change',
      () => lab.status(),
      () => performance.now() - began > 14_000,
      { timeoutMs: 40_000, everyMs: 500 },
    );
    await lab.agent.kill();
    await lab.announces([]);
    renameSync(lab.documents, `${lab.documents}.away`);
    lab.start(['--max-stale', '12']);
    await lab.announces([VIP]);
    renameSync(`${lab.documents}.away`, lab.documents);
  });

  it('a document that turned bad while the agent was down keeps its last good form', async () => {
    await savedOnce();
    await lab.agent.kill();
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP, { bond: 'lo' })] });
    lab.start();
    await lab.announces([VIP]);
    // the saved View may be announced before the documents have been judged
    const { faults } = await untilValue(
      'the fault',
      () => lab.status(),
      (status) => status.faults.length > 0,
    );
    expect(faults).to.have.length(1);
    lab.write({ 'all.yaml': [peer(), pool()] });
    await lab.announces([]);
  });

  it('holds no secret, is for its owner only, and a damaged one is ignored', async () => {
    const key = join(lab.node.folder, 'key');
    writeFileSync(key, 'very-secret-key\n');
    lab.write({ 'all.yaml': [peer({ password: { file: key } }), pool(), claim(VIP)] });
    lab.ready(true);
    lab.start();
    await untilValue(
      'it is saved',
      () => readFileSync(saved(), 'utf8'),
      (text) => text.includes(VIP),
    );
    expect(statSync(saved()).mode & 0o777).to.equal(0o600);
    expect(readFileSync(saved(), 'utf8')).to.not.contain('very-secret');
    expect(JSON.stringify(await lab.status())).to.not.contain('very-secret');
    expect(lab.agent.log()).to.not.contain('very-secret');
    await lab.agent.kill();
    writeFileSync(saved(), '{"version":1,"sav');
    lab.write({ 'all.yaml': [peer(), pool(), claim(VIP)] });
    lab.start();
    await lab.announces([VIP]);
  });

  it("a person's drain survives a restart", async () => {
    await savedOnce();
    const asked = await lab.control().drain({ reason: 'new disk' });
    expect(asked.ok && asked.value.ok).to.equal(true);
    await lab.announces([]);
    await untilValue(
      'saved',
      () => readFileSync(saved(), 'utf8'),
      (text) => text.includes('new disk'),
    );
    await lab.agent.stop();
    lab.start();
    await lab.established();
    await untilValue(
      'joined',
      () => lab.status(),
      ({ joined }) => joined.state === 'open',
    );
    await lab.announces([]);
    await lab.control().undrain();
    await lab.announces([VIP]);
  });

  it("a person's drain is on disk when it is answered: a crash at that moment forgets nothing", async () => {
    await savedOnce();
    const asked = await lab.control().drain({ reason: 'new disk' });
    await lab.agent.kill();
    expect(asked).to.deep.include({ ok: true });
    lab.start();
    await lab.established();
    await untilValue(
      'it drains since before this start',
      () => lab.status(),
      ({ joined, draining }) => joined.state === 'open' && draining !== undefined,
    );
    await lab.announces([]);
  });

  const damages: readonly (readonly [string, (text: string) => string])[] = [
    ['has a field that is wrong', (text) => text.replace('"checks":[]', '"checks":7')],
    ['was written by another version', (text) => text.replace('"version":1', '"version":99')],
    ['is cut off', (text) => text.slice(0, text.indexOf('"documents"') + 40)],
  ];
  for (const [what, damage] of damages) {
    it(`a person's drain outlives a saved View that ${what}`, async () => {
      await savedOnce();
      const asked = await lab.control().drain({ reason: 'new disk' });
      expect(asked).to.deep.include({ ok: true });
      await lab.announces([]);
      await lab.agent.kill();
      const text = readFileSync(saved(), 'utf8');
      expect(text).to.contain('new disk');
      expect(damage(text)).to.not.equal(text);
      writeFileSync(saved(), damage(text));
      lab.start();
      await lab.established();
      await untilValue(
        'it has decided on the claim',
        () => lab.status(),
        ({ joined, claims }) => joined.state === 'open' && claims.length === 1,
      );
      await lab.announces([]);
      expect((await lab.status()).draining?.reason).to.contain('new disk');
      await lab.control().undrain();
      await lab.announces([VIP]);
    });
  }

  it('a drain that cannot be kept is not promised: on a disk that takes nothing, and from an agent that stops', async () => {
    lab.write({ 'all.yaml': [peer(), pool({ drain: { waitSeconds: 3600 } }), claim(VIP)] });
    lab.ready(true);
    writeFileSync(lab.state, 'no folder');
    lab.start();
    await lab.announces([VIP]);
    const unsaved = await lab.control().drain({ address: VIP });
    expect(unsaved.ok && unsaved.value.sentence).to.contain('a restart would forget it');
    await lab.control().undrain({ address: VIP });
    process.kill(lab.agent.pid, 'SIGTERM');
    await untilValue(
      'it stops',
      () => lab.routes(),
      (routes) => routes.some(({ communities }) => communities.length > 0),
    );
    const late = await lab.control().drain({ reason: 'too late' });
    expect(late).to.deep.include({ ok: true });
    expect(late.ok && late.value).to.deep.equal({
      ok: false,
      sentence: 'the agent is stopping; start it again and say so then',
    });
    await lab.agent.kill();
  });
});
