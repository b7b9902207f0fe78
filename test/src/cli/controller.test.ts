import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { UsageError, type World } from '../../../src/cli/command.ts';
import { controllerCommand, defaultControllerSettings } from '../../../src/cli/controller.ts';
import { loopSettings } from '../../../src/config/controller-settings.ts';
import { MOVE_RATE } from '../../../src/scheduler/move-rate.ts';
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
    onSuddenEnd: () => undefined,
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
    ['--leader-elect-renew-deadline=14', /is 14, which is too close to the lease \(15\)/],
    ['--leader-elect-retry-period=9', /is 9: a leader must be able to renew twice/],
    ['--rebalance-interval=0', /is '0': write a number of seconds, 1 or more, or off/],
    ['--move-rate=0', /is '0': write a whole number from 1/],
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

  it('moves only what has to move, unless it is told to even out', () => {
    const plain = loopSettings(defaultControllerSettings({ env: {} }));
    expect(plain.moveRate).to.deep.equal(MOVE_RATE);
    expect(plain).to.include({ coolDownMs: 60_000 }).and.not.to.have.property('rebalanceEveryMs');
    const env = { HERALD_REBALANCE_INTERVAL: '30', HERALD_MOVE_RATE: '10', HERALD_COOL_DOWN: '0' };
    expect(loopSettings(defaultControllerSettings({ env }))).to.deep.include({
      coolDownMs: 0,
      rebalanceEveryMs: 30_000,
      moveRate: { perSecond: 10, burst: 20 },
    });
  });

  it('inside an agent goes by the environment, but not by the settings file, which is that of the agent', () => {
    const env = { HERALD_DEFAULT_CLASS: 'true', HERALD_CONFIG: '/etc/herald/agent.yaml' };
    expect(defaultControllerSettings({ env })).to.deep.include({
      defaultClass: 'true',
      leaderElect: 'true',
      leaderLease: '15',
    });
  });
});
