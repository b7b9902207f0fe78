/** The agent as users run it, dist/herald, on loopback and with documents of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentText } from '../../support/document.ts';
import { AGENT_ASN, agentAddress, BIRD_ASN, BIRD_PORT, birdAddress } from './loopback-bird.ts';

export const PROGRAM =
  process.env['HERALD_PROGRAM'] ?? join(import.meta.dirname, '../../../dist/herald');
export const METRICS_PORT = 19_179;
const TURN_PROBE = join(import.meta.dirname, 'turn-probe.ts');

export interface AgentProcessOptions {
  readonly program?: string;
  /** its sessions; one unless told */
  readonly peers?: readonly string[];
  readonly pool?: string;
  /** turns of its main thread are written down */
  readonly isProbed?: boolean;
}

export class AgentProcess {
  readonly #folder: string;
  readonly #options: AgentProcessOptions;
  readonly documents: string;
  #child: ChildProcess | undefined;
  startedAt = 0;

  constructor(folder: string, options: AgentProcessOptions = {}) {
    this.#folder = folder;
    this.#options = options;
    this.documents = join(folder, 'documents');
    mkdirSync(this.documents, { recursive: true });
  }

  get program(): string {
    return this.#options.program ?? PROGRAM;
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error('no agent runs');
    return pid;
  }

  get socket(): string {
    return join(this.#folder, 'agent.sock');
  }

  get turns(): string {
    return join(this.#folder, 'turns');
  }

  get savedView(): string {
    return join(this.#folder, 'state/view.json');
  }

  /** a fresh machine: no documents, no saved View */
  reset(): void {
    for (const name of ['documents', 'state', 'turns']) {
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
    mkdirSync(this.documents, { recursive: true });
  }

  write(file: string, documents: readonly string[]): void {
    const temporary = join(this.#folder, `.${file}`);
    writeFileSync(temporary, documents.join('\n---\n'));
    renameSync(temporary, join(this.documents, file));
  }

  remove(file: string): void {
    rmSync(join(this.documents, file));
  }

  start(joinCheck: readonly string[], port = BIRD_PORT): void {
    const { peers = [peerDocument({ port })], pool = poolDocument() } = this.#options;
    this.write('base.yaml', [...peers, pool]);
    this.startedAt = performance.now();
    const own = ['--source', `files:${this.documents}`, '--node-name', 'bench'];
    const places = [
      ...['--state-dir', join(this.#folder, 'state'), '--socket', this.socket],
      ...['--metrics-address', `127.0.0.1:${METRICS_PORT}`],
    ];
    this.#child = spawn(this.program, ['agent', ...own, ...places, ...joinCheck], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: this.#environment(),
    });
  }

  #environment(): NodeJS.ProcessEnv {
    if (this.#options.isProbed !== true) return process.env;
    const extra = {
      NODE_OPTIONS: `--import=${TURN_PROBE}`,
      HERALD_BENCH_TURNS: this.turns,
    };
    return { ...process.env, ...extra };
  }

  residentMegabytes(): number {
    return residentMegabytes(this.#child?.pid);
  }

  /** the most that was resident since the start, or since `forgetPeak` */
  peakMegabytes(): number {
    return statusField(this.pid, 'VmHWM') / 1024;
  }

  forgetPeak(): void {
    writeFileSync(`/proc/${this.pid}/clear_refs`, '5');
  }

  /** all threads of it; ticks are hundredths of a second */
  cpuMs(): number {
    const [, rest = ''] = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ');
    const fields = rest.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** sends the signal; resolves with the moment at which the process is gone */
  end(signal: NodeJS.Signals): Promise<number> {
    const child = this.#child;
    if (child === undefined) throw new Error('no agent runs');
    if (child.exitCode !== null || child.signalCode !== null)
      return Promise.resolve(performance.now());
    const gone = new Promise<number>((resolve) => {
      child.once('exit', () => resolve(performance.now()));
    });
    child.kill(signal);
    return gone;
  }
}

export function residentMegabytes(pid: number | undefined): number {
  return statusField(pid, 'VmRSS') / 1024;
}

function statusField(pid: number | undefined, name: string): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)?.[1] ?? 0);
}

export interface PeerWords {
  readonly number?: number;
  /** where it is dialled, if not at BIRD itself */
  readonly address?: string;
  readonly port?: number;
  readonly holdSeconds?: number;
}

export function peerDocument(words: PeerWords = {}): string {
  const { number = 1, port = BIRD_PORT, holdSeconds = 90 } = words;
  return documentText('BGPPeer', `router-${number}`, {
    address: words.address ?? birdAddress(number),
    port,
    asn: BIRD_ASN,
    localASN: AGENT_ASN,
    sourceAddress: agentAddress(number),
    families: ['ipv4'],
    maxRoutes: 40_000,
    timers: { holdSeconds, keepaliveSeconds: holdSeconds / 3, connectRetrySeconds: 1 },
  });
}

export const poolDocument = (addresses = ['198.18.0.0/15'], waitSeconds = 0): string =>
  documentText('IPPool', 'bench', { addresses, drain: { waitSeconds } });

export const claimDocument = (address: string, spec: object = {}): string =>
  documentText('IPClaim', address, spec);

/** the n-th address of the pool, in the style of kubectl: each claim a document of its own */
export const address = (n: number): string => `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;

export const claimDocuments = (count: number, spec: object = {}): string[] =>
  Array.from({ length: count }, (_, n) => claimDocument(address(n), spec));
