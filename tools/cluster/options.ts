/** What `make cluster` can be told, `CLUSTER='--servers=2 --proxy'`. Pure. */

export interface ClusterWish {
  /** undefined: whatever runs already */
  readonly servers?: number;
  readonly proxy?: boolean;
}

export type ClusterOptions =
  | ({ readonly kind: 'up' } & ClusterWish)
  | { readonly kind: 'down' }
  | { readonly kind: 'help' }
  | { readonly kind: 'wrong'; readonly sentence: string };

const MOST_SERVERS = 5;

export const CLUSTER_HELP = `usage: make cluster [CLUSTER='OPTIONS'], make cluster-down

Leaves etcd and kube-apiserver running on loopback, with Herald's kinds and three Nodes, and says what to put into KUBECONFIG.

  --servers=N  so many API servers on one etcd, 1 to ${MOST_SERVERS}; each has a kubeconfig
  --proxy      a proxy in front of the first one that fails as it is told, by curl
  --down       ends it and removes its files
  --help       this text
`;

export function readClusterOptions(args: readonly string[]): ClusterOptions {
  if (args.includes('--help')) return { kind: 'help' };
  let wish: ClusterWish = {};
  for (const arg of args.filter((each) => each !== '--down')) {
    const servers = /^--servers=(\d+)$/.exec(arg)?.[1];
    if (arg === '--proxy') wish = { ...wish, proxy: true };
    else if (servers !== undefined && isPossible(Number(servers)))
      wish = { ...wish, servers: Number(servers) };
    else return { kind: 'wrong', sentence: sentenceFor(arg) };
  }
  return args.includes('--down') ? { kind: 'down' } : { kind: 'up', ...wish };
}

const isPossible = (servers: number) => servers >= 1 && servers <= MOST_SERVERS;

function sentenceFor(arg: string): string {
  if (arg.startsWith('--servers'))
    return `${arg}: write --servers=N, with N from 1 to ${MOST_SERVERS}.`;
  return `${arg} is unknown; there are --servers=N, --proxy, --down and --help.`;
}
