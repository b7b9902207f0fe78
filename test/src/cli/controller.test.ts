import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { UsageError, type World } from '../../../src/cli/command.ts';
import { controllerCommand, defaultControllerSettings } from '../../../src/cli/controller.ts';
import { HeraldProcess } from '../../support/herald-process.ts';

/** says nothing, and is never told to stop */
function world(): World {
  return {
    stdin: new PassThrough(),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    env: {},
    pid: 1,
    version: 'test',
    onStopSignal: () => undefined,
    onReloadSignal: () => undefined,
  };
}

describe('herald controller', () => {
  it('has a help text in 100 columns that says how it exits', () => {
    const { help, summary } = controllerCommand;
    expect(help.split('\n').filter((line) => line.length > 100)).to.deep.equal([]);
    expect(summary.length).to.be.below(88);
    expect(help).to.include('Exit status: 0').and.include('\nExamples\n');
    expect(help).to.include('--leader-elect[=true|false]');
  });

  it('refuses what it does not know with one sentence and status 2', async () => {
    const run = new HeraldProcess(['controller', '--bogus']);
    expect((await run.exit()).status).to.equal(2);
    expect(run.stderr).to.equal("herald controller: unknown flag '--bogus'\n");
  });

  const wrong: readonly (readonly [string, RegExp])[] = [
    ['--leader-elect=perhaps', /^--leader-elect is 'perhaps': write one of true, false$/],
    ['--metrics-address=here', /^--metrics-address is 'here': write :PORT/],
    ['--leader-elect-lease-duration=15s', /is '15s': write a number of seconds/],
    ['--leader-elect-renew-deadline=14', /is 14, which is too close to .*lease-duration \(15\)/],
    ['--leader-elect-retry-period=9', /is 9: a leader must be able to renew twice/],
    ['--api-server=ftp://here', /^--api-server is 'ftp:\/\/here': /],
    ['--kubeconfig=/nowhere/at/all', /^kubeconfig \/nowhere\/at\/all cannot be read/],
  ];
  for (const [arg, sentence] of wrong) {
    it(`${arg}: one sentence`, async () => {
      const refusal = await controllerCommand.run([arg], world()).catch((error: unknown) => error);
      expect(refusal).to.be.instanceOf(UsageError);
      expect(refusal instanceof Error && refusal.message).to.match(sentence);
    });
  }

  it('inside an agent goes by the environment, but not by the settings file, which is that of the agent', () => {
    const env = { HERALD_DEFAULT_CLASS: 'true', HERALD_CONFIG: '/etc/herald/agent.yaml' };
    expect(defaultControllerSettings({ env })).to.deep.include({
      defaultClass: 'true',
      leaderElect: 'true',
      leaseDuration: '15',
    });
  });
});
