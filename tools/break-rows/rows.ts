/**
 * Behaviours of docs/seeds.md and the one line that each of them hangs on: `line` stands exactly once in `file`, `broken` takes its place, and then the
 * named test must fail. The tests here are those of the unit ring, which takes minutes; lab-rows.ts has those with real routers and API servers.
 */

export interface BrokenRow {
  /** the ring of its test; without it, unit */
  readonly suite?: 'standalone' | 'cluster';
  readonly row: string;
  readonly file: string;
  readonly line: string;
  readonly broken: string;
  readonly test: string;
  /** a title, or the part of it that is enough */
  readonly title: string;
}

const SCHEDULER = 'test/src/scheduler';
const ALLOCATOR = 'test/src/allocator';

export const BROKEN_ROWS: readonly BrokenRow[] = [
  {
    row: 'A2',
    file: 'src/scheduler/eligible.ts',
    line: '  if (hasSession(ipNode)) return undefined;',
    broken: '  if (sessions.length > 0) return undefined;',
    test: `${SCHEDULER}/eligible.test.ts`,
    title: 'without sessions (uplink cut): gone',
  },
  {
    row: 'A9',
    file: 'src/controller/election-rules.ts',
    line: "  return contender.nowMs >= expiryMs(state, record, contender) ? 'take' : 'wait';",
    broken: "  return contender.nowMs >= Date.parse(record.renewTime) ? 'take' : 'wait';",
    test: 'test/src/controller/election-rules.test.ts',
    title: 'waits the length of a lease from when it first saw the record',
  },
  {
    row: 'A10',
    file: 'src/scheduler/assign.ts',
    line: '    this.count(node);\n    return { kind:',
    broken: '    return { kind:',
    test: `${SCHEDULER}/assign.test.ts`,
    title: 'spreads a burst of 100 claims over three nodes as 33, 33 and 34',
  },
  {
    row: 'A11',
    file: 'src/scheduler/assign.ts',
    line: '  return keeps.has(node) || isEligible(node);',
    broken: "  return keeps.has(node) || (claim.nodeFilter === 'fair' && isEligible(node));",
    test: `${SCHEDULER}/assign.test.ts`,
    title: 'puts all on the first living node, and lets them stay when an earlier one comes back',
  },
  {
    row: 'A14',
    file: 'src/model/lease-times.ts',
    line: '    fenceMs: durationMs * 0.8,',
    broken: '    fenceMs: durationMs * 8,',
    test: 'test/src/agent/kube-report/kube-report.test.ts',
    title:
      'steps down when the API is cut off, and never comes back to what was given away meanwhile',
  },
  {
    row: 'A15',
    file: 'src/scheduler/heard-clock.ts',
    line: '  return gapMs > DEFAULT_LEASE_TIMES.deafMs ? 0 : Math.min(gapMs, deafMs);',
    broken: '  return gapMs;',
    test: `${SCHEDULER}/liveness.test.ts`,
    title: 'holds a stall in which nobody is heard against nobody (3 nodes)',
  },
  {
    row: 'A17',
    file: 'src/scheduler/liveness.ts',
    line: 'const PROOFS = 2;',
    broken: 'const PROOFS = 1;',
    test: `${SCHEDULER}/liveness.test.ts`,
    title: 'believes in a node after two renewals that it has seen itself',
  },
  {
    row: 'C10',
    file: 'src/allocator/free-numbers.ts',
    line: '      if (this.#at(parent) <= number) break;',
    broken: '      if (this.#at(parent) >= number) break;',
    test: `${ALLOCATOR}/address-book.test.ts`,
    title: 'gives what came back the lowest first, whatever the order it came in',
  },
  {
    row: 'C13',
    file: 'src/allocator/waiting.ts',
    line: '      if (wants(wish, from.pool, from.family)) older += 1n;',
    broken: '      if (wants(wish, from.pool, from.family)) older += 0n;',
    test: `${ALLOCATOR}/decide-service.test.ts`,
    title: 'leaves what is free to those that wait longer',
  },
  {
    row: 'C14',
    file: 'src/allocator/pool-choice.ts',
    line: '(a, b) => b.priority - a.priority || ',
    broken: '(a, b) => ',
    test: `${ALLOCATOR}/decide-service.test.ts`,
    title: 'tries the highest priority first, then the first by name',
  },
  {
    row: 'C16',
    file: 'src/allocator/sharing.ts',
    line: '  return few.find((port) => taken.has(portNumber(port)));',
    broken: '  return few.find((port) => taken.has(-portNumber(port)));',
    test: `${ALLOCATOR}/sharing.test.ts`,
    title: 'refuses a requested address with the Service and the port that are in the way',
  },
  {
    row: 'C17',
    file: 'src/allocator/claim-record.ts',
    line: '      (entry.uid === undefined || entry.uid === service.uid),',
    broken: '      (entry.uid === undefined || service.uid !== undefined),',
    test: `${ALLOCATOR}/decide-service.test.ts`,
    title: 'does not inherit the claim of one of the same name that is gone',
  },
  {
    row: 'C20',
    file: 'src/allocator/decide-service.ts',
    line: '  const leave = claimsToLeave(each, grants, needed.length === 0);',
    broken: '  const leave = claimsToLeave(each, grants, false);',
    test: `${ALLOCATOR}/decide-service.test.ts`,
    title:
      'takes the new before it gives up the old, and keeps the old while the new cannot be had',
  },
  {
    row: 'D29',
    file: 'src/controller/release-rules.ts',
    line: "  return versionNumber(node.status.observedClaims ?? '') < version;",
    broken: "  return (node.status.observedClaims ?? '') < claim.resourceVersion;",
    test: 'test/src/controller/release-rules.test.ts',
    title: 'waits for every node that has joined, compared as numbers',
  },
  {
    row: 'H3',
    file: 'src/sources/kube/key-queue.ts',
    line: '  #addNow(key: string): void {\n    this.#forgetLater(key);',
    broken: '  #addNow(key: string): void {\n    if (this.#later.has(key)) return;',
    test: 'test/src/sources/kube/key-queue.test.ts',
    title: 'lets news overtake a retry: what was true before is not brought back',
  },
  {
    row: 'H5',
    file: 'src/scheduler/liveness.ts',
    line: '    if (known.uid === lease.uid && known.mark === lease.mark) return;',
    broken: '    if (known.mark >= lease.mark) return;',
    test: `${SCHEDULER}/liveness.test.ts`,
    title: 'counts a Lease that was made anew as a sign of life, whatever it says',
  },
  {
    row: 'H7',
    file: 'src/scheduler/liveness.ts',
    line: '    const areMany = of >= FEWEST_TO_BE_MANY && late * 2 > of;',
    broken: '    const areMany = of > 10 * FEWEST_TO_BE_MANY && late * 2 > of;',
    test: `${SCHEDULER}/liveness.test.ts`,
    title:
      'is blind when two of three fall silent together, for one further duration and no longer',
  },
  {
    row: 'H16',
    file: 'src/sources/kube/object-cache.ts',
    line: '      if (!entries.has(key)) this.#drop(key, changes);',
    broken: '      if (!entries.has(key)) this.#versions.delete(key);',
    test: 'test/src/sources/kube/informer.test.ts',
    title: 'lists again when its version is gone, and tells the differences',
  },
  {
    row: 'H25',
    file: 'src/allocator/decide-address.ts',
    line: "  external: ['writing', 'node', 'claim', 'deleted', 'ingress'],",
    broken: "  external: ['writing', 'claim', 'deleted', 'ingress'],",
    test: `${ALLOCATOR}/external-ips.test.ts`,
    title: 'never announces nor gives out what is an address of a node, and says whose',
  },
  {
    row: 'H36',
    file: 'src/agent/joined-gate.ts',
    line: "  if (isOpen) return { name: 'joined', state: 'open', sentence };",
    broken: "  if (sentence !== '') return { name: 'joined', state: 'open', sentence };",
    test: 'test/src/agent/desired.test.ts',
    title: 'joined: closed with the words and the remedy of the join check; the session stays',
  },
  {
    row: 'H38',
    file: 'src/allocator/claim-record.ts',
    line: '  return claim.services.length === 0 && releasedBy(claim) === undefined;',
    broken: '  return false && claim.services.length === 0 && releasedBy(claim) === undefined;',
    test: `${ALLOCATOR}/decide-service.test.ts`,
    title: 'never touches a hand-made claim and never gives its address out',
  },
  {
    row: 'H39',
    file: 'src/scheduler/move.ts',
    line: '  if (unheard !== undefined) {',
    broken: '  if (unheard !== undefined && view.isOverdue) {',
    test: `${SCHEDULER}/move.test.ts`,
    title: 'lets the old holder step down first, and waits until it has',
  },
];
