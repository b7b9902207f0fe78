/** The agent as users run it, dist/herald, on loopback and with documents of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { documentText } from '../../support/document.ts';
import { AGENT_ADDRESS, AGENT_ASN, BIRD_ASN, BIRD_PORT } from './loopback-bird.ts';

const program = process.env['HERALD_PROGRAM'] ?? join(import.meta.dirname, '../../../dist/herald');

export class AgentProcess {
  readonly #folder: string;
  readonly documents: string;
  #child: ChildProcess | undefined;
  startedAt = 0;

  constructor(folder: string) {
    this.#folder = folder;
    this.documents = join(folder, 'documents');
    mkdirSync(this.documents, { recursive: true });
  }

  /** a fresh machine: no documents, no saved View */
  reset(): void {
    for (const name of ['documents', 'state']) {
      rmSync(join(this.#folder, name), { recursive: true, force: true });
    }
    mkdirSync(this.documents, { recursive: true });
  }

  write(file: string, documents: readonly string[]): void {
    const temporary = join(this.#folder, `.${file}`);
    writeFileSync(temporary, documents.join('\n---\n'));
    renameSync(temporary, join(this.documents, file));
  }

  start(joinCheck: readonly string[], port = BIRD_PORT): void {
    this.write('base.yaml', [peerDocument(port), poolDocument]);
    this.startedAt = performance.now();
    const own = ['--source', `files:${this.documents}`, '--node-name', 'bench'];
    const places = [
      '--state-dir',
      join(this.#folder, 'state'),
      '--socket',
      join(this.#folder, 'agent.sock'),
    ];
    this.#child = spawn(program, ['agent', ...own, ...places, ...joinCheck], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  }

  residentMegabytes(): number {
    return residentMegabytes(this.#child?.pid);
  }

  /** sends the signal; resolves with the moment at which the process is gone */
  end(signal: NodeJS.Signals): Promise<number> {
    const child = this.#child;
    if (child === undefined) throw new Error('no agent runs');
    const gone = new Promise<number>((resolve) => {
      child.once('exit', () => resolve(performance.now()));
    });
    child.kill(signal);
    return gone;
  }
}

export function residentMegabytes(pid: number | undefined): number {
  const text = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1024;
}

const peerDocument = (port: number): string =>
  documentText('BGPPeer', 'router', {
    address: '127.0.0.1',
    port,
    asn: BIRD_ASN,
    localASN: AGENT_ASN,
    sourceAddress: AGENT_ADDRESS,
    families: ['ipv4'],
    maxRoutes: 20_000,
    timers: { holdSeconds: 90, keepaliveSeconds: 30, connectRetrySeconds: 1 },
  });

const poolDocument = documentText('IPPool', 'bench', {
  addresses: ['198.18.0.0/15'],
  drain: { waitSeconds: 0 },
});

export const claimDocument = (address: string, spec: object = {}): string =>
  documentText('IPClaim', address, spec);

/** the n-th address of the pool, in the style of kubectl: each claim a document of its own */
export const address = (n: number): string => `198.${18 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
