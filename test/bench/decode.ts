/**
 * The decoder bench: our decoder and GoBGP's, each in a process of its own, one after the other, round by round. Both read the
 * file into memory, decode it once to warm up and to count, then for some seconds against the clock. Both must have counted
 * the same messages, prefixes and attributes.
 *
 * Neither is told how many threads to use: each decodes on one, and both runtimes may collect garbage on another. GoBGP with one
 * processor, and with a lazier collector, is measured in the same rounds.
 */

import { join } from 'node:path';
import { run } from '../support/process.ts';
import { goProgram } from './cache.ts';
import { median } from './median.ts';

const program = join(import.meta.dirname, 'decode-herald.ts');

export type DecodeRow = {
  readonly name: string;
  readonly label: string;
  readonly messagesPerSecond: number;
  readonly samples: readonly number[];
  readonly runtime: string;
};

export type DecodeReport = {
  readonly messages: number;
  readonly prefixes: number;
  readonly rows: readonly DecodeRow[];
};

export type DecodeOptions = {
  readonly file: string;
  readonly rounds: number;
  readonly seconds: number;
  readonly progress: (line: string) => void;
};

type Decoder = {
  readonly name: string;
  readonly label: string;
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

type Sample = {
  readonly messages: number;
  readonly updates: number;
  readonly prefixes: number;
  readonly attributes: number;
  readonly messagesPerSecond: number;
  readonly runtime: string;
};

async function decoders(): Promise<Decoder[]> {
  const gobgp = [await goProgram('gobgp-decode')];
  const herald = [process.execPath, '--conditions=bgp-ts-source', program];
  return [
    { name: 'gobgp', label: 'GoBGP 4', argv: gobgp },
    { name: 'herald', label: 'Herald', argv: herald },
    { name: 'gobgp-one', label: 'GoBGP 4, GOMAXPROCS=1', argv: gobgp, env: { GOMAXPROCS: '1' } },
    { name: 'gobgp-lazy', label: 'GoBGP 4, GOGC=400', argv: gobgp, env: { GOGC: '400' } },
  ];
}

async function sample(decoder: Decoder, options: DecodeOptions): Promise<Sample> {
  const [command = '', ...args] = decoder.argv;
  const { stdout } = await run(command, [...args, options.file, String(options.seconds)], {
    timeoutMs: 60_000 + 1000 * options.seconds,
    ...(decoder.env === undefined ? {} : { env: decoder.env }),
  });
  return JSON.parse(stdout);
}

const sumsText = ({ messages, updates, prefixes, attributes }: Sample): string =>
  `${messages} messages, ${updates} UPDATEs, ${prefixes} prefixes, ${attributes} attributes`;

export async function measureDecoders(options: DecodeOptions): Promise<DecodeReport> {
  const list = await decoders();
  const samples = new Map<Decoder, Sample[]>(list.map((decoder) => [decoder, []]));
  let first: Sample | undefined;
  for (let round = 1; round <= options.rounds; round += 1) {
    for (const [decoder, taken] of samples) {
      const one = await sample(decoder, options);
      first ??= one;
      if (sumsText(one) !== sumsText(first)) {
        throw new Error(`${decoder.label} read ${sumsText(one)}, not ${sumsText(first)}`);
      }
      taken.push(one);
      const rate = Math.round(one.messagesPerSecond).toLocaleString('en');
      options.progress(`decode, round ${round}/${options.rounds}: ${decoder.label} ${rate} msg/s`);
    }
  }
  const rows = [...samples].map(([{ name, label }, taken]) => {
    const rates = taken.map((one) => Math.round(one.messagesPerSecond));
    return {
      name,
      label,
      messagesPerSecond: median(rates),
      samples: rates,
      runtime: taken[0]?.runtime ?? '',
    };
  });
  return { messages: first?.messages ?? 0, prefixes: first?.prefixes ?? 0, rows };
}
