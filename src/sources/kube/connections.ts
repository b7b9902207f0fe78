/**
 * The sockets to each API server: a bounded, kept set for calls, and one of its own for each watch. They are made anew when the
 * certificates change; tokens travel in headers and change nothing here.
 */

import http, { type Agent } from 'node:http';
import https from 'node:https';
import tls from 'node:tls';
import { nameLookups } from '../../names/name-lookups.ts';
import type { HttpTarget } from './http-request.ts';
import type { Credentials, TlsOptions } from './kube-access.ts';

export interface ServerConnections {
  readonly calls: HttpTarget;
  readonly watches: HttpTarget;
}

const MAX_CALLS = 16;
/** the API server closes what is idle for 90 s; closing earlier means that it is not us who finds out with a write */
const IDLE_MS = 30_000;

export class Connections {
  readonly #servers: readonly URL[];
  readonly #maxCalls: number;
  #tls: TlsOptions | undefined;
  #context: tls.SecureContext | undefined;
  #made: (ServerConnections | undefined)[] = [];

  constructor(servers: readonly URL[], maxCalls = MAX_CALLS) {
    this.#servers = servers;
    this.#maxCalls = maxCalls;
  }

  to(server: number, { tls, proxy }: Credentials): ServerConnections {
    if (this.#tls !== tls) this.#forget(tls);
    const made = this.#made[server] ?? this.#make(server, proxy);
    this.#made[server] = made;
    return made;
  }

  /** Nobody is there: what waits for an answer on these sockets waits in vain. */
  drop(server: number): void {
    this.#made[server]?.calls.agent.destroy();
    this.#made[server] = undefined;
  }

  close(): void {
    for (const made of this.#made) {
      made?.calls.agent.destroy();
      made?.watches.agent.destroy();
    }
    this.#made = [];
  }

  /** what is under way on the old sockets comes to its end there, and idle ones close by themselves */
  #forget(tls: TlsOptions): void {
    this.#tls = tls;
    this.#context = undefined;
    this.#made = [];
  }

  #make(server: number, proxy: Agent | undefined): ServerConnections {
    const url = this.#servers[server];
    if (url === undefined) throw new Error(`there is no server ${server}`);
    if (proxy !== undefined)
      return { calls: { url, agent: proxy }, watches: { url, agent: proxy } };
    const kept = {
      keepAlive: true,
      keepAliveMsecs: 5000,
      maxSockets: this.#maxCalls,
      // in a burst each of them is idle for moments: closing it then would mean a handshake for every few calls
      maxFreeSockets: this.#maxCalls,
      timeout: IDLE_MS,
      scheduling: 'lifo',
    } as const;
    return {
      calls: { url, agent: this.#agent(url, kept) },
      watches: { url, agent: this.#agent(url, { keepAlive: false }) },
    };
  }

  #agent(url: URL, wishes: http.AgentOptions): Agent {
    const options = { ...wishes, lookup: nameLookups.lookup };
    if (url.protocol === 'http:') return new http.Agent(options);
    const { servername, rejectUnauthorized, ...material } = this.#tls ?? {};
    // one parsed form of keys and certificates: as single options they would be part of the name of each socket, at each request
    this.#context ??= tls.createSecureContext(material);
    return new https.Agent({
      ...options,
      secureContext: this.#context,
      ...(servername !== undefined && { servername }),
      ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
    });
  }
}
