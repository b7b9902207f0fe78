/** `herald plan -f CHANGE.yaml`: which sessions and routes a change would change, before it is made. Reads only. */

import { readdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CannotLook } from '../cluster-view/asking.ts';
import type { Documents } from '../model/documents.ts';
import { NO_DOCUMENTS } from '../model/documents.ts';
import { plan } from '../plan/plan.ts';
import { conflictsOf } from '../plan/plan-conflicts.ts';
import { changed, readChange } from '../plan/plan-documents.ts';
import { removalOf } from '../plan/plan-names.ts';
import type { PlanNode } from '../plan/plan-view.ts';
import { readPlanCluster } from '../plan/read-plan-cluster.ts';
import { isTouched, renderPlan } from '../plan/render-plan.ts';
import { connect } from './cluster-look.ts';
import { type Command, UsageError, type World } from './command.ts';
import { styleOf } from './look.ts';
import { asked, textOf } from './read-path.ts';

const HELP = `usage: herald plan -f CHANGE.yaml [options]

Says which BGP sessions and routes would change on which node if the documents of a file were
applied: the agents' own decision, made twice. Nothing is written. What the controller would do
after that (place a claim again, give an address to a Service that waits) is not part of it.

  -f, --file FILE         IPPools, BGPPeers and IPClaims as they shall be; several are allowed
  --delete KIND/NAME      as if this document were deleted: BGPPeer/tor-a; several are allowed.
                          KIND as kubectl takes it: bgppeer, bgppeers and bgpp are BGPPeer too
  --source files:DIR      plan for this machine's agent and its documents in DIR, not for a cluster
  --node-name NAME        with files: this machine's name (default: its host name)
  --kubeconfig FILE       the cluster (default: KUBECONFIG, then ~/.kube/config)
  --context NAME          context of the kubeconfig (default: its current)
  --json                  the plan as JSON
  --help                  this text

Exit status: 0 it would work, 1 the change would be refused or there is no answer, 2 wrong usage.
`;

const FLAGS = {
  file: { type: 'string', short: 'f', multiple: true },
  delete: { type: 'string', multiple: true },
  source: { type: 'string' },
  'node-name': { type: 'string' },
  kubeconfig: { type: 'string' },
  context: { type: 'string' },
  namespace: { type: 'string', short: 'n' },
  json: { type: 'boolean' },
} as const;

interface Standing {
  readonly documents: Documents;
  readonly nodes: readonly PlanNode[];
  readonly refusedNow?: ReadonlySet<string>;
}

export const planCommand: Command = {
  name: 'plan',
  summary: 'say which sessions and routes a change of documents would change',
  help: HELP,
  async run(args, world) {
    const { values } = parseArgs({ args: [...args], options: FLAGS });
    const { file: files = [], delete: remove = [], source } = values;
    if (files.length + remove.length === 0)
      throw new UsageError('name a change, with -f or --delete');
    const from = source === undefined ? 'api' : 'files';
    const change = readChange(files.map(textOf).join('\n---\n'), from);
    if (!change.ok) return complain(change.sentences, world);
    let standing: Standing;
    try {
      standing =
        source === undefined
          ? await ofCluster(values, world)
          : ofFiles(source, values['node-name'] ?? hostname());
    } catch (error) {
      if (!(error instanceof CannotLook)) throw error;
      return complain([error.message], world);
    }
    const { documents, nodes } = standing;
    const { subjects, sentences } = removals(remove, documents);
    if (sentences.length > 0) return complain(sentences, world);
    const after = changed(documents, { put: change.put, remove: subjects }, from);
    const conflicts = conflictsOf({ ...standing, before: documents, after });
    if (conflicts.length > 0) return complain(conflicts, world);
    const made = plan(documents, after, nodes);
    const text =
      made.nodes.some(isTouched) || made.notes.length > 0
        ? renderPlan(made, styleOf(world))
        : 'Nothing changes on any node\n';
    world.stdout.write(values.json ? `${JSON.stringify(made, undefined, 2)}\n` : text);
    return made.nodes.some(({ sessions }) => sessions.some(isRefused)) ? 1 : 0;
  },
};

function isRefused({ what }: { readonly what: string }): boolean {
  return what === 'refused';
}

function removals(remove: readonly string[], documents: Documents) {
  const found = remove.map((written) => removalOf(written, documents));
  const sentences = found.flatMap((each) => (each.ok ? [] : [each.sentence]));
  if (found.some((each) => !each.ok && each.isUsage)) throw new UsageError(sentences.join('; '));
  return { subjects: found.flatMap((each) => (each.ok ? [each.subject] : [])), sentences };
}

function complain(sentences: readonly string[], world: World): number {
  for (const sentence of sentences) world.stderr.write(`herald plan: ${sentence}\n`);
  return 1;
}

async function ofCluster(
  values: { kubeconfig?: string; context?: string },
  world: World,
): Promise<Standing> {
  const { api } = await connect(values, world);
  try {
    return await readPlanCluster(api);
  } finally {
    api.close();
  }
}

function ofFiles(source: string, name: string): Standing {
  const folder = source.startsWith('files:') ? source.slice('files:'.length) : '';
  if (folder === '') throw new UsageError(`--source '${source}' is not known; write files:DIR`);
  const names = asked(folder, () => readdirSync(folder)).filter((each) => /\.ya?ml$/.test(each));
  const read = readChange(names.map((each) => textOf(join(folder, each))).join('\n---\n'), 'files');
  if (!read.ok) throw new UsageError(`${folder}: ${read.sentences.join('; ')}`);
  const documents = changed(NO_DOCUMENTS, { put: read.put, remove: [] }, 'files');
  return { documents, nodes: [{ name, labels: { 'kubernetes.io/hostname': name } }] };
}
