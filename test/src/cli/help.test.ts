import { expect } from 'chai';
import { announceCommand } from '../../../src/cli/announce.ts';
import { decodeCommand } from '../../../src/cli/decode.ts';
import { HeraldProcess } from '../../support/herald-process.ts';

describe('help texts', () => {
  for (const { name, summary, help } of [announceCommand, decodeCommand]) {
    it(`${name}: no line is wider than 100 columns, and it says how it exits`, () => {
      expect(help.split('\n').filter((line) => line.length > 100)).to.deep.equal([]);
      expect(summary.length).to.be.below(88);
      expect(help)
        .to.match(new RegExp(`^usage: herald ${name} `))
        .and.include('Exit status: 0')
        .and.include('\nExamples\n');
    });
  }
});

describe('a misspelt word', () => {
  for (const [args, sentence] of [
    [['statsu'], "herald: unknown sub-command 'statsu'; did you mean 'status'?"],
    [
      ['status', '--sokcet', 'x'],
      "herald status: unknown flag '--sokcet'; did you mean '--socket'?",
    ],
    [['agent', '--sorce', 'x'], "herald agent: unknown flag '--sorce'; did you mean '--source'?"],
    [['--verison'], "herald: unknown flag '--verison'; did you mean '--version'?"],
  ] as const) {
    it(`herald ${args.join(' ')}: says what was meant, status 2`, async () => {
      const run = new HeraldProcess(args);
      expect((await run.exit()).status).to.equal(2);
      expect(run.stderr).to.include(sentence);
    });
  }
});

describe('a word that no command expects', () => {
  for (const name of ['status', 'routes', 'router', 'demo']) {
    it(`herald ${name} extra: a sentence of ours, status 2`, async () => {
      const run = new HeraldProcess([name, 'extra']);
      expect((await run.exit()).status).to.equal(2);
      expect(run.stderr).to.equal(
        `herald ${name}: 'extra' is not expected: this command takes flags only; see --help\n`,
      );
    });
  }
});
