/**
 * `herald manifest`: what a person would otherwise write by hand, printed from the same documents that the agent reads: a unit, user-data
 * for cloud-init, a static pod, and the router's own configuration. It starts nothing and changes nothing.
 */

import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { nodeClock } from 'bgp-ts';
import { PasswordFiles } from '../agent/password-files.ts';
import { errorCode } from '../error-code.ts';
import { passwordFiles } from '../manifest/agent-command.ts';
import { type NodeFile, renderCloudInit } from '../manifest/cloud-init.ts';
import { ManifestRefusal } from '../manifest/refusal.ts';
import { renderRouter, routerWarnings } from '../manifest/router.ts';
import { renderRouterCloudInit } from '../manifest/router-cloud-init.ts';
import { planRouter } from '../manifest/router-plan.ts';
import { renderStaticPod } from '../manifest/static-pod.ts';
import { renderUnit } from '../manifest/systemd.ts';
import type { BgpPeer } from '../model/bgp-peer.ts';
import { type Documents, NO_DOCUMENTS } from '../model/documents.ts';
import { FilesSource } from '../sources/files/files-source.ts';
import { isDocumentName } from '../sources/files/folder-look.ts';
import { type Command, UsageError, type World } from './command.ts';
import {
  type AgentFlags,
  MANIFEST_KINDS,
  type ManifestKind,
  readAgentFlags,
  readRouterFlags,
} from './manifest-flags.ts';

const HELP = `usage: herald manifest systemd --join-check CHECK [options]
       herald manifest cloud-init --join-check CHECK [options]
       herald manifest static-pod --join-check CHECK [options]
       herald manifest router --for frr|bird|gobgp|openbgpd [options]

Prints what you would otherwise write by hand, from the same documents that the agent reads.
  systemd     herald.service: a hardened unit, stopped only after the longest drain of the pools
  cloud-init  user-data that makes a machine announce its addresses from its first boot on; the same
              for every machine, in any boot order
  static-pod  a pod for /etc/kubernetes/manifests, which the kubelet runs without an API server
  router      the other side of a BGPPeer document: who may connect, the password, exactly the host
              routes of the pools, limits, ECMP, drain; nothing is announced to the nodes

All kinds
  --source files:DIR        the documents (default files:/etc/herald)
  --out FILE                write to FILE, readable by its owner only, instead of stdout

systemd, cloud-init, static-pod
  --documents-dir DIR       where the documents are on the machine (default /etc/herald)
  --exec PATH               the program on the machine (default /opt/herald/herald; not static-pod)
  --program URL|PATH        cloud-init: where the machine gets the program from, an archive of dist/
                            with Node 26 in it; without it the image must have it
  --program-sha256 HEX      cloud-init: what the archive must have; needed with http://
  --image NAME              static-pod: the image (default herald:VERSION)
  --node-name NAME          default: the machine's own name
  --join-check, --join-ca, --join-pin, --join-successes, --join-failures, --join-interval,
  --join-timeout, --join-settle, --asn, --node-labels, --listen-address, --listen-port,
  --max-stale, --log-level  passed on; 'herald agent --help' explains them

router
  --for ROUTER              frr, bird, gobgp or openbgpd
  --peer NAME               which BGPPeer; needed when there are several
  --neighbor ADDRESS[=NAME] a machine that may connect; may be given several times
  --neighbor-range CIDR     machines that may connect, where addresses are not known; the peer must
                            have a password, since a pod behind NAT can dial a range too
  --insecure                take a range without a password, or with a router that does not check it
  --asn N                   the machines' AS number, where the document has no localASN
  --router-asn N            the router's, where the document says external
  --router-id ID            the router's BGP identifier (default: its IPv4 address)
  --max-nodes N             ECMP width and listen limit, 1 to 255 (default: the neighbours; 64 for a
                            range)
  --restart-minutes N       how long a neighbour with too many prefixes stays down (default 5);
                            BIRD and GoBGP cannot be told
  --password-placeholder    write HERALD-PASSWORD in place of the key
  --cloud-init              for frr and bird: user-data that installs the router on a machine, with
                            this file and with forwarding, in place of the file alone

A password is read from the file that the document names or, if that is not there, from the file of
the same name in the documents' folder. Output that holds one is announced on stderr.

Exit status: 0 done, 1 a document or password file is wrong (the reason is on stderr), 2 wrong
usage.

Examples
  herald manifest router --for frr --source files:./documents --neighbor 192.0.2.11=master-1
  herald manifest cloud-init --source files:./documents --join-ca /etc/kubernetes/pki/ca.crt \\
    --join-check https://127.0.0.1:6443/readyz --program https://example.com/herald.tar.gz
`;

const PLACEHOLDER = 'HERALD-PASSWORD';
const EXIT_FAILED = 1;

/** The documents or their passwords cannot be used as they are; the lines go to stderr. */
class InputError extends Error {}

export const manifestCommand: Command = {
  name: 'manifest',
  summary: 'print a unit, cloud-init data, a static pod, or the router configuration',
  help: HELP,
  async run(args, world) {
    const [first, ...rest] = args;
    const kind = MANIFEST_KINDS.find((each) => each === first);
    if (kind === undefined) {
      const what = first === undefined ? 'what to print is missing' : `unknown manifest '${first}'`;
      throw new UsageError(`${what}; there are: ${MANIFEST_KINDS.join(', ')}`);
    }
    try {
      await (kind === 'router' ? router(rest, world) : forMachine(kind, rest, world));
      return 0;
    } catch (error) {
      if (error instanceof ManifestRefusal) throw new UsageError(error.message);
      if (!(error instanceof InputError)) throw error;
      world.stderr.write(`herald manifest: ${error.message}\n`);
      return EXIT_FAILED;
    }
  },
};

async function router(args: readonly string[], world: World): Promise<void> {
  const flags = readRouterFlags(args);
  const documents = await readDocuments(flags.source);
  const peer = choosePeer(documents, flags.peer);
  const password = flags.passwordPlaceholder
    ? peer.password && PLACEHOLDER
    : readKey(peer, flags.source);
  const pools = documents.pools.map(({ object }) => object);
  const plan = planRouter(peer, pools, {
    ...flags,
    ...(password === undefined ? {} : { password }),
  });
  for (const warning of routerWarnings(flags.router, plan)) warn(world, warning);
  const hasSecret = password !== undefined && !flags.passwordPlaceholder;
  const config = renderRouter(flags.router, plan);
  const text = flags.cloudInit ? renderRouterCloudInit(flags.router, plan, config) : config;
  write(text, flags.out, { world, hasSecret });
}

async function forMachine(
  kind: Exclude<ManifestKind, 'router'>,
  args: readonly string[],
  world: World,
): Promise<void> {
  const flags = readAgentFlags(kind, args);
  const documents = await readDocuments(flags.source);
  const { settings, exec } = flags;
  checkAsn(documents, flags);
  if (kind === 'systemd') {
    write(renderUnit(documents, settings, { exec }), flags.out, { world, hasSecret: false });
  } else if (kind === 'static-pod') {
    const image = flags.image ?? `herald:${world.version}`;
    write(renderStaticPod(documents, settings, { image }), flags.out, { world, hasSecret: false });
  } else {
    cloudInit(documents, flags, world);
  }
}

/** An agent without an AS number of its own would keep that peer down on every machine. */
function checkAsn({ peers }: Documents, { settings }: AgentFlags): void {
  const isGiven = settings.flags.some(([flag]) => flag === 'asn');
  const peer = peers.find(({ object }) => object.localAsn === undefined)?.object;
  if (peer === undefined || isGiven) return;
  throw new UsageError(`BGPPeer ${peer.name} has no localASN; give the machines' own with --asn N`);
}

function cloudInit(documents: Documents, flags: AgentFlags, world: World): void {
  const { source, settings, exec, program } = flags;
  const keys = passwordFiles(documents);
  for (const path of keys.filter((each) => !each.startsWith('/'))) {
    throw new InputError(`password.file '${path}' must be an absolute path on the machine`);
  }
  for (const { object } of documents.peers) readKey(object, source);
  const files: NodeFile[] = [
    ...readdirSync(source)
      .filter(isDocumentName)
      .toSorted()
      .map((name) => ({
        path: join(settings.documentsFolder, name),
        content: readFileSync(join(source, name), 'utf8'),
        mode: '0644',
      })),
    ...keys.map((path) => ({ path, content: readBeside(path, source), mode: '0600' })),
  ];
  const options = { exec, files, ...(program === undefined ? {} : { program }) };
  const hasSecret = keys.length > 0;
  write(renderCloudInit(documents, settings, options), flags.out, { world, hasSecret });
}

async function readDocuments(directory: string): Promise<Documents> {
  let documents = NO_DOCUMENTS;
  const files = new FilesSource({
    directory: resolve(directory),
    clock: nodeClock,
    onChange: (found) => {
      documents = found;
    },
  });
  await files.start();
  files.stop();
  const faults = documents.faults.map(
    ({ file, line, sentence }) => `${file}${line === undefined ? '' : `:${line}`}: ${sentence}`,
  );
  // half of what is meant would look like all of it
  if (faults.length > 0) throw new InputError(faults.join('\nherald manifest: '));
  return documents;
}

function choosePeer({ peers }: Documents, name: string | undefined): BgpPeer {
  const names = peers.map(({ object }) => object.name).toSorted();
  if (names.length === 0) throw new InputError('there is no BGPPeer among the documents');
  const found =
    name === undefined && peers.length === 1
      ? peers[0]
      : peers.find(({ object }) => object.name === name);
  if (found !== undefined) return found.object;
  const why = name === undefined ? 'choose a BGPPeer with --peer' : `there is no BGPPeer '${name}'`;
  throw new UsageError(`${why}; the documents have: ${names.join(', ')}`);
}

/** The agent's own way of reading a key, so that both sides have the same. */
function readKey(peer: BgpPeer, source: string): string | undefined {
  const files = new PasswordFiles((path) => readBeside(path, source));
  files.refresh([peer]);
  const fact = files.facts.get(peer.name);
  if (fact !== undefined && fact.kind !== 'ready') {
    const words = fact.kind === 'unknown' ? fact.problem : fact.sentence;
    const [problem = words] = words.split(';');
    throw new InputError(
      `${problem}, nor is there one of that name in ${source}; or use --password-placeholder`,
    );
  }
  return fact?.password;
}

/** The file itself, or the one of its name beside the documents: this need not be a machine that has it. */
function readBeside(path: string, source: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    return readFileSync(join(source, basename(path)), 'utf8');
  }
}

function warn(world: World, sentence: string): void {
  world.stderr.write(`herald manifest: ${sentence}\n`);
}

function write(
  text: string,
  out: string | undefined,
  { world, hasSecret }: { readonly world: World; readonly hasSecret: boolean },
): void {
  if (hasSecret) warn(world, 'the output holds a TCP-MD5 key; keep it where only root can read it');
  if (out === undefined) {
    world.stdout.write(text);
    return;
  }
  try {
    writeFileSync(out, text, { mode: 0o600 });
    chmodSync(out, 0o600);
  } catch (error) {
    throw new InputError(`cannot write ${out}: ${error instanceof Error ? error.message : error}`);
  }
}
