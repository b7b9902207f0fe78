import { expect } from 'chai';
import { SETTINGS, type SettingName } from '../../../src/config/agent-settings.ts';
import { joinCheckOf } from '../../../src/config/join-check.ts';
import { readSettings, SettingError } from '../../../src/config/read-settings.ts';
import { environmentName } from '../../../src/config/setting-row.ts';

/** three values of every setting that its row accepts: for the file, the environment and the flag */
const VALUES = {
  source: ['files:/f', 'kube', 'kube,files:/a,b'],
  kubeconfig: ['/f', '/e', '/a'],
  context: ['f', 'e', 'a'],
  apiServer: ['https://f', 'https://e:6443', 'https://a,https://b'],
  kubeProxyCheck: ['none', 'http://127.0.0.1:1/healthz', 'http://[::1]:2/healthz'],
  kubeProxyMetrics: ['none', 'http://127.0.0.1:1/metrics', 'http://[::1]:2/metrics'],
  withController: ['true', 'false', 'true'],
  singleAnnouncer: ['true', 'false', 'true'],
  defaultClass: ['true', 'false', 'true'],
  nodeName: ['f', 'e', 'a'],
  nodeLabels: ['k=f', 'k=e', 'k=a'],
  asn: ['64513', '64514', '64515'],
  routerId: ['192.0.2.1', '192.0.2.2', '192.0.2.3'],
  listenAddress: ['192.0.2.1', '2001:db8::1', '192.0.2.3'],
  listenPort: ['1001', '1002', '1003'],
  stateDir: ['/f', '/e', '/a'],
  socket: ['/f', '/e', '/a'],
  metricsAddress: [':9180', '127.0.0.1:9180', '192.0.2.1'],
  podName: ['f', 'e', 'a'],
  logLevel: ['debug', 'warn', 'error'],
  joinCheck: ['none', 'tcp://127.0.0.1:1', 'file:/ok'],
  joinCa: ['/f', '/e', '/a'],
  joinPin: ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)],
  joinSuccesses: ['4', '5', '6'],
  joinFailures: ['4', '5', '6'],
  joinInterval: ['4', '5.5', '6'],
  joinTimeout: ['4', '5.5', '6'],
  joinSettle: ['4', '5.5', '6'],
  leaseDuration: ['2', '9', '15'],
  maxStale: ['4', '5.5', '6'],
  stopGrace: ['4', '5.5', '6'],
} as const satisfies Readonly<Record<SettingName, readonly [string, string, string]>>;

const NAMES = Object.keys(SETTINGS) as readonly SettingName[];

interface Sources {
  readonly file?: string;
  readonly env?: string;
  readonly flag?: string;
}

function read(name: SettingName, { file, env, flag }: Sources): string {
  const row = SETTINGS[name];
  return readSettings({
    args: [
      ...(file === undefined ? [] : ['--config', '/etc/herald.yaml']),
      ...(flag === undefined ? [] : [`--${row.flag}=${flag}`]),
    ],
    env: env === undefined ? {} : { [environmentName(row)]: env },
    readFile: () => `${name}: ${JSON.stringify(file)}\n`,
  })[name];
}

function problem(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof Error) return error.message;
  }
  throw new Error('nothing was refused');
}

describe('settings', () => {
  for (const name of NAMES) {
    it(`${name}: flag before ${environmentName(SETTINGS[name])} before file before default`, () => {
      const [file, env, flag] = VALUES[name];
      expect(read(name, {})).to.equal(SETTINGS[name].default);
      expect(read(name, { file })).to.equal(file);
      expect(read(name, { file, env })).to.equal(env);
      expect(read(name, { file, env, flag })).to.equal(flag);
      expect(read(name, { file, flag })).to.equal(flag);
      expect(read(name, { env, flag })).to.equal(flag);
    });
  }

  it('reads numbers as people write them: 010 is ten, from every source', () => {
    const settings = (texts: Sources) => Number(read('joinSuccesses', texts));
    expect(settings({ flag: '010' })).to.equal(10);
    expect(settings({ env: '010' })).to.equal(10);
    expect(settings({ file: '010' })).to.equal(10);
  });

  it('reads 010 as ten where the file has it without quotes', () => {
    const settings = readSettings({
      args: ['--config', 'x'],
      env: {},
      readFile: () => 'joinSuccesses: 010\njoinInterval: 5.0\n',
    });
    expect(Number(settings.joinSuccesses)).to.equal(10);
    expect(Number(settings.joinInterval)).to.equal(5);
  });

  it('refuses a number with something behind it, by the name under which it was written', () => {
    const words = "is '5x': write a whole number from 1 to 1000";
    expect(problem(() => read('joinFailures', { flag: '5x' }))).to.equal(
      `--join-failures ${words}`,
    );
    expect(problem(() => read('joinFailures', { env: '5x' }))).to.equal(
      `HERALD_JOIN_FAILURES ${words}`,
    );
    expect(problem(() => read('joinFailures', { file: '5x' }))).to.equal(
      `joinFailures in the settings file ${words}`,
    );
    for (const flag of ['', ' 5', '1e2', '0x10', '0', '1001', '5.5']) {
      expect(() => read('joinFailures', { flag }), flag).to.throw(SettingError);
    }
  });

  it('leaves a text that looks like a number as it is', () => {
    for (const text of ['007', '1e3', '0x10', '1.50']) {
      for (const source of ['flag', 'env', 'file']) {
        expect(read('nodeName', { [source]: text }), source).to.equal(text);
      }
    }
  });

  it('says which settings there are when the file has another', () => {
    const sentence = problem(() =>
      readSettings({ args: ['--config', '/c'], env: {}, readFile: () => 'logLevl: debug' }),
    );
    expect(sentence).to.include("the settings file /c has 'logLevl', which is no setting");
    expect(sentence).to.include('logLevel');
  });

  it('names an unknown flag', () => {
    const run = () => readSettings({ args: ['--log-levl', 'x'], env: {}, readFile: () => '' });
    expect(problem(run)).to.include('--log-levl');
  });

  it('says what is wrong with a settings file that is a list, nested, or not there', () => {
    const from = (text: string) => () =>
      readSettings({ args: [], env: { HERALD_CONFIG: '/c' }, readFile: () => text });
    expect(problem(from('- a'))).to.include('must hold settings by name');
    expect(problem(from('asn: {a: 1}'))).to.include('asn must be one value');
    expect(from('')().logLevel).to.equal('info');
    expect(from('# logLevel: debug\n')().logLevel).to.equal('info');
    const missing = () =>
      readSettings({
        args: ['--config', '/c'],
        env: {},
        readFile: () => {
          throw Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
        },
      });
    expect(problem(missing)).to.include(
      'the settings file /c cannot be read: there is no such file',
    );
  });
});

describe('the join check of the settings', () => {
  const settings = (...args: readonly string[]) =>
    readSettings({ args, env: {}, readFile: () => '' });

  it('takes counts and times', () => {
    const check = joinCheckOf(
      settings(
        '--join-check',
        'tcp://127.0.0.1:6443',
        '--join-interval',
        '0.5',
        '--join-settle',
        '2',
      ),
    );
    expect(check).to.deep.equal({
      target: { kind: 'tcp', host: '127.0.0.1', port: 6443 },
      intervalMs: 500,
      timeoutMs: 1000,
      successes: 2,
      failures: 3,
      settleMs: 2000,
      isNodeWide: true,
    });
  });

  it('is none where nothing or `none` is asked for, and refuses a CA without a check', () => {
    expect(joinCheckOf(settings())).to.equal(undefined);
    expect(joinCheckOf(settings('--join-check', 'none'))).to.equal('none');
    expect(() => joinCheckOf(settings('--join-ca', '/ca'))).to.throw(SettingError, '--join-check');
  });
});
