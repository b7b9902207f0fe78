/** `herald explain`: why an address, or a Service, is announced or not, gate by gate. Of the agent of this machine, or of a cluster. */

import { parseArgs } from 'node:util';
import { type Address, formatAddress, parseAddress } from 'bgp-ts';
import type { AgentStatus } from '../agent/status.ts';
import type { Subject } from '../cluster-view/explain-facts.ts';
import { findClaim, renderExplain } from '../control/render-explain.ts';
import {
  askCluster,
  CLUSTER_FLAGS,
  CLUSTER_HELP,
  type ClusterQuestion,
  type ClusterValues,
  isClusterJson,
  namespaceOf,
  whoIsAsked,
} from './cluster-look.ts';
import { type Command, UsageError, type World } from './command.ts';
import { LOOK_FLAGS, LOOK_HELP, type LookValues, look } from './look.ts';

const HELP = `usage: herald explain ADDRESS | NAMESPACE/NAME [options]

Says why an address is announced or not: every gate, per peer, with its state, since when, and what
to do about one that is not open. For an address that nobody has claimed it says what to write.

  joined         the join check has passed
  assigned       the claim is for every node, or for this one
  healthy        the claim's own checks pass
  bound          the address is on its interface, where the claim asks for that
  allowed        a pool holds it, its advertisement selects this node and peer, and there is room
  not-draining   nobody has drained the address or the node

Of a Service, NAMESPACE/NAME (or NAME, with -n), it is the cluster that is asked: what was given to
it or why not, where it is placed, and what each node and each router has of it. An address is asked
of the agent of this machine where one answers, else of the cluster.

${LOOK_HELP}
${CLUSTER_HELP}
  -n, --namespace NAME    the namespace of the Service (default: that of the context)

Exit status: 0 the address is claimed, 1 it is not or nobody answered, 2 wrong usage.
`;

export const explainCommand: Command = {
  name: 'explain',
  summary: 'say why an address or a Service is announced or not, and what to do about it',
  help: HELP,
  async run(args, world) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...LOOK_FLAGS, ...CLUSTER_FLAGS },
      allowPositionals: true,
    });
    const [text, ...others] = positionals;
    if (text === undefined || others.length > 0) {
      throw new UsageError('name one ADDRESS, or one NAMESPACE/NAME');
    }
    const subject = readSubject(text, values, world);
    // an agent knows nothing of Services
    const { whom, ...why } =
      subject.kind === 'service' && values.socket === undefined
        ? ({ whom: 'cluster' } as const)
        : await whoIsAsked(values, world);
    if (whom === 'cluster') {
      return await askCluster('explain', await explainQuestion(subject), values, world);
    }
    if (subject.kind === 'service') throw new UsageError(ONLY_CLUSTER);
    return await explainAgent(subject.address, { ...values, ...why }, world);
  },
};

const ONLY_CLUSTER =
  'an agent knows addresses: a Service is asked of the cluster, without --socket';

async function explainAgent(
  address: Address,
  values: ClusterValues & LookValues,
  world: World,
): Promise<number> {
  const view = {
    text: (status: AgentStatus, style: Parameters<typeof renderExplain>[2]) =>
      renderExplain(status, address, style).text,
    json: (status: AgentStatus) => explainJson(status, address),
    exitCode: (status: AgentStatus) => (findClaim(status, address) === undefined ? 1 : 0),
  };
  const output = isClusterJson(values) ? { output: 'json' } : {};
  return await look('explain', view, { ...values, ...output }, world);
}

async function explainQuestion(subject: Subject) {
  const { explain } = await import('../cluster-view/explain.ts');
  const { readExplainFacts } = await import('../cluster-view/explain-facts.ts');
  const { renderClusterExplain } = await import('../cluster-view/render-explain.ts');
  const question: ClusterQuestion<ReturnType<typeof explain>> = {
    read: async (api) => explain(await readExplainFacts(api, subject), Date.now()),
    text: renderClusterExplain,
    exitCode: ({ claims }) => (claims.length === 0 ? 1 : 0),
  };
  return question;
}

/** a name of Kubernetes: it has no dots and no colons, so no address looks like one */
const NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

function readSubject(text: string, values: ClusterValues, world: World): Subject {
  const [first = '', second, ...more] = text.split('/');
  if (second !== undefined && more.length === 0 && NAME.test(first) && NAME.test(second)) {
    if (values.namespace !== undefined && values.namespace !== first) {
      throw new UsageError(`'${text}' is not in namespace ${values.namespace}: name it once`);
    }
    return { kind: 'service', namespace: first, name: second };
  }
  if (second === undefined && NAME.test(first) && parseAddress(first) === undefined) {
    return { kind: 'service', namespace: namespaceOf(values, world), name: first };
  }
  return { kind: 'address', address: readAddress(text) };
}

/** Also as a host prefix, as it is seen in routing tables. */
export function readAddress(text: string): Address {
  const address = parseAddress(text.replace(text.includes(':') ? /\/128$/ : /\/32$/, ''));
  if (address === undefined) throw new UsageError(`'${text}' is not an IPv4 or IPv6 address`);
  return address;
}

function explainJson(status: AgentStatus, address: Address) {
  const claim = findClaim(status, address);
  const base = { address: formatAddress(address), node: status.node.name };
  return claim === undefined ? { ...base, claimed: false } : { ...base, claimed: true, claim };
}
