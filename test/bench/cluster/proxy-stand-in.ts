/**
 * Something that behaves like kube-proxy of Kubernetes 1.34 as far as Herald can see it: whatever it hears of a Service has it write its rules, but not before
 * a second has passed since it last did. It learns of addresses from the status of Services, takes its time for writing, and tells at /healthz when rules of a
 * family were last written and at /metrics when it last heard of something. Instead of rules it keeps the moment from which each address could have been served.
 */

import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import type { ServiceFeed } from './service-feed.ts';

/** kube-proxy's --iptables-min-sync-period, from the end of one writing to the beginning of the next */
const PERIOD_MS = 1000;
/** what one writing of rules takes */
const WRITING_MS = [5, 60] as const;

export class ProxyStandIn {
  readonly #server: Server;
  /** addresses → since when their rules stand */
  readonly #served = new Map<string, number>();
  readonly #wanted = new Set<string>();
  #lastEndMs = 0;
  #writtenAt = new Date();
  #queuedAt = new Date();
  #writings = 1;
  #busyMs = 10;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  /** of something that is not written yet */
  #hasHeard = false;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(feed: ServiceFeed): Promise<ProxyStandIn> {
    const server = createServer();
    const proxy = new ProxyStandIn(server);
    server.on('request', ({ url }, response) => {
      response.end(url === '/metrics' ? proxy.#metrics() : proxy.#health());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    feed.onHeard(() => proxy.#hear());
    feed.onServed((_name, { address }) => proxy.#wanted.add(address));
    return proxy;
  }

  get url(): string {
    return `${this.#origin}/healthz`;
  }

  get metricsUrl(): string {
    return `${this.#origin}/metrics`;
  }

  get #origin(): string {
    const local = this.#server.address();
    if (local === null || typeof local === 'string') throw new Error('no port');
    return `http://127.0.0.1:${local.port}`;
  }

  /** since when a packet to this address would have been served */
  servedSince(address: string): number | undefined {
    return this.#served.get(address);
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #health(): string {
    const now = new Date().toISOString();
    const lastUpdated = this.#writtenAt.toISOString();
    return JSON.stringify({
      lastUpdated: now,
      currentTime: now,
      nodeEligible: true,
      status: { IPv4: { lastUpdated, healthy: true } },
    });
  }

  #metrics(): string {
    const values = {
      duration_seconds_sum: this.#busyMs / 1000,
      duration_seconds_count: this.#writings,
      last_queued_timestamp_seconds: this.#queuedAt.getTime() / 1000,
      last_timestamp_seconds: this.#writtenAt.getTime() / 1000,
    };
    return Object.entries(values)
      .map(([name, value]) => `kubeproxy_sync_proxy_rules_${name}{ip_family="IPv4"} ${value}\n`)
      .join('');
  }

  #hear(): void {
    this.#hasHeard = true;
    this.#queuedAt = new Date();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#timer !== undefined || this.#isWriting) return;
    const waitMs = Math.max(0, this.#lastEndMs + PERIOD_MS - nowMs());
    this.#timer = setTimeout(() => this.#write(), waitMs);
  }

  /** What is wanted when it begins is written when it ends. */
  #write(): void {
    this.#timer = undefined;
    this.#isWriting = true;
    this.#hasHeard = false;
    const startMs = nowMs();
    const taken = [...this.#wanted];
    this.#wanted.clear();
    setTimeout(
      () => {
        const atMs = nowMs();
        for (const address of taken) this.#served.set(address, atMs);
        this.#writtenAt = new Date();
        this.#writings += 1;
        this.#busyMs += atMs - startMs;
        this.#lastEndMs = atMs;
        this.#isWriting = false;
        if (this.#hasHeard) this.#schedule();
      },
      randomInt(...WRITING_MS),
    );
  }
}
