/**
 * One master: a namespace with a stand-in API server and an agent, and everything that can happen to it. The faults are those of
 * a machine, not of a network interface: a powered-off master drops every packet and its processes are gone, but its link
 * stays up, because a veth end that goes down takes the router's end with it and would tell on the dead.
 */

import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { done, notYet, until } from '../../support/poll.ts';
import type { Running } from '../../support/process.ts';
import { apiPort, masterAsn } from './addresses.ts';
import type { KeyPair } from './certificates.ts';
import { type DocumentOptions, writeDocuments } from './documents.ts';
import { heraldProgram } from './herald-program.ts';

const program = heraldProgram();
const standIn = join(import.meta.dirname, 'stand-in-main.ts');
const joinIntervalSeconds = 0.2;
export const joinFailures = 2;

export type MasterParts = {
  readonly name: string;
  readonly host: Host;
  readonly address: string;
  /** The router's address on this master's link. */
  readonly gateway: string;
  readonly device: string;
  readonly routerDevice: string;
  readonly keys: KeyPair;
  readonly ca: string;
};

export class Master {
  readonly name: string;
  readonly host: Host;
  readonly address: string;
  readonly gateway: string;
  readonly device: string;
  readonly routerDevice: string;
  readonly keys: KeyPair;
  readonly ca: string;
  readonly documents: string;
  #agent: Running | undefined;
  #api: Running | undefined;
  #starts = 0;

  constructor(parts: MasterParts) {
    this.name = parts.name;
    this.host = parts.host;
    this.address = parts.address;
    this.gateway = parts.gateway;
    this.device = parts.device;
    this.routerDevice = parts.routerDevice;
    this.keys = parts.keys;
    this.ca = parts.ca;
    this.documents = join(parts.host.folder, 'documents');
  }

  get socket(): string {
    return join(this.host.folder, 'agent.sock');
  }

  get agent(): Running {
    if (this.#agent === undefined) throw new Error(`${this.name} has no agent`);
    return this.#agent;
  }

  get api(): Running {
    if (this.#api === undefined) throw new Error(`${this.name} has no API server`);
    return this.#api;
  }

  /** What both said, for failure messages. */
  log(): string {
    return [this.#api, this.#agent].map((each) => each?.log().slice(-3000) ?? '').join('\n');
  }

  writeDocuments(claim: Omit<DocumentOptions, 'router'>, drainSeconds?: number): void {
    writeDocuments(this.documents, { router: this.gateway, ...claim }, drainSeconds);
  }

  startAgent(): Running {
    this.#starts += 1;
    mkdirSync(this.#state(), { recursive: true });
    const join_ = [
      ['--join-check', `https://127.0.0.1:${apiPort}/readyz`],
      ['--join-ca', this.ca],
      ['--join-successes', '2'],
      ['--join-failures', String(joinFailures)],
      ['--join-interval', String(joinIntervalSeconds)],
      // a check that is late because the machine is busy has not failed
      ['--join-timeout', '5'],
    ];
    const node = [
      ['--source', `files:${this.documents}`],
      ['--node-name', this.name],
      ['--state-dir', this.#state()],
      ['--socket', this.socket],
      ['--asn', String(masterAsn)],
      ['--router-id', this.address],
    ];
    const args = ['agent', ...[...node, ...join_].flat()];
    this.#agent = this.host.spawn(`agent-${this.#starts}`, program, args);
    return this.#agent;
  }

  /** A stand-in API server; `isReady` false makes it answer 503 until `setReady`. */
  startApi(isReady = true): Running {
    this.setReady(isReady);
    const { certificate, key } = this.keys;
    const args = [standIn, this.name, String(apiPort), certificate, key, this.#unready()];
    this.#api = this.host.spawn('api', process.execPath, args);
    return this.#api;
  }

  setReady(isReady: boolean): void {
    if (isReady) rmSync(this.#unready(), { force: true });
    else writeFileSync(this.#unready(), '');
  }

  /** The next so many questions of the join check are answered by 503. Resolves when the one after them was answered by 200. */
  async failJoinChecks(times: number): Promise<void> {
    const temporary = `${this.#unready()}.new`;
    writeFileSync(temporary, String(times));
    renameSync(temporary, this.#unready());
    await until(`${this.name} has failed ${times} join checks`, () =>
      existsSync(this.#unready()) ? notYet('some are left') : done(true),
    );
  }

  #unready(): string {
    return join(this.host.folder, 'unready');
  }

  async killApi(): Promise<void> {
    await this.#api?.kill();
  }

  async killAgent(): Promise<void> {
    await this.#agent?.kill();
  }

  /** SIGSTOP to the agent alone, or to everything that runs on the machine. */
  freeze(what: 'agent' | 'all'): void {
    if (what === 'all') this.api.freeze();
    this.agent.freeze();
  }

  thaw(): void {
    this.#api?.thaw();
    this.#agent?.thaw();
  }

  /** From one packet to the next nothing leaves and nothing arrives; then the processes end, unheard. */
  async powerOff(): Promise<void> {
    const hook = (name: string) =>
      `chain ${name} { type filter hook ${name} priority -300; policy drop; }`;
    const chains = ['input', 'output', 'forward'].map(hook).join('\n');
    await this.host.nft(`table inet power_off {\n${chains}\n}\n`);
    await Promise.all([this.killApi(), this.killAgent()]);
  }

  /** A machine that comes up again. */
  async powerOn(vip: string): Promise<void> {
    await this.powerCycle(vip);
    await this.host.nft('delete table inet power_off\n');
  }

  /** What a reboot leaves of a machine whose processes have ended: no address, no connection, no file of its last life. */
  async powerCycle(vip: string): Promise<void> {
    const address = ['address', 'delete', `${vip}/32`, 'dev', 'lo'];
    await this.host.exec('ip', address, { anyStatus: true });
    await this.host.exec('ss', ['-K', 'sport', '>', '0'], { anyStatus: true });
    for (const path of [this.socket, this.#unready()]) rmSync(path, { force: true });
  }

  /** A disk without what earlier agents saved. */
  forget(): void {
    rmSync(this.#state(), { recursive: true, force: true });
  }

  #state(): string {
    return join(this.host.folder, 'state');
  }

  /** The cable: both ends lose their carrier. */
  async cutUplink(): Promise<void> {
    await this.host.ip(`link set ${this.device} down`);
  }

  async mendUplink(): Promise<void> {
    await this.host.ip(`link set ${this.device} up`, `route replace default via ${this.gateway}`);
  }

  /** Whether the address is on an interface of this machine. */
  async holds(address: string): Promise<boolean> {
    const { stdout } = await this.host.exec('ip', ['-o', 'address', 'show', 'to', address]);
    return stdout.trim() !== '';
  }

  /** Its API server answers on its own address. */
  async serving(): Promise<void> {
    await until(`${this.name} serves`, async () => {
      const listening = await this.host.exec('ss', ['-Hltn', 'sport', '=', `:${apiPort}`]);
      return listening.stdout.trim() === '' ? notYet(this.log()) : done(true);
    });
  }

  async stopAll(): Promise<void> {
    await Promise.all([this.killApi(), this.killAgent()]);
  }
}
