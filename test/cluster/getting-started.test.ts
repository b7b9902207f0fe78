/**
 * docs/getting-started.md, run as a newcomer does: every block of commands that is marked `sh run`, in its order, in a home directory of its own. `background`
 * is a terminal of its own, ended by Ctrl-C; `until=TEXT` is asked again until TEXT is there. What is changed: ports (others may have them), and `make cluster`,
 * which would install packages, is the program behind it.
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';
import { cacheFolder } from '../../tools/kubernetes/version.ts';
import { done, notYet, until } from '../support/poll.ts';
import { Running, run } from '../support/process.ts';
import { skipWithoutCluster } from './support/require-cluster.ts';
import { freePorts } from './support/servers.ts';

const ROOT = join(import.meta.dirname, '../..');
const PAGE = readFileSync(join(ROOT, 'docs/getting-started.md'), 'utf8');
const PORTS = ['1179', '8179', '9179', '9181', '9182'];

interface Block {
  readonly script: string;
  readonly how: 'once' | 'background' | 'until';
  readonly text: string;
}

const BLOCKS: readonly Block[] = [...PAGE.matchAll(/^```sh run([^\n]*)\n([\s\S]*?)^```/gm)].map(
  ([, words = '', script = '']) => {
    const text = /until="?([^"]+)"?/.exec(words)?.[1];
    if (text !== undefined) return { script, how: 'until', text };
    return { script, how: words.includes('background') ? 'background' : 'once', text: '' };
  },
);

describe('docs/getting-started.md', function () {
  // of a question that is asked again and again, the last time too
  this.timeout(300_000);
  const home = mkdtempSync(join(tmpdir(), 'herald-newcomer-'));
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: home,
    // the API server that is built already
    XDG_CACHE_HOME: dirname(dirname(dirname(cacheFolder()))),
  };
  const terminals: Running[] = [];
  const exports: string[] = [];
  const ports = new Map<string, string>();
  let reached = 0;

  before(async function () {
    skipWithoutCluster(this);
    const free = await freePorts(PORTS.length);
    for (const [index, port] of PORTS.entries()) ports.set(port, String(free[index]));
    mkdirSync(join(home, '.cache'));
  });

  after(async () => {
    for (const terminal of terminals) await terminal.kill();
    await shell('make cluster-down');
    rmSync(home, { recursive: true, force: true });
  });

  /** as it is run here, with what was exported so far */
  const asRun = (script: string): string => {
    const cluster = `${process.execPath} --conditions=bgp-ts-source tools/cluster.ts`;
    const here = script
      .replaceAll('make cluster-down', `${cluster} --down`)
      .replaceAll('make cluster', cluster)
      .replaceAll(/\b(1179|8179|9179|9181|9182)\b/g, (port) => ports.get(port) ?? port);
    return ['set -eu', `cd ${ROOT}`, ...exports, here].join('\n');
  };

  const shell = async (script: string) =>
    await run('bash', ['-c', asRun(script)], { env, timeoutMs: 120_000, anyStatus: true });

  const start = (script: string) => {
    const command = asRun(script).replace('src/cli/herald', 'exec src/cli/herald');
    terminals.push(
      new Running(['bash', '-c', command], join(home, `${terminals.length}.log`), { env }),
    );
  };

  const logs = () => terminals.map((terminal) => terminal.log().slice(-1_500)).join('\n---\n');

  const stopAll = async () => {
    for (const terminal of terminals) terminal.signal('SIGINT');
    for (const terminal of terminals) expect(await terminal.ended, terminal.log()).to.equal(0);
  };

  const ask = async ({ script, text }: Block) => {
    const { stdout, stderr } = await shell(script);
    return stdout.includes(text) ? done(stdout) : notYet(`${stdout}\n${stderr}\n${logs()}`);
  };

  const execute = async (block: Block) => {
    for (const terminal of terminals) expect(terminal.isRunning, terminal.log()).to.equal(true);
    if (block.how === 'background') return start(block.script);
    if (block.how === 'until') {
      await until(`'${block.text}'`, async () => await ask(block), { timeoutMs: 120_000 });
      return;
    }
    if (block.script.includes('make cluster-down')) await stopAll();
    const { status, stdout, stderr } = await shell(block.script);
    expect(status, `${block.script}\n${stdout}\n${stderr}\n${logs()}`).to.equal(0);
    exports.push(...block.script.split('\n').filter((line) => line.startsWith('export ')));
  };

  it('has its commands in blocks, and make knows what it names', () => {
    expect(BLOCKS.filter(({ how }) => how === 'background')).to.have.lengthOf(4);
    expect(BLOCKS.filter(({ how }) => how === 'until').length).to.be.above(4);
    const makefile = readFileSync(join(ROOT, 'Makefile'), 'utf8');
    expect(makefile)
      .to.match(/^cluster:/m)
      .and.to.match(/^cluster-down:/m);
  });

  for (const [index, block] of BLOCKS.entries()) {
    const [first = ''] = block.script.split('\n');
    it(`step ${index + 1}: ${first}`, async function () {
      // each one stands on the ones before
      if (reached < index) this.skip();
      await execute(block);
      reached = index + 1;
    });
  }
});
