import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { agentCommand } from '../../../src/cli/agent.ts';
import { UsageError, type World } from '../../../src/cli/command.ts';

const world = (env: Readonly<Record<string, string>> = {}): World => ({
  version: 'test',
  pid: 1,
  env,
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  onStopSignal: () => undefined,
  onReloadSignal: () => undefined,
  onSuddenEnd: () => undefined,
});

describe('settings of herald agent that do not go together', () => {
  const refusalOf = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const refusal = await agentCommand.run(args, world(env)).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(UsageError);
    return refusal instanceof Error ? refusal.message : '';
  };

  it('says that a class of Services is the affair of a controller', async () => {
    const sentence = /^--default-class is for the controller: .* give --with-controller too$/;
    expect(await refusalOf(['--source=kube', '--default-class'])).to.match(sentence);
    const env = { HERALD_DEFAULT_CLASS: 'true' };
    expect(await refusalOf(['--source=kube'], env)).to.match(sentence);
  });

  it('refuses at the start what the environment says to the controller inside', async () => {
    const args = ['--source=kube', '--with-controller'];
    expect(await refusalOf(args, { HERALD_COOL_DOWN: 'soon' })).to.match(
      /^HERALD_COOL_DOWN is 'soon': write a number of seconds/,
    );
  });
});
