/** `herald status`: what the agent of this machine does, or what a whole cluster does, and what keeps it from doing more. */

import { parseArgs } from 'node:util';
import { renderStatus } from '../control/render-status.ts';
import {
  askCluster,
  CLUSTER_FLAGS,
  CLUSTER_HELP,
  type ClusterQuestion,
  isClusterJson,
  whoIsAsked,
} from './cluster-look.ts';
import type { Command } from './command.ts';
import { LOOK_FLAGS, LOOK_HELP, look } from './look.ts';

const HELP = `usage: herald status [options]

Shows the agent of this machine: whether it has joined, its BGP sessions, its claims with the first
gate that is not open, documents that were refused, and warnings.

Where no agent answers, or --kubeconfig, --context or --cluster is given, it shows the cluster: who
leads, nodes and their sessions, pools, claims by phase, Services that wait for an address. It reads
with your own rights: the ClusterRole herald-view, or Kubernetes' own view, are enough.

${LOOK_HELP}
${CLUSTER_HELP}
  -n, --namespace NAME    of the cluster's Services only those of this namespace

Exit status: 0 there is an answer, 1 there is none, 2 wrong usage.
`;

export const statusCommand: Command = {
  name: 'status',
  summary: "show an agent's or a cluster's sessions, claims and what needs attention",
  help: HELP,
  async run(args, world) {
    const { values } = parseArgs({ args: [...args], options: { ...LOOK_FLAGS, ...CLUSTER_FLAGS } });
    const { whom, ...why } = await whoIsAsked(values, world);
    if (whom === 'cluster') {
      return await askCluster('status', await statusQuestion(values), values, world);
    }
    const output = isClusterJson(values) ? { output: 'json' } : {};
    const view = { text: renderStatus, json: (status: unknown) => status };
    return await look('status', view, { ...values, ...output, ...why }, world);
  },
};

async function statusQuestion({ namespace }: { namespace?: string }) {
  const { clusterStatus } = await import('../cluster-view/status.ts');
  const { readStatusObjects } = await import('../cluster-view/status-objects.ts');
  const { renderClusterStatus } = await import('../cluster-view/render-status.ts');
  const question: ClusterQuestion<ReturnType<typeof clusterStatus>> = {
    read: async (api, origin) =>
      clusterStatus(await readStatusObjects(api, origin, namespace), Date.now()),
    text: renderClusterStatus,
  };
  return question;
}
