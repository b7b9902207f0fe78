/**
 * What `herald drain` and `undrain` share: the order to the agent, and staying until it has come true. An order is accepted at
 * once; routes follow in their own time (the wait of the pool, the sessions).
 */

import { parseArgs } from 'node:util';
import { formatAddress } from 'bgp-ts';
import type { AgentStatus, ClaimPeerStatus } from '../agent/status.ts';
import { ControlClient } from '../control/client.ts';
import { UsageError, type World } from './command.ts';
import { readAddress } from './explain.ts';
import { isJson, SOCKET_HELP, socketPath } from './look.ts';

export const ORDER_HELP = `  --reason TEXT           why, for status and logs; at most 200 characters
  --wait                  return when it has come true at the routers' sessions, not when it is
                          accepted
  -w, --watch             the same, and say how far it is
  --timeout S             how long --wait and --watch stay at most (default 60)
${SOCKET_HELP}
  -o, --output FORMAT     table (default) or json
  --help                  this text

Exit status: 0 done, 1 refused, not done in time, or no agent answered, 2 wrong usage.`;

const FLAGS = {
  socket: { type: 'string' },
  output: { type: 'string', short: 'o' },
  watch: { type: 'boolean', short: 'w' },
  wait: { type: 'boolean' },
  timeout: { type: 'string' },
  reason: { type: 'string' },
} as const;

export interface OrderKind {
  readonly verb: 'drain' | 'undrain';
  /** this route is not yet as it was ordered */
  isLeft(peer: ClaimPeerStatus): boolean;
  /** `3 of 4 routes` comes before, like "are still out" */
  readonly leftText: string;
  readonly doneText: string;
}

export async function runOrder(
  kind: OrderKind,
  args: readonly string[],
  world: World,
): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: FLAGS,
    allowPositionals: true,
  });
  if (positionals.length > 1) throw new UsageError('name one ADDRESS, or none for the node');
  const [text] = positionals;
  const address = text === undefined ? undefined : formatAddress(readAddress(text));
  const timeoutMs = readTimeout(values.timeout);
  const output = new OrderOutput(kind.verb, isJson(values), world);
  const client = new ControlClient(socketPath(values, world));
  const { reason } = values;
  const answer = await client[kind.verb]({
    ...(address === undefined ? {} : { address }),
    ...(reason === undefined ? {} : { reason }),
  });
  if (!answer.ok) return output.failed(answer.sentence);
  if (!answer.value.ok) return output.failed(answer.value.sentence);
  output.accepted(answer.value.sentence);
  if (!values.wait && !values.watch) return 0;
  const stay = new Stay(kind, address, (sentence, facts) => {
    if (values.watch) output.progress(sentence, facts);
  });
  world.onStopSignal(() => stay.abort.abort());
  return await stay.run(client, timeoutMs, output);
}

function readTimeout(text: string | undefined): number {
  const seconds = Number(text ?? '60');
  if (text?.trim() === '' || !(seconds > 0 && seconds <= 86_400)) {
    throw new UsageError(
      `--timeout '${text}' is not a number of seconds, more than 0 and up to 86400`,
    );
  }
  return seconds * 1000;
}

class OrderOutput {
  readonly #verb: string;
  readonly #asJson: boolean;
  readonly #world: World;

  constructor(verb: string, asJson: boolean, world: World) {
    this.#verb = verb;
    this.#asJson = asJson;
    this.#world = world;
  }

  accepted(sentence: string): void {
    this.progress(sentence, { ok: true, sentence });
  }

  progress(sentence: string, facts: object): void {
    this.#world.stdout.write(this.#asJson ? `${JSON.stringify(facts)}\n` : `${sentence}\n`);
  }

  failed(sentence: string): number {
    if (this.#asJson) this.#world.stdout.write(`${JSON.stringify({ ok: false, sentence })}\n`);
    this.#world.stderr.write(`herald ${this.#verb}: ${sentence}\n`);
    return 1;
  }
}

interface Progress {
  readonly routes: number;
  readonly left: number;
}

class Stay {
  readonly abort = new AbortController();
  readonly #kind: OrderKind;
  readonly #address: string | undefined;
  readonly #tell: (sentence: string, progress: Progress) => void;
  #seen: Progress | undefined;
  #isDone = false;

  constructor(
    kind: OrderKind,
    address: string | undefined,
    tell: (sentence: string, progress: Progress) => void,
  ) {
    this.#kind = kind;
    this.#address = address;
    this.#tell = tell;
  }

  async run(client: ControlClient, timeoutMs: number, output: OrderOutput): Promise<number> {
    const late = AbortSignal.timeout(timeoutMs);
    const signal = AbortSignal.any([this.abort.signal, late]);
    const problem = await client.watch((status) => this.#take(status), signal);
    if (this.#isDone) return 0;
    if (problem !== undefined) return output.failed(problem);
    if (!late.aborted) return output.failed('not waited for to the end; the order stands');
    const state = this.#seen === undefined ? 'the agent said nothing' : this.#sentence(this.#seen);
    return output.failed(`not done within ${timeoutMs / 1000} s: ${state}; the order stands`);
  }

  #take({ claims }: AgentStatus): void {
    const chosen = claims.filter(
      ({ address }) => this.#address === undefined || address === this.#address,
    );
    const routes = chosen.flatMap(({ peers }) => peers);
    const progress = {
      routes: routes.length,
      left: routes.filter((peer) => this.#kind.isLeft(peer)).length,
    };
    const isNews = progress.left !== this.#seen?.left || progress.routes !== this.#seen.routes;
    this.#seen = progress;
    if (isNews) this.#tell(this.#sentence(progress), progress);
    if (progress.left > 0) return;
    this.#isDone = true;
    this.abort.abort();
  }

  #sentence({ routes, left }: Progress): string {
    const { leftText, doneText } = this.#kind;
    return left === 0 ? doneText : `${left} of ${routes} routes ${leftText}`;
  }
}
