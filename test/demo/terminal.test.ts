/** The live view in a real pseudo-terminal (util-linux's `script`), with keys as a person presses them. */

import { expect } from 'chai';
import { untilValue } from '../support/poll.ts';
import { DemoRun, program } from './run-demo.ts';
import { Screen } from './screen.ts';

const START_MS = 60_000;
const SOON_MS = 40_000;
/** Its status, and of what `stty -a` says all that is looked at. */
const LAST_WORDS = /status (\d+)[\s\S]*icanon[\s\S]*\becho\b/;

describe('herald demo on a terminal', () => {
  let run: DemoRun;
  let screen: Screen;

  beforeEach(() => {
    screen = new Screen();
    // what the terminal is like afterwards is part of what is asked
    const command = `stty rows 24 cols 80; ${program} demo --no-web; echo "status $?"; stty -a`;
    run = new DemoRun(['script', '-qfc', command, '/dev/null'], (text) => screen.feed(text));
  });

  afterEach(() => run.clear());

  function press(keys: string): void {
    run.process.stdin?.write(keys);
  }

  async function shows(pattern: RegExp, timeoutMs = SOON_MS): Promise<void> {
    const seen = (text: string) => pattern.test(text);
    await untilValue(`the screen shows ${pattern}`, () => screen.text(), seen, { timeoutMs });
  }

  function isRestored(): void {
    expect([...screen.modes]).to.deep.equal([]);
    expect(run.output).to.match(/(?<!-)icanon/);
    expect(run.output).to.match(/(?<!-)\becho\b/);
  }

  it('tells the story, obeys keys, and leaves the terminal as it was', async function () {
    this.timeout(400_000);
    await shows(/Step 1 of 8 {2}Three sessions, no route/, START_MS);
    expect([...screen.modes])
      .to.include('1049')
      .and.include('25');
    await shows(/node-1 127\.0\.1\.1 +down +no +established +○ none/);
    press('k');
    await shows(/the story is still running/);
    press('s');
    await shows(/203\.0\.113\.10\/32 via 3 next hops/, START_MS);
    press('2');
    await shows(/▸ node-2/);
    press('d');
    await shows(/node-2 .* ○ drained/);
    press('d');
    await shows(/node-2 .* ● in use/);
    press('3f');
    await shows(/node-3 .* frozen .* ○ none/);
    press('f');
    await shows(/node-3 .* established .* ● in use/);
    press('1k');
    await shows(/node-1 .* dead .* ○ none/);
    press('k');
    await shows(/via 3 next hops/);
    press('a');
    await shows(/node-1 .* down +no +established +○ none/);
    await shows(/via 2 next hops/);
    press('q');
    await run.says(LAST_WORDS, SOON_MS);
    expect(run.output).to.include('status 0');
    isRestored();
    run.process.stdin?.end();
    await run.leavesNothing();
  });

  it('leaves the terminal as it was on Ctrl-C', async function () {
    this.timeout(120_000);
    await shows(/Step 1 of 8/, START_MS);
    press('\u0003');
    await run.says(LAST_WORDS, SOON_MS);
    isRestored();
  });
});
