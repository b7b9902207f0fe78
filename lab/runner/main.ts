/** `make lab`, `make lab-down` and looking around in between. */

import { spawn } from 'node:child_process';
import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { startAgain } from './again.ts';
import { enterArguments, isRunning } from './container.ts';
import { namespacesOf, tearDown } from './down.ts';
import { labTopology, readTopology } from './read.ts';
import { LabRefusal } from './refusal.ts';
import { readState, type StartedContainer } from './state.ts';
import { firstAnswer, tryThis } from './try-this.ts';
import { undoAndThrow } from './undo.ts';
import { addressesIn, bringUp } from './up.ts';

const usage = `usage: lab/runner/lab up | down | status [options]
       lab/runner/lab exec NODE PROGRAM [ARGUMENT]…
       lab/runner/lab kill [--signal SIGNAL] NODE
       lab/runner/lab start NODE

Brings a containerlab topology up in network namespaces, with Debian's own routers in place of images. Needs root.
  up      brings it up and says what to try; whatever goes wrong, nothing stays behind
  down    takes it away, also what a crash has left; exit 1 and a list when something is left
  status  its nodes, what runs there and their addresses
  exec    runs a program in a node, as \`docker exec\` would
  kill    ends a node's program (default: SIGKILL); the machine and its network stay
  start   starts it again

  --topology FILE  default lab/topology.clab.yml
  --name NAME      name of the lab (default: the file's)
  --keep           up: leave the lab for a look when the client has no answer

Exit status: 0 done, 1 not done (the reason is on stderr), 2 wrong usage, 130 broken off; exec: that of the program.
`;

interface Command {
  readonly verb: string;
  readonly rest: readonly string[];
  readonly path: string;
  readonly name: string;
  readonly signal: string;
  readonly keep: boolean;
}

const say = (line: string) => void process.stderr.write(`lab: ${line}\n`);
const print = (line: string) => void process.stdout.write(`${line}\n`);

function parseCommand(args: readonly string[]): Command {
  // what follows the node's name belongs to the program
  const exec = args.indexOf('exec');
  const own = exec < 0 ? args : args.slice(0, exec + 1);
  const { values, positionals } = parseArgs({
    args: [...own],
    allowPositionals: true,
    options: {
      topology: { type: 'string' },
      name: { type: 'string' },
      signal: { type: 'string', default: 'SIGKILL' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean' },
    },
  });
  const [verb = '', ...rest] = values.help === true ? ['help'] : positionals;
  const path = relative(process.cwd(), values.topology ?? labTopology.path);
  const isOurs = values.topology === undefined;
  const name = values.name ?? nameIn(path, isOurs && ['down', 'help'].includes(verb));
  const { signal, keep } = values;
  return { verb, rest: exec < 0 ? rest : args.slice(exec + 1), path, name, signal, keep };
}

/** `isEnough`: the lab's own name will do, so that it can be taken away whatever has become of its file. */
function nameIn(path: string, isEnough: boolean): string {
  try {
    return readTopology(path, process.env).name;
  } catch (error) {
    if (!isEnough || !(error instanceof Error)) throw error;
    say(`${error.message}; so this is about the lab ${labTopology.name}`);
    return labTopology.name;
  }
}

async function up(command: Command): Promise<number> {
  const broken = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => broken.abort(new LabRefusal(`broken off by ${signal}`)));
  }
  try {
    await upUntilAnswer(command, broken.signal);
    return 0;
  } catch (error) {
    if (!broken.signal.aborted) throw error;
    say(error instanceof Error ? error.message : String(error));
    return 130;
  }
}

async function upUntilAnswer({ path, name, keep }: Command, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  const lab = await bringUp(readTopology(path, process.env), { name, say, signal });
  try {
    say('waiting for the first answer of 192.0.2.80');
    const answer = await firstAnswer(lab, signal);
    say(`up in ${((performance.now() - started) / 1000).toFixed(1)} s`);
    print(tryThis(lab, answer));
  } catch (error) {
    if (signal.aborted || !keep) await undoAndThrow(error, () => lab.down());
    throw error;
  }
}

async function down({ name }: Command): Promise<number> {
  const wasThere = readState(name) !== undefined || namespacesOf(name).length > 0;
  const left = await tearDown(name, say);
  if (left.length > 0) {
    say(`left behind:\n${left.map((each) => `  ${each}`).join('\n')}`);
    return 1;
  }
  say(wasThere ? 'nothing is left' : `there was no lab ${name}`);
  return 0;
}

async function status({ name }: Command): Promise<number> {
  const state = readState(name);
  if (state === undefined) {
    say(`there is no lab ${name}`);
    return 1;
  }
  const row = (cells: readonly string[]) =>
    cells
      .map((cell, at) => cell.padEnd(at === 2 ? 24 : 12))
      .join(' ')
      .trimEnd();
  print(row(['NODE', 'PROCESS', 'NAMESPACE', 'ADDRESSES']));
  for (const container of state.containers) {
    const { node, namespace, pid } = container;
    const addresses = (await addressesIn(namespace)).join(' ');
    print(row([node, isRunning(container) ? String(pid) : 'ended', namespace, addresses]));
  }
  return 0;
}

function containerOf(name: string, node: string | undefined): StartedContainer {
  const state = readState(name);
  if (state === undefined)
    throw new LabRefusal(`there is no lab ${name}; \`make lab\` brings it up`);
  const container = state.containers.find((each) => each.node === node);
  if (container === undefined) {
    const known = state.containers.map((each) => each.node).join(', ');
    throw new LabRefusal(`there is no node ${node ?? '(none named)'}; there are ${known}`);
  }
  if (!isRunning(container)) throw new LabRefusal(`${container.node} has ended`);
  return container;
}

function exec({ name, rest: [node, ...argv] }: Command): Promise<number> {
  if (argv.length === 0) throw new LabRefusal('exec needs a node and a program');
  const container = containerOf(name, node);
  const [program = '', ...args] = [...enterArguments(container.namespace, container), ...argv];
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: 'inherit',
      env: { TERM: process.env['TERM'], ...container.environment },
    });
    child.on('error', reject);
    child.on('exit', (code) => resolve(code ?? 1));
  });
}

function kill({ name, rest: [node], signal }: Command): number {
  process.kill(containerOf(name, node).pid, signal);
  return 0;
}

async function start({ name, rest: [node = ''] }: Command): Promise<number> {
  const { pid } = await startAgain(name, node);
  say(`${node} runs again, as process ${pid}`);
  return 0;
}

async function main(args: readonly string[]): Promise<number> {
  const command = parseCommand(args);
  switch (command.verb) {
    case 'up':
      return up(command);
    case 'down':
      return down(command);
    case 'status':
      return status(command);
    case 'exec':
      return exec(command);
    case 'kill':
      return kill(command);
    case 'start':
      return start(command);
    case 'help':
      print(usage.trimEnd());
      return 0;
    default:
      process.stderr.write(usage);
      return 2;
  }
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Error)) throw error;
  const isUsage = 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS');
  // what the runner says on purpose, or a program that could not do its part: one sentence either way
  say(error.message);
  process.exitCode = isUsage ? 2 : 1;
}
