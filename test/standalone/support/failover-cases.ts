/** Everything that is done to a standalone control plane and measured. docs/failover.md has a row for each, per router. */

export type FailoverCase = {
  readonly id: string;
  readonly title: string;
  /** Who notices, in the words of the page. */
  readonly affected: string;
};

export const failoverCases = [
  {
    id: 'drain',
    title: 'planned stop of an agent (SIGTERM, drained for 1 s)',
    affected: 'nobody: new connections go elsewhere before the route goes',
  },
  {
    id: 'kill',
    title: 'agent killed (SIGKILL) and started again',
    affected:
      'nobody: the kernel closes the session, the router moves on, the machine still answers',
  },
  {
    id: 'agent-frozen',
    title: 'agent alone frozen (SIGSTOP), then thawed',
    affected: 'nobody: the machine still answers until the router expires the session, and after',
  },
  {
    id: 'api-death',
    title: 'API server killed while the agent lives, then started again',
    affected: 'new connections to that master, until the join check has failed twice (every 0.2 s)',
  },
  {
    id: 'machine-frozen',
    title: 'all processes of a master frozen, then thawed',
    affected: 'connections to that master, until the router’s hold timer (3 s) expires',
  },
  {
    id: 'power-off',
    title: 'master powered off (packets dropped, link up), then booted',
    affected: 'connections to that master, until the router’s hold timer (3 s) expires',
  },
  {
    id: 'uplink-cut',
    title: 'uplink of a master cut (carrier lost), then mended',
    affected: 'packets on that link; the router sees the carrier go',
  },
  {
    id: 'router-restart',
    title: 'router daemon restarted',
    affected: 'everybody: it takes its routes with it, until the agents’ sessions are back',
  },
  {
    id: 'planned-move',
    title: 'exclusive address moved to another node, 1,000 probes/s',
    affected: 'nobody',
  },
] as const satisfies readonly FailoverCase[];

export type CaseId = (typeof failoverCases)[number]['id'];

/** What is measured on the way up. The second table of the page has a row for each, per router. */
export const bootCases = [
  {
    id: 'boot-order',
    title: 'router and three masters booted in each of the 24 orders',
    what: 'from the last one switched on to three ways in the router’s kernel',
    kinds: ['bird', 'frr'],
  },
  {
    id: 'join-late',
    title: 'API server ready long after the session is up',
    what: 'from its first 200 to its way in the router’s kernel (two answers, 0.2 s apart)',
    kinds: ['bird', 'frr'],
  },
  {
    id: 'join-never',
    title: 'API server that never gets ready',
    what: 'no prefix on the wire, no address on the machine, by capture',
    kinds: ['bird', 'frr'],
  },
  {
    id: 'kube-apiserver-start',
    title: 'real kube-apiserver started',
    what: 'from its start to its way in the router’s kernel',
    kinds: ['bird'],
  },
  {
    id: 'kube-apiserver-death',
    title: 'real kube-apiserver killed',
    what: 'from the first lost probe to the last',
    kinds: ['bird'],
  },
] as const;

export type BootCaseId = (typeof bootCases)[number]['id'];
