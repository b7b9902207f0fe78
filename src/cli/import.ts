/** `herald import`: another balancer's objects, from files or from a cluster, as documents of ours, with a list of what has no counterpart. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { accepted } from '../import/accepted.ts';
import { importExternalIpController } from '../import/external-ip-controller.ts';
import { parseObjects } from '../import/foreign-objects.ts';
import type { Destination, Imported } from '../import/imported.ts';
import { importKubeVip } from '../import/kube-vip.ts';
import { importMetallb } from '../import/metallb.ts';
import { printImported } from '../import/print.ts';
import { type ClusterObjects, type Origin, readCluster } from '../import/read-cluster.ts';
import { ApiUnreachable } from '../sources/kube/api.ts';
import type { Loose } from '../sources/kube/loose-fields.ts';
import { connect } from './cluster-look.ts';
import { type Command, UsageError, type World } from './command.ts';
import { asked, textOf } from './read-path.ts';

const HELP = `usage: herald import metallb | kube-vip | externalipcontroller [-f FILE|DIR]... [options]

Reads the objects of another load balancer and prints Herald's documents for the same. At the top of
the output, as comments, stands what has no counterpart, and what is left to do by hand (annotations
of Services, Secrets). Nothing is changed anywhere; passwords are never printed.

  metallb                IPAddressPool, BGPPeer, BGPAdvertisement, Community, the old ConfigMap, and
                         annotations of Services
  kube-vip               ConfigMaps kubevip and plndr (cidr-*, range-*), the BGP environment of its
                         DaemonSet or static pod, annotations of Services
  externalipcontroller   IpClaimPool, IpClaim, annotations of Services

  -f, --file FILE|DIR    YAML files to read, several are allowed; '-' is the standard input
                         (default: the cluster)
  --for cluster|files    where the documents will live: Secrets hold passwords there, files here
                         (default: cluster)
  --kubeconfig FILE      the cluster to read from (default: KUBECONFIG, then ~/.kube/config)
  --context NAME         context of the kubeconfig (default: its current)
  --json                 documents, commands and gaps as JSON
  --help                 this text

  herald import metallb > herald.yaml; kubectl apply --dry-run=server -f herald.yaml

Exit status: 0 there are documents, 1 there are none or something could not be read, 2 wrong usage.
`;

const FLAGS = {
  file: { type: 'string', short: 'f', multiple: true },
  for: { type: 'string' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  json: { type: 'boolean' },
} as const;

const CONVERTERS: Readonly<
  Record<Origin, (objects: readonly Loose[], destination: Destination) => Imported>
> = {
  metallb: importMetallb,
  'kube-vip': importKubeVip,
  externalipcontroller: importExternalIpController,
};

export const importCommand: Command = {
  name: 'import',
  summary: "turn another load balancer's objects into documents",
  help: HELP,
  async run(args, world) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: FLAGS,
      allowPositionals: true,
    });
    const origin = originOf(positionals);
    const destination = destinationOf(values.for);
    const { file: files = [] } = values;
    const read =
      files.length === 0 ? await fromCluster(origin, values, world) : await fromFiles(files, world);
    const imported = accepted(CONVERTERS[origin](read.objects, destination));
    for (const problem of read.problems) world.stderr.write(`herald import: ${problem}\n`);
    if (imported.documents.length === 0 && imported.gaps.length === 0) {
      world.stderr.write(`herald import: nothing of ${origin} was found\n`);
      return 1;
    }
    const text = values.json
      ? `${JSON.stringify(imported, undefined, 2)}\n`
      : printImported(imported, origin);
    world.stdout.write(text);
    return imported.documents.length === 0 || read.problems.length > 0 ? 1 : 0;
  },
};

function originOf([first, ...more]: readonly string[]): Origin {
  if (first === 'metallb' || first === 'kube-vip' || first === 'externalipcontroller') {
    if (more.length === 0) return first;
    throw new UsageError(`'${more.join(' ')}' is not expected here: files are named with -f`);
  }
  throw new UsageError('name what to import from: metallb, kube-vip or externalipcontroller');
}

function destinationOf(text = 'cluster'): Destination {
  if (text === 'cluster' || text === 'files') return text;
  throw new UsageError(`--for '${text}' is not known; it is cluster or files`);
}

async function fromCluster(
  origin: Origin,
  values: { kubeconfig?: string; context?: string },
  world: World,
): Promise<ClusterObjects> {
  const { api } = await connect(values, world);
  try {
    return await readCluster(api, origin);
  } catch (error) {
    if (!(error instanceof ApiUnreachable)) throw error;
    return { objects: [], problems: [`the API server does not answer: ${error.message}`] };
  } finally {
    api.close();
  }
}

const YAML = /\.(ya?ml|json)$/;

async function fromFiles(paths: readonly string[], world: World): Promise<ClusterObjects> {
  const objects: Loose[] = [];
  const problems: string[] = [];
  for (const path of paths.flatMap(expanded)) {
    const read = parseObjects(path === '-' ? await stdinText(world) : textOf(path));
    if (read.ok) objects.push(...read.objects);
    else problems.push(`${path}: ${read.sentence}`);
  }
  return { objects, problems };
}

async function stdinText({ stdin }: World): Promise<string> {
  let text = '';
  stdin.setEncoding('utf8');
  for await (const chunk of stdin) text += chunk;
  return text;
}

/** of a directory its YAML files, in order, and nothing below it */
function expanded(path: string): readonly string[] {
  if (path === '-' || !isDirectory(path)) return [path];
  const names = readdirSync(path).filter((name) => YAML.test(name));
  return names.toSorted().map((name) => join(path, name));
}

function isDirectory(path: string): boolean {
  return asked(path, () => statSync(path).isDirectory());
}
