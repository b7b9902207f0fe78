/** `herald demo`: the stage, the terminal or plain lines, the page, and the exit status. */

import process from 'node:process';
import { ReadStream, WriteStream } from 'node:tty';
import { Demo, type DemoOptions } from '../demo/demo.ts';
import { plainLine } from '../demo/plain-lines.ts';
import { STORY } from '../demo/script.ts';
import { StageError } from '../demo/stage.ts';
import { Terminal } from '../demo/terminal.ts';
import { DemoServer } from '../web/server.ts';
import type { World } from './command.ts';

export interface DemoRun {
  /** where the page is served */
  readonly web: { readonly host: string; readonly port: number } | undefined;
  readonly demo: DemoOptions;
}

const EXIT_FAILED = 1;

/** Resolves to the exit status. */
export async function runDemo(run: DemoRun, world: World): Promise<number> {
  try {
    return await play(run, world);
  } catch (error) {
    if (!(error instanceof StageError)) throw error;
    world.stderr.write(`herald demo: ${error.message}\n`);
    return EXIT_FAILED;
  }
}

async function play({ web, demo: options }: DemoRun, world: World): Promise<number> {
  const { stdin, stdout } = world;
  const stopped = new Promise<void>((resolve) => world.onStopSignal(() => resolve()));
  const demo = new Demo(options);
  const server = web === undefined ? undefined : new DemoServer(demo);
  let wasStopped = false;
  try {
    const url = web === undefined ? undefined : await startServer(server, web);
    await demo.start();
    const shown =
      stdin instanceof ReadStream && stdout instanceof WriteStream
        ? showLive(demo, { stdin, stdout, url })
        : showLines(demo, world, url);
    await Promise.race([
      shown,
      stopped.then(() => {
        wasStopped = true;
      }),
    ]);
  } finally {
    await server?.stop();
    await demo.stop();
  }
  const isCut = wasStopped && !demo.isOver;
  return demo.hasFailed || isCut ? EXIT_FAILED : 0;
}

async function startServer(
  server: DemoServer | undefined,
  at: { readonly host: string; readonly port: number },
): Promise<string | undefined> {
  try {
    return await server?.start(at);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    const hint = code === 'EADDRINUSE' ? ' (another program has that port)' : '';
    const sentence = `the page cannot be served on ${at.host}:${at.port}: ${code}${hint}`;
    throw new StageError(`${sentence}; choose another --http, or --no-web`, { cause: error });
  }
}

/** Resolves when the user quits. */
async function showLive(
  demo: Demo,
  parts: {
    readonly stdin: ReadStream;
    readonly stdout: WriteStream;
    readonly url: string | undefined;
  },
): Promise<void> {
  const terminal = new Terminal({ ...parts, demo });
  // a second Ctrl-C, or a fault of ours, must not leave a terminal that shows nothing of what is typed
  process.once('exit', () => terminal.restore());
  try {
    await terminal.run();
  } finally {
    terminal.restore();
  }
  for (const { title, state, sentence } of demo.scene().steps) {
    if (state === 'failed') parts.stdout.write(`not seen at the router: ${title}: ${sentence}\n`);
  }
}

/** Resolves when the story is over. */
function showLines(demo: Demo, { stdout }: World, url: string | undefined): Promise<void> {
  if (url !== undefined) stdout.write(`the page is at ${url}\n`);
  return new Promise((resolve) => {
    demo.onStory((timed) => {
      const line = plainLine(timed, STORY);
      if (line !== undefined) stdout.write(`${line}\n`);
      if (timed.event.kind !== 'over') return;
      const { sent, lost, unroutable } = demo.scene().requests;
      const counts = `${sent} requests, ${lost} lost, ${unroutable} while there was no route`;
      stdout.write(`${counts}\n`);
      resolve();
    });
  });
}
