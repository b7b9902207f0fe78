/**
 * How the first process of a machine is started, and how it is known again. Pure: command lines.
 *
 * It becomes another program three times on its way, each time with the words that are left:
 *
 *   nsenter --net=… unshare … sh -c SCRIPT PROGRAM FOLDER
 *                   unshare … sh -c SCRIPT PROGRAM FOLDER     stays, as the parent of what follows
 *                             sh -c SCRIPT PROGRAM FOLDER
 *                                          PROGRAM pause FOLDER
 *
 * Whoever takes a cluster away kills what looks like this, and nothing else: a person may well read a log in a machine's folder.
 */

const UNSHARE = ['unshare', '--mount', '--propagation', 'private', '--pid', '--uts', '--fork'];
const ENTER_NETWORK = /^--net=\/run\/netns\/[^/]+$/;
/** The program of pod-program.ts, whichever checkout has built it. */
const PROGRAM = /(?:^|\/)pod-[0-9a-f]{16}$/;

/** The last line of a machine's script: $0 is the program that stays, $1 the machine's folder, by which it is known. */
export const LAST_LINE = 'exec "$0" pause "$1"';

export interface FirstProcess {
  readonly netns: string;
  readonly script: string;
  readonly program: string;
  readonly folder: string;
}

export function startFirstProcess({ netns, script, program, folder }: FirstProcess): string[] {
  const words = ['sh', '-c', script, program, folder];
  return ['nsenter', `--net=/run/netns/${netns}`, ...UNSHARE, ...words];
}

/** The folder of the machine that this is the first process of, or is about to be; undefined for every other program. */
export function folderOfFirstProcess(argv: readonly string[]): string | undefined {
  const [program = '', word, folder] = argv;
  if (argv.length === 3 && PROGRAM.test(program) && word === 'pause') return folder;
  return folderInScript(withoutUnshare(withoutNsenter(argv)));
}

function withoutNsenter(argv: readonly string[]): readonly string[] {
  const [program, network = ''] = argv;
  return program === 'nsenter' && ENTER_NETWORK.test(network) ? argv.slice(2) : argv;
}

function withoutUnshare(argv: readonly string[]): readonly string[] {
  return UNSHARE.every((word, index) => argv[index] === word) ? argv.slice(UNSHARE.length) : argv;
}

function folderInScript(argv: readonly string[]): string | undefined {
  const [shell, option, script = '', program = '', folder] = argv;
  const isOurs = argv.length === 5 && shell === 'sh' && option === '-c' && PROGRAM.test(program);
  return isOurs && script.endsWith(`\n${LAST_LINE}`) ? folder : undefined;
}

/** The words before a program that runs on the machine with this first process. */
export function enterMachine(pid: number): readonly string[] {
  return ['nsenter', '-t', String(pid), '--mount', '--pid', '--net', '--uts', '--'];
}

/** Whether it waits, outside of that machine, for a program that it has started on it. */
export function isStarterOn(pid: number, argv: readonly string[]): boolean {
  return enterMachine(pid).every((word, index) => argv[index] === word);
}
