/**
 * Our side of the decoder bench, the twin of gobgp-decode/main.go: reads an MRT file into memory and decodes every message in it,
 * again and again, until the time is up. One pass before the clock starts, which also counts. The last line is JSON.
 *
 * Usage: node decode-herald.ts FILE SECONDS
 */

import { readFileSync } from 'node:fs';
import { decodeAt, type Message, MrtReader, PLAIN_CONTEXT } from 'bgp-ts';

type Sums = { messages: number; updates: number; prefixes: number; attributes: number };

const noSums = (): Sums => ({ messages: 0, updates: 0, prefixes: 0, attributes: 0 });

/** Decodes all BGP4MP messages of the file once; other records (state changes) are stepped over. */
function pass(data: Uint8Array, take: (sums: Sums, message: Message) => void): Sums {
  const sums = noSums();
  const reader = new MrtReader();
  reader.push(data);
  for (let record = reader.next(); record !== undefined; record = reader.next()) {
    if (record.kind === 'malformed') throw new Error(record.detail);
    if (record.kind !== 'message') continue;
    const result = decodeAt(record.bytes, record.start, record.end, PLAIN_CONTEXT);
    if (!result.ok) throw new Error(result.fault.message);
    sums.messages += 1;
    take(sums, result.message);
  }
  return sums;
}

/** Keeps the last message alive, so that no decoding can be optimised away. */
let sink: Message | undefined;

function keep(_sums: Sums, message: Message): void {
  sink = message;
}

function count(sums: Sums, message: Message): void {
  if (message.kind !== 'update') return;
  const { mpReach, mpUnreach, unknown } = message.attributes;
  const named = Object.entries(message.attributes).filter(
    ([name, value]) => name !== 'unknown' && value !== undefined,
  );
  sums.updates += 1;
  sums.attributes += named.length + (unknown?.length ?? 0);
  sums.prefixes += message.nlri.length + message.withdrawn.length;
  if (mpReach?.kind === 'prefixes') sums.prefixes += mpReach.nlri.length;
  if (mpUnreach?.kind === 'prefixes') sums.prefixes += mpUnreach.withdrawn.length;
}

function main([file, seconds]: readonly string[]): void {
  if (file === undefined || seconds === undefined) {
    process.stderr.write('usage: decode-herald.ts FILE SECONDS\n');
    process.exit(2);
  }
  const data = readFileSync(file);
  const sums = pass(data, count);
  const boundMs = Number(seconds) * 1000;
  const started = performance.now();
  let passes = 0;
  for (; performance.now() - started < boundMs; passes += 1) pass(data, keep);
  const elapsed = (performance.now() - started) / 1000;
  const messagesPerSecond = (sums.messages * passes) / elapsed;
  const runtime = `node ${process.version}`;
  const result = { ...sums, passes, seconds: elapsed, messagesPerSecond, runtime };
  process.stdout.write(`${JSON.stringify(result)}\n`);
  if (sink === undefined) process.exit(1);
}

main(process.argv.slice(2));
