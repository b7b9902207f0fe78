/**
 * `herald`: finds the sub-command, runs it, turns what it says into an exit status. The only reader of `process`.
 *
 * Each sub-command is loaded when it is asked for, so that none pays for the start of another.
 */

import { fstatSync, readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { exitNow } from '../linux/exit-now.ts';
import { nearest } from '../model/nearest.ts';
import { type Command, UsageError, type World } from './command.ts';
import { ServiceOutput } from './service-output.ts';

/** set by the bundler */
declare const HERALD_VERSION: string | undefined;

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;
/** how a shell reports death by SIGPIPE: whoever read our output went away */
/** 128 and the number of SIGQUIT */
const EXIT_QUIT = 131;
const EXIT_BROKEN_PIPE = 141;

/** how long a service waits at its end for its log to be taken */
const LAST_LINES_MS = 200;

const COMMANDS: ReadonlyMap<string, () => Promise<Command>> = new Map([
  ['agent', async () => (await import('./agent.ts')).agentCommand],
  ['controller', async () => (await import('./controller.ts')).controllerCommand],
  ['router', async () => (await import('./router.ts')).routerCommand],
  ['status', async () => (await import('./status.ts')).statusCommand],
  ['routes', async () => (await import('./routes.ts')).routesCommand],
  ['explain', async () => (await import('./explain.ts')).explainCommand],
  ['drain', async () => (await import('./drain.ts')).drainCommand],
  ['undrain', async () => (await import('./undrain.ts')).undrainCommand],
  ['import', async () => (await import('./import.ts')).importCommand],
  ['plan', async () => (await import('./plan.ts')).planCommand],
  ['manifest', async () => (await import('./manifest.ts')).manifestCommand],
  ['demo', async () => (await import('./demo.ts')).demoCommand],
  ['announce', async () => (await import('./announce.ts')).announceCommand],
  ['decode', async () => (await import('./decode.ts')).decodeCommand],
]);

async function main(args: readonly string[], world: World): Promise<number> {
  const [first, ...rest] = args;
  if (first === undefined) {
    world.stderr.write(await overview());
    return EXIT_USAGE;
  }
  if (first === '--version' || first === '-V') {
    world.stdout.write(`herald ${version()}\n`);
    return 0;
  }
  if (first === '--help' || first === '-h') return await help(undefined, world);
  if (first === 'help') return await help(rest[0], world);
  const command = await find(first);
  if (rest.includes('--help') || rest.includes('-h')) {
    world.stdout.write(command.help);
    return 0;
  }
  if (command.isService !== true) return await command.run(rest, world);
  becomeService();
  serviceLog = serviceOutput() ?? world.stdout;
  return await command.run(rest, { ...world, stdout: serviceLog });
}

async function find(name: string): Promise<Command> {
  const load = COMMANDS.get(name);
  if (load !== undefined) return await load();
  const isFlag = name.startsWith('-');
  const words = isFlag ? ['--help', '--version'] : ['help', ...COMMANDS.keys()];
  const unknown = `unknown ${isFlag ? 'flag' : 'sub-command'} '${name}'`;
  throw new UsageError(`${unknown}; ${guess(name, words)}'herald --help' lists what there is`);
}

function guess(written: string, words: readonly string[]): string {
  const meant = nearest(written, words);
  return meant === undefined ? '' : `did you mean '${meant}'? `;
}

async function help(name: string | undefined, world: World): Promise<number> {
  world.stdout.write(name === undefined ? await overview() : (await find(name)).help);
  return 0;
}

async function overview(): Promise<string> {
  const commands = await Promise.all([...COMMANDS.values()].map((load) => load()));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`);
  return `usage: herald COMMAND [arguments]

Addresses the outside world can reach, for bare-metal machines. Speaks BGP to your routers.

Commands
${lines.join('\n')}

  herald help COMMAND, or herald COMMAND --help, says all about one.
  herald --version prints the version.

Exit status: 0 done, 1 it did not work (the reason is on stderr or in the output), 2 wrong usage.
`;
}

function version(): string {
  if (typeof HERALD_VERSION !== 'undefined') return HERALD_VERSION;
  const file = new URL('../../package.json', import.meta.url);
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const found = typeof parsed === 'object' && parsed !== null && Reflect.get(parsed, 'version');
  return typeof found === 'string' ? found : 'unknown';
}

/** The sentence for stderr where the user is at fault; undefined where we are. `flags`: those that the command has. */
function usageSentence(error: unknown, flags: readonly string[]): string | undefined {
  if (error instanceof UsageError) return error.message;
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') {
    return undefined;
  }
  if (!error.code.startsWith('ERR_PARSE_ARGS_')) return undefined;
  // node:util parseArgs has one code for several mistakes, so its text is all there is to reword; another text is passed on
  const [, flag, problem] =
    /^Option '(--[^ ']+).* argument (missing|is ambiguous)/.exec(error.message) ?? [];
  if (problem === 'missing') return `${flag} needs a value`;
  if (problem === 'is ambiguous') {
    return `${flag} needs a value; one that starts with a dash is written ${flag}=VALUE`;
  }
  const [, word] = /^Unexpected argument '(.*?)'(?:\.|$)/.exec(error.message) ?? [];
  if (word !== undefined)
    return `'${word}' is not expected: this command takes flags only; see --help`;
  // its first sentence says it, the rest is advice about positionals
  const [sentence = error.message] = error.message.split(/\.\s/);
  const [, unknown] = /^Unknown option '(-.*)'$/.exec(sentence) ?? [];
  if (unknown !== undefined) {
    const meant = guess(unknown, flags);
    return `unknown flag '${unknown}'${meant === '' ? '' : `; ${meant}see --help`}`;
  }
  return sentence.replace(/^Unknown option/, 'unknown flag').replace(/^Option/, 'flag');
}

/** Every flag is in the help of its command. */
async function flagsOf(name: string): Promise<readonly string[]> {
  const command = await COMMANDS.get(name)?.();
  return command?.help.match(/--[a-z][a-z-]*/g) ?? [];
}

function onReloadSignal(handler: () => void): void {
  process.on('SIGHUP', handler);
}

/** what is to be said although the process ends this very moment; each in one go, since nothing that waits is waited for */
const lastWords: (() => void)[] = [];

function onSuddenEnd(handler: () => void): void {
  lastWords.push(handler);
}

function sayLastWords(): void {
  for (const say of lastWords.splice(0)) {
    try {
      say();
    } catch {
      // the process ends for another reason, and that one is told
    }
  }
}

/** At once, whatever a thread waits for. */
function end(status: number): void {
  if (isService) exitNow(status);
  process.exit(status);
}

function onStopSignal(handler: (signal: string) => void): void {
  let isStopping = false;
  const receive = (signal: NodeJS.Signals) => {
    if (isStopping) {
      sayLastWords();
      end(signal === 'SIGINT' ? 130 : 143);
    }
    isStopping = true;
    handler(signal);
  };
  process.on('SIGTERM', receive);
  process.on('SIGINT', receive);
}

let isService = false;
let serviceLog: NodeJS.WritableStream = process.stdout;

/** undefined: Node's own is good enough, since it does not wait for pipes and sockets */
function serviceOutput(): NodeJS.WritableStream | undefined {
  const { fd } = process.stdout;
  const isTerminal = isatty(fd);
  return isTerminal || fstatSync(fd).isFile() ? new ServiceOutput(fd, isTerminal) : undefined;
}

/** The daemons of this trade dump their state on SIGUSR1 or SIGUSR2, and people try; Node would open its debugger, or end. */
function becomeService(): void {
  isService = true;
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2']) process.on(signal, () => undefined);
  // at once, as without us, but not without a word: routers that know graceful restart would keep the routes
  process.on('SIGQUIT', () => {
    sayLastWords();
    end(EXIT_QUIT);
  });
}

/** What it had to do is done; a reader of the log that has stopped reading, a name server that is mute, or a dead disk shall not keep it. */
function leaveService(status: number): void {
  const leave = () => end(status);
  serviceLog.write('', leave);
  setTimeout(leave, LAST_LINES_MS);
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // a disk that is full, a journal that restarts: routes matter more than what is said about them
  if (isService) return;
  if (error.code === 'EPIPE') process.exit(EXIT_BROKEN_PIPE);
  process.stderr.write(`herald: cannot write the output: ${error.message}\n`);
  process.exit(EXIT_FAILED);
});
// the terminal is gone, or `2>&1 | head` has seen enough: no reason to drop a session, and nobody left to tell
process.stderr.on('error', () => undefined);

// a mistake of ours: Node prints it and ends the process right after this
process.on('uncaughtExceptionMonitor', sayLastWords);

const { stdin, stdout, stderr, env, pid } = process;
const args = process.argv.slice(2);
try {
  process.exitCode = await main(args, {
    stdin,
    stdout,
    stderr,
    env,
    pid,
    version: version(),
    onStopSignal,
    onSuddenEnd,
    onReloadSignal,
  });
  if (isService) leaveService(process.exitCode);
} catch (error) {
  const sentence = usageSentence(error, await flagsOf(args[0] ?? ''));
  if (sentence === undefined) throw error;
  const name = COMMANDS.has(args[0] ?? '') ? `herald ${args[0]}` : 'herald';
  stderr.write(`${name}: ${sentence}\n`);
  process.exitCode = EXIT_USAGE;
}
