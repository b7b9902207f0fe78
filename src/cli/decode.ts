/**
 * `herald decode`: BGP messages as JSON, from hex lines on stdin or from an MRT file. The contract of the output is in
 * protocol/README.md; the objects are made by bgp-ts (`describeResult`), the MRT lines in decode-mrt.ts.
 */

import { parseArgs } from 'node:util';
import { type CodecContext, decode, describeResult, parseHex } from 'bgp-ts';
import { type Command, UsageError, type World } from './command.ts';
import { decodeMrt } from './decode-mrt.ts';
import { Lines } from './lines.ts';
import { notAMessage } from './not-a-message.ts';
import { Output } from './output.ts';

const HELP = `usage: herald decode [--no-as4] [--add-path] [--extended] [--ibgp] < FILE
       herald decode --mrt FILE [--add-path]

Shows BGP messages as JSON, one object per line.

Reads whole messages, the 19 octets of the header included, as hexadecimal on standard input: one
message per line, blanks and colons ignored. Empty lines and lines that start with '#' are skipped.
For every other line one line is printed, in order:

  {"ok":true,"message":{"kind":"update",…},"issues":[…]}
      understood; issues lists attributes that were dropped (RFC 7606)
  {"ok":false,"fault":{"code":3,"subcode":10,…}}
      not understood: the NOTIFICATION that a session would end with, or outcome
      "treat-as-withdraw" and the routes that go down

The session decides how some octets are read:
  --as4, --no-as4   AS numbers of four octets (RFC 6793, the default), or of two
  --add-path        path identifiers in front of IPv4 and IPv6 prefixes (RFC 7911)
  --extended        messages of up to 65,535 octets (RFC 8654)
  --ibgp            an internal session: LOCAL_PREF must be there, AS4_PATH is merged into the
                    path. Without it the session is taken as unknown and everything is shown as it
                    came

  --mrt FILE        read an MRT file instead, plain or gzip, '-' for standard input: BGP4MP,
                    BGP4MP_ET, TABLE_DUMP_V2, TABLE_DUMP. Each object gets
                    "mrt":{"time","type","peer":{"address","asn"}}; an entry of a table is
                    {"ok":true,"rib":{…},…}. The records say themselves how they are to be read;
                    --add-path is for collectors that forget to say it
  --help            this text

Exit status: 0 all was read, 1 at least one line is ok:false, 2 wrong usage.

Examples
  echo ffffffff:ffffffff:ffffffff:ffffffff:0013:04 | herald decode
  herald decode --mrt updates.20261116.1200.gz | jq -c 'select(.message.attributes.otc)'
`;

const FLAGS = {
  as4: { type: 'boolean', default: true },
  'add-path': { type: 'boolean', default: false },
  extended: { type: 'boolean', default: false },
  ibgp: { type: 'boolean', default: false },
  mrt: { type: 'string' },
} as const;

const IPV4 = [
  { afi: 1, safi: 1 },
  { afi: 1, safi: 2 },
];
const ALL_FAMILIES = [...IPV4, { afi: 2, safi: 1 }, { afi: 2, safi: 2 }];

export const decodeCommand: Command = {
  name: 'decode',
  summary: 'show BGP messages (hex lines, MRT files) as JSON',
  help: HELP,
  async run(args, world) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowNegative: true,
      allowPositionals: true,
    });
    const [stray] = positionals;
    if (stray !== undefined) {
      throw new UsageError(`unexpected argument '${stray}': messages are read from standard input`);
    }
    const addPath = values['add-path'] ? ALL_FAMILIES : [];
    const context: CodecContext = {
      as4: values.as4,
      extendedMessage: values.extended,
      internal: values.ibgp ? true : undefined,
      addPathReceive: addPath,
      addPathSend: addPath,
      extendedNextHop: IPV4,
    };
    if (values.mrt === undefined) return await decodeLines(context, world);
    return await decodeMrt(values.mrt, context, new Output(world.stdout));
  },
};

async function decodeLines(context: CodecContext, world: World): Promise<number> {
  const output = new Output(world.stdout);
  const lines = new Lines();
  let failed = false;
  const decodeLine = (line: string) => {
    if (isSkipped(line)) return;
    const described = describeLine(line, context);
    if (described['ok'] !== true) failed = true;
    output.line(described);
  };
  for await (const chunk of world.stdin) {
    lines.push(typeof chunk === 'string' ? chunk : chunk.toString('latin1'), decodeLine);
    await output.relieve();
  }
  lines.end(decodeLine);
  await output.flush();
  return failed ? 1 : 0;
}

function isSkipped(line: string): boolean {
  const text = line.trim();
  return text === '' || text.startsWith('#');
}

function describeLine(line: string, context: CodecContext): Readonly<Record<string, unknown>> {
  const bytes = parseHex(line);
  if (bytes !== undefined) return describeResult(decode(bytes, context));
  return notAMessage(hexComplaint(line));
}

function hexComplaint(line: string): string {
  const strange = /[^0-9a-fA-F\s:]/.exec(line);
  if (strange === null) return 'not hexadecimal: an odd number of digits';
  return `not hexadecimal: '${strange[0]}' at column ${strange.index + 1}`;
}
