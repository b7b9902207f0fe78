/**
 * One GET, and what was answered. For servers on this machine that are asked again and again: connections are kept, unlike those of a check,
 * since it is the answer that counts here and not whether a new client gets in. It never throws, and answers exactly once.
 */

import { Agent, type IncomingMessage, request } from 'node:http';
import { nameLookups } from '../names/name-lookups.ts';
import { describeSocketError } from './probe-failure.ts';

export type HttpAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly body: string }
  /** nobody answered, or not in time: that says nothing */
  | { readonly kind: 'silent'; readonly sentence: string };

export type AskHttp = (
  url: string,
  timeoutMs: number,
  answer: (answer: HttpAnswer) => void,
) => { cancel(): void };

/** metrics of a busy kube-proxy are some hundred kilobytes */
const MAX_BODY = 1024 * 1024;
const KEEP_MS = 10_000;

/** `close` lets go of the connections that are kept. */
export function createAskHttp(): AskHttp & { close(): void } {
  const { lookup } = nameLookups;
  const agent = new Agent({ keepAlive: true, maxSockets: 4, timeout: KEEP_MS, lookup });
  const ask: AskHttp = (url, timeoutMs, answer) => {
    const ending = new AbortController();
    let isOver = false;
    const end = (result: HttpAnswer) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      answer(result);
    };
    const silent = (sentence: string) => end({ kind: 'silent', sentence: `${url} ${sentence}` });
    const timer = setTimeout(() => {
      silent('did not answer in time');
      ending.abort();
    }, timeoutMs);
    const headers = { 'user-agent': 'herald', accept: '*/*' };
    const asked = request(url, { agent, signal: ending.signal, headers });
    asked.on('error', (error) => silent(describeSocketError(error)));
    asked.on('response', (response) => read(response, end, silent));
    asked.end();
    return {
      cancel: () => {
        isOver = true;
        clearTimeout(timer);
        ending.abort();
      },
    };
  };
  return Object.assign(ask, { close: () => agent.destroy() });
}

function read(
  response: IncomingMessage,
  end: (result: HttpAnswer) => void,
  silent: (sentence: string) => void,
): void {
  let body = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    if (body.length < MAX_BODY) body += chunk;
  });
  response.on('end', () => end({ kind: 'answered', status: response.statusCode ?? 0, body }));
  response.on('error', () => silent('broke off in its answer'));
}
