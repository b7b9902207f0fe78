/**
 * What `herald status`, `routes` and `explain` share: the flags, one look or a watch, text or JSON. On a terminal a watch redraws
 * the screen; elsewhere each change is printed after the one before. A watch outlives a restart of the agent.
 */

import { setTimeout as delay } from 'node:timers/promises';
import type { AgentStatus } from '../agent/status.ts';
import { ControlClient } from '../control/client.ts';
import type { Style } from '../control/style.ts';
import { UsageError, type World } from './command.ts';
import { writeJson } from './output.ts';

export const LOOK_FLAGS = {
  socket: { type: 'string' },
  output: { type: 'string', short: 'o' },
  watch: { type: 'boolean', short: 'w' },
} as const;

export const SOCKET_HELP = `  --socket PATH           the agent's control socket (default: HERALD_SOCKET, else
                          /run/herald/agent.sock)`;

export const LOOK_HELP = `${SOCKET_HELP}
  -o, --output FORMAT     table (default) or json; json with --watch is one document per line
  -w, --watch             stay, and show each change of the agent until Ctrl-C
  --help                  this text`;

const DEFAULT_SOCKET = '/run/herald/agent.sock';
const DEFAULT_WIDTH = 80;
const RETRY_MS = 1000;
const REDRAW_MS = 1000;

export interface LookValues {
  readonly socket?: string;
  readonly output?: string;
  readonly watch?: boolean;
  /** why no cluster could be asked in place of an agent */
  readonly noCluster?: string;
}

/** How one kind of look shows a status. */
export interface LookView {
  text(status: AgentStatus, style: Style): string;
  json(status: AgentStatus): unknown;
  /** 0 unless said otherwise */
  exitCode?(status: AgentStatus): number;
}

export function socketPath({ socket }: { socket?: string }, world: World): string {
  const path = socket ?? (world.env['HERALD_SOCKET'] || DEFAULT_SOCKET);
  if (path === '') throw new UsageError('--socket needs a path');
  return path;
}

export function isJson({ output }: { output?: string }): boolean {
  if (output === undefined || output === 'table') return false;
  if (output === 'json') return true;
  throw new UsageError(`--output '${output}' is not known; it is table or json`);
}

export async function look(
  name: string,
  view: LookView,
  values: LookValues,
  world: World,
): Promise<number> {
  const client = new ControlClient(socketPath(values, world));
  const asJson = isJson(values);
  if (values.watch) return await new Watch(name, client, view, { asJson, world }).run();
  const answer = await client.status();
  if (!answer.ok) {
    const beside = values.noCluster === undefined ? '' : `; nor a cluster: ${values.noCluster}`;
    world.stderr.write(`herald ${name}: ${answer.sentence}${beside}\n`);
    return 1;
  }
  const status = answer.value;
  if (asJson) await writeJson(world.stdout, view.json(status));
  else world.stdout.write(view.text(status, styleOf(world)));
  return view.exitCode?.(status) ?? 0;
}

/** Whether an agent is behind the socket. */
export async function isAnswering(values: { socket?: string }, world: World): Promise<boolean> {
  return await new ControlClient(socketPath(values, world)).isAgent();
}

interface Screen {
  readonly columns: number;
  readonly rows: number;
}

/** undefined when it is no terminal */
function screenOf(stream: NodeJS.WritableStream): Screen | undefined {
  if (!('isTTY' in stream) || stream.isTTY !== true) return undefined;
  const columns = 'columns' in stream && typeof stream.columns === 'number' ? stream.columns : 0;
  const rows = 'rows' in stream && typeof stream.rows === 'number' ? stream.rows : 0;
  return { columns: columns || DEFAULT_WIDTH, rows: rows || 24 };
}

/** colour and a width on terminals only: what goes into a pipe is searched and pasted; and no colour where the user does not want any (no-color.org) */
export function styleOf(world: World): Style {
  const screen = screenOf(world.stdout);
  return {
    color: screen !== undefined && !world.env['NO_COLOR'],
    width: screen?.columns ?? Number.POSITIVE_INFINITY,
    nowMs: Date.now(),
  };
}

class Watch {
  readonly #name: string;
  readonly #client: ControlClient;
  readonly #view: LookView;
  readonly #asJson: boolean;
  readonly #world: World;
  #last: AgentStatus | undefined;
  #problem: string | undefined;
  #isBlocked = false;
  #isBehind = false;

  constructor(
    name: string,
    client: ControlClient,
    view: LookView,
    { asJson, world }: { asJson: boolean; world: World },
  ) {
    this.#name = name;
    this.#client = client;
    this.#view = view;
    this.#asJson = asJson;
    this.#world = world;
  }

  async run(): Promise<number> {
    const abort = new AbortController();
    this.#world.onStopSignal(() => abort.abort());
    // "since" goes on when nothing else does
    const redraw = this.#isOnScreen() ? setInterval(() => this.#show(), REDRAW_MS) : undefined;
    try {
      return await this.#follow(abort.signal);
    } finally {
      clearInterval(redraw);
    }
  }

  async #follow(signal: AbortSignal): Promise<number> {
    for (;;) {
      const problem = await this.#client.watch((status) => this.#take(status), signal);
      if (problem === undefined) return 0;
      if (this.#last === undefined || this.#problem !== problem) this.#complain(problem);
      if (this.#last === undefined) return 1;
      await delay(RETRY_MS, undefined, { signal }).catch(() => {});
      if (signal.aborted) return 0;
    }
  }

  #isOnScreen(): boolean {
    return !this.#asJson && screenOf(this.#world.stdout) !== undefined;
  }

  #take(status: AgentStatus): void {
    this.#last = status;
    this.#problem = undefined;
    this.#show();
  }

  #complain(problem: string): void {
    this.#problem = problem;
    if (this.#last !== undefined && this.#isOnScreen()) this.#show();
    else this.#world.stderr.write(`herald ${this.#name}: ${problem}\n`);
  }

  /** a reader that is slower than the changes misses some, never the last */
  #show(): void {
    const { stdout } = this.#world;
    if (this.#last === undefined) return;
    if (this.#isBlocked) {
      this.#isBehind = true;
      return;
    }
    if (stdout.write(this.#frame(this.#last))) return;
    this.#isBlocked = true;
    stdout.once('drain', () => {
      this.#isBlocked = false;
      if (!this.#isBehind) return;
      this.#isBehind = false;
      this.#show();
    });
  }

  #frame(status: AgentStatus): string {
    if (this.#asJson) return `${JSON.stringify(this.#view.json(status))}\n`;
    const style = styleOf(this.#world);
    const text = this.#view.text(status, style);
    const screen = screenOf(this.#world.stdout);
    if (screen === undefined) return `--- ${new Date(style.nowMs).toISOString()}\n${text}`;
    const notice = this.#problem === undefined ? [] : [`${this.#problem}; trying again`, ''];
    return drawScreen([...notice, ...text.trimEnd().split('\n')], screen);
  }
}

/** home, each line cleared to its end, the rest of the screen cleared: no flicker */
function drawScreen(lines: readonly string[], { rows }: Screen): string {
  const room = rows - 1;
  const shown =
    lines.length <= room
      ? lines
      : [...lines.slice(0, room - 1), `… ${lines.length - room + 1} more lines`];
  return `\u001b[H${shown.map((line) => `${line}\u001b[K\n`).join('')}\u001b[J`;
}
