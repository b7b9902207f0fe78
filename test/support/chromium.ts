/**
 * A headless Chromium for tests of pages, driven by the DevTools protocol over Node's own WebSocket. As much of it as is needed: open a
 * page, run an expression in it, click, take a picture, and hear everything that the page complained about.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { done, notYet, until } from './poll.ts';

type Json = Readonly<Record<string, unknown>>;
type Answer = {
  readonly id?: number;
  readonly method?: string;
  readonly result?: Json;
  readonly error?: { readonly message: string };
  readonly params?: Json;
};

export type PageOptions = {
  readonly width?: number;
  readonly height?: number;
  readonly isDark?: boolean;
  readonly isMotionReduced?: boolean;
  readonly isMobile?: boolean;
};

export function hasChromium(): boolean {
  return spawnSync('chromium', ['--version'], { stdio: 'ignore' }).status === 0;
}

export class Chromium {
  readonly #process: ChildProcess;
  readonly #profile = mkdtempSync(join(tmpdir(), 'herald-chromium-'));
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  readonly #problems: string[] = [];
  readonly #requests: string[] = [];
  #socket: WebSocket | undefined;
  #session = '';
  #lastId = 0;
  #said = '';

  constructor() {
    const flags = [
      '--headless=new',
      '--remote-debugging-port=0',
      `--user-data-dir=${this.#profile}`,
    ];
    const quiet = [
      '--no-first-run',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-dev-shm-usage',
    ];
    // its sandbox refuses to run as root; what it opens here is our own page
    const sandbox = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    this.#process = spawn('chromium', [...flags, ...quiet, ...sandbox, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true,
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-20_000);
    });
  }

  /** console errors, exceptions, policy violations and failed requests of the page */
  get problems(): readonly string[] {
    return this.#problems;
  }

  /** addresses that the page asked for */
  get requests(): readonly string[] {
    return this.#requests;
  }

  /** Resolves when it is started, which takes seconds: a page that is opened then is seen from its beginning. */
  async start(): Promise<void> {
    if (this.#socket === undefined) await this.#connect();
  }

  async open(url: string, options: PageOptions = {}): Promise<void> {
    await this.start();
    const { targetId } = await this.#send('Target.createTarget', { url: 'about:blank' });
    const attached = await this.#send('Target.attachToTarget', { targetId, flatten: true });
    this.#session = String(attached['sessionId']);
    for (const domain of ['Page', 'Runtime', 'Log', 'Network'])
      await this.#send(`${domain}.enable`);
    await this.look(options);
    await this.#send('Page.navigate', { url });
    await this.until("document.readyState === 'complete'");
  }

  /** another size or palette for the page that is open */
  async look({ width = 1280, height = 720, ...options }: PageOptions): Promise<void> {
    const mobile = options.isMobile === true;
    await this.#send('Emulation.setDeviceMetricsOverride', {
      width,
      height,
      deviceScaleFactor: mobile ? 2 : 1,
      mobile,
    });
    await this.#send('Emulation.setEmulatedMedia', {
      features: [
        { name: 'prefers-color-scheme', value: options.isDark === true ? 'dark' : 'light' },
        { name: 'prefers-reduced-motion', value: options.isMotionReduced === true ? 'reduce' : '' },
      ],
    });
  }

  /** the value of an expression in the page */
  async evaluate(expression: string): Promise<unknown> {
    const answer = await this.#send('Runtime.evaluate', {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (answer['exceptionDetails'] !== undefined) {
      throw new Error(`in the page: ${expression}: ${JSON.stringify(answer['exceptionDetails'])}`);
    }
    const { result } = answer;
    return typeof result === 'object' && result !== null && 'value' in result
      ? result.value
      : undefined;
  }

  /** `expression` becomes true; otherwise the failure shows what `seen` was */
  async until(expression: string, timeoutMs = 30_000, seen = expression): Promise<void> {
    await until(
      `${expression} in the page`,
      async () => {
        if ((await this.evaluate(expression)) === true) return done(true);
        return notYet(await this.evaluate(seen));
      },
      { timeoutMs },
    );
  }

  /** a real click at the middle of the element */
  async click(selector: string): Promise<void> {
    const at = await this.evaluate(
      `(() => { const e = document.querySelector(${JSON.stringify(selector)}); e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()`,
    );
    const [x, y] = Array.isArray(at) ? at : [];
    for (const type of ['mousePressed', 'mouseReleased']) {
      await this.#send('Input.dispatchMouseEvent', { type, x, y, button: 'left', clickCount: 1 });
    }
  }

  async screenshot(file: string): Promise<void> {
    const { data } = await this.#send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(file, Buffer.from(String(data), 'base64'));
  }

  async close(): Promise<void> {
    this.#socket?.close();
    const { pid } = this.#process;
    const gone = new Promise((resolve) => this.#process.once('exit', resolve));
    const { exitCode, signalCode } = this.#process;
    if (pid !== undefined && exitCode === null && signalCode === null) {
      process.kill(-pid, 'SIGKILL');
      await gone;
    }
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }

  async #connect(): Promise<void> {
    const url = await until(
      'Chromium listens',
      () => {
        const found = /DevTools listening on (ws:\S+)/.exec(this.#said)?.[1];
        return found === undefined ? notYet(this.#said) : done(found);
      },
      { timeoutMs: 60_000 },
    );
    const socket = new WebSocket(url);
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', () => reject(new Error(`no DevTools at ${url}`)));
    });
    socket.addEventListener('message', ({ data }) => {
      const answer: Answer = JSON.parse(String(data));
      this.#take(answer);
    });
    this.#socket = socket;
  }

  #send(method: string, params: Json = {}): Promise<Json> {
    this.#lastId += 1;
    const id = this.#lastId;
    const session =
      this.#session !== '' && !method.startsWith('Target.') ? { sessionId: this.#session } : {};
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) => {
        if (error === undefined) resolve(result ?? {});
        else reject(new Error(`${method}: ${error.message}`));
      });
      this.#socket?.send(JSON.stringify({ id, method, params, ...session }));
    });
  }

  #take({ method, params = {}, ...answer }: Answer): void {
    if (answer.id !== undefined) {
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    }
    const text = JSON.stringify(params);
    if (method === 'Runtime.exceptionThrown') this.#problems.push(text);
    if (
      method === 'Runtime.consoleAPICalled' &&
      /^(error|warning|assert)$/.test(String(params['type']))
    )
      this.#problems.push(text);
    if (method === 'Log.entryAdded' && text.includes('"level":"error"')) this.#problems.push(text);
    if (method === 'Network.requestWillBeSent') {
      const { request } = params;
      if (typeof request === 'object' && request !== null && 'url' in request)
        this.#requests.push(String(request.url));
    }
  }
}
