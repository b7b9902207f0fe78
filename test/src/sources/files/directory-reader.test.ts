import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { DirectoryReader } from '../../../../src/sources/files/directory-reader.ts';
import { FolderThread } from '../../../../src/sources/files/folder-thread.ts';

const TURN_MS = 200;

const item = (index: number, spec: string) =>
  `- apiVersion: herald.dev/v1alpha1\n  kind: IPClaim\n  metadata: {name: 10.1.${index >> 8}.${index & 255}}\n  spec: {${spec}}\n`;
const list = (count: number, spec: string) =>
  `apiVersion: v1\nkind: List\nitems:\n${Array.from({ length: count }, (_, index) => item(index, spec)).join('')}`;

/** the most that one turn of the main thread has taken, in its own processor time: a busy machine adds nothing to it */
async function longestTurn<T>(work: () => Promise<T>): Promise<{ longestMs: number; value: T }> {
  const cpuMs = () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let longestMs = 0;
  let isOver = false;
  let lastMs = cpuMs();
  const tick = () => {
    const nowMs = cpuMs();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  const value = await work();
  isOver = true;
  longestMs = Math.max(longestMs, cpuMs() - lastMs);
  return { longestMs, value };
}

describe('a directory with large documents', function () {
  this.timeout(120_000);
  const directory = mkdtempSync(join(tmpdir(), 'herald-large-'));
  after(() => rmSync(directory, { recursive: true }));

  async function reading(text: string) {
    writeFileSync(join(directory, 'a.yaml'), text);
    const reader = new DirectoryReader(new FolderThread(directory));
    const { longestMs, value } = await longestTurn(async () => reader.read(await reader.find()));
    const [file] = value.ok ? value.files : [];
    return { longestMs, documents: file?.ok ? file.documents : [] };
  }

  it('a List in which all items are refused keeps no turn, and names the lines of the first hundred (A5)', async () => {
    const { longestMs, documents } = await reading(list(400, 'chekcs: []'));
    expect(documents).to.have.length(400);
    expect(documents.every(({ result }) => !result.ok)).to.equal(true);
    // three lines of the List, then four of each item, the last of which is wrong
    const lines = documents.map(({ line }) => line);
    expect(lines.slice(0, 100)).to.deep.equal(lines.slice(0, 100).map((_, at) => 7 + 4 * at));
    expect(new Set(lines.slice(100)).size, 'the others have the line of their List').to.equal(1);
    expect(longestMs).to.be.below(TURN_MS);
  });

  it('megabytes of nothing (comments, blank lines, markers) end nothing and keep no turn', async () => {
    const good = item(1, 'pool: blue').replace(/^- /, '').replaceAll('\n  ', '\n');
    for (const nothing of ['# x\n', '\n', '---\n', '...\n', '%a\n']) {
      const text = nothing.repeat(16_000_000 / nothing.length);
      const { longestMs, documents } = await reading(`---\n${good}---\n${text}`);
      const subjects = documents.flatMap(({ result }) => (result.ok ? [result.subject] : []));
      expect(subjects, JSON.stringify(nothing)).to.deep.equal(['IPClaim/10.1.0.1']);
      expect(longestMs, JSON.stringify(nothing)).to.be.below(TURN_MS);
    }
  });

  it('a file of more than 100,000 documents is refused as a whole, and so is such a List', async () => {
    const { longestMs, documents } = await reading('---\na: b\n'.repeat(1_000_000));
    expect(documents).to.deep.equal([]);
    expect(longestMs).to.be.below(TURN_MS);
    const many = await reading(`apiVersion: v1\nkind: List\nitems:\n${'- 1\n'.repeat(200_000)}`);
    expect(many.documents).to.have.length(1);
    expect(many.longestMs).to.be.below(TURN_MS);
  });

  it('megabytes of documents, bad or good, keep no turn', async () => {
    for (const spec of ['chekcs: []', 'pool: blue']) {
      const { longestMs, documents } = await reading(list(10_000, spec));
      expect(documents).to.have.length(10_000);
      expect(longestMs, spec).to.be.below(TURN_MS);
    }
    const many = Array.from({ length: 3000 }, (_, index) => `kind: Nonsense${index}\n`);
    const { longestMs, documents } = await reading(many.join('---\n'));
    expect(documents).to.have.length(3000);
    expect(longestMs, 'many small ones').to.be.below(TURN_MS);
  });

  it('thousands of small files keep no turn, and a thousand refusals of all of them are looked for', async () => {
    const many = join(directory, 'many');
    mkdirSync(many);
    const notes = Array.from({ length: 100 }, (_, index) => `    note${index}: "text text"\n`);
    const text = item(1, 'chekcs: []')
      .replace(/^- /, '')
      .replaceAll('\n  ', '\n')
      .replace('metadata: {', `metadata:\n  annotations:\n${notes.join('')}  `)
      .replace('}\nspec', '\nspec');
    const names = Array.from({ length: 1200 }, (_, index) => `c${index}.yaml`);
    for (const name of names) writeFileSync(join(many, name), text);
    const reader = new DirectoryReader(new FolderThread(many));
    const { longestMs, value } = await longestTurn(async () => reader.read(await reader.find()));
    const documents = (value.ok ? value.files : []).flatMap((file) =>
      file.ok ? file.documents : [],
    );
    expect(documents).to.have.length(1200);
    expect(documents.every(({ result }) => !result.ok)).to.equal(true);
    const lineOfField = text.split('\n').findIndex((line) => line.includes('chekcs')) + 1;
    expect(documents.filter(({ line }) => line === lineOfField)).to.have.length(1000);
    expect(longestMs).to.be.below(TURN_MS);
  });

  it('a piece that is no YAML, or too much for its thread, is refused; those before and after it are read', async () => {
    // cut off in the middle, so that it is no YAML; the thread reads on
    const names = Array.from(
      { length: 190_000 },
      (_, index) => `{a: {b: {c: {d: {e: ${index}}}}}}`,
    );
    const wide = `kind: List\nitems: [${names.join(', ')}]\n`.slice(0, 3_900_000);
    const { documents } = await reading(
      `${list(300, 'pool: blue')}---\n${wide}\n---\n${list(300, 'pool: red')}`,
    );
    const good = documents.filter(({ result }) => result.ok);
    expect(good).to.have.length(600);
    expect(documents.length).to.be.above(600);
  });
});
