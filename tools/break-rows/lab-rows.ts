/**
 * Behaviours that are proven with real routers, kernels and API servers, and the line that each hangs on: the same as rows.ts in the standalone and the cluster suite.
 * Each is run twice, without and with its line, so only the test that it names runs.
 */

import type { BrokenRow } from './rows.ts';

const AGENT = 'test/cluster/agent.test.ts';

export const LAB_ROWS: readonly BrokenRow[] = [
  {
    suite: 'standalone',
    row: 'H36',
    file: 'src/agent/joined-gate.ts',
    line: "  if (isOpen) return { name: 'joined', state: 'open', sentence };",
    broken: "  if (sentence !== '') return { name: 'joined', state: 'open', sentence };",
    test: 'test/standalone/agent/checks.test.ts',
    title: 'joins by exec:, and leaves when the command says so',
  },
  {
    suite: 'standalone',
    row: 'H2',
    file: 'src/agent/drain-gate.ts',
    line: '  return wanted ?? (pool?.drain.waitSeconds ?? 0) * 1000;',
    broken: '  return wanted ?? (pool?.drain.waitSeconds ?? 0) * 0;',
    test: 'test/standalone/agent/stop.test.ts',
    title: 'SIGTERM: GRACEFUL_SHUTDOWN, wait, withdraw, unbind',
  },
  {
    suite: 'standalone',
    row: 'C23',
    file: 'src/agent/agent.ts',
    line: '    while (this.#desired.claims.some(isAnnounced)) await nextChange(this);',
    broken:
      '    this.#binder.release(new Map());\n    while (this.#desired.claims.some(isAnnounced)) await nextChange(this);',
    test: 'test/standalone/agent/stop.test.ts',
    title: 'SIGTERM: GRACEFUL_SHUTDOWN, wait, withdraw, unbind',
  },
  {
    suite: 'standalone',
    row: 'A1',
    file: 'src/agent/binder.ts',
    line: '    return ours.filter((known) => !kept.has(placeKey(known.address, known.interface)));',
    broken: "    return ours.filter((known) => kept.has('') && known.ours);",
    test: 'test/standalone/agent/bind.test.ts',
    title: 'put on with the claim, taken off with it',
  },
  {
    suite: 'cluster',
    row: 'H1',
    file: 'src/model/lease-times.ts',
    line: '    fenceMs: durationMs * 0.8,',
    broken: '    fenceMs: durationMs * 8,',
    test: 'test/cluster/agent-fence.test.ts',
    title: 'cut off from the API it steps down after 12 s',
  },
  {
    suite: 'cluster',
    row: 'D29',
    file: 'src/controller/release-rules.ts',
    line: '  if (!hasJoined || !isFormerNode(annotations, name)) return undefined;',
    broken: '  if (hasJoined || !isFormerNode(annotations, name)) return undefined;',
    test: 'test/cluster/controller-quarantine.test.ts',
    title: 'lasts until a holder that was cut off and replaced has left',
  },
  {
    suite: 'cluster',
    row: 'A2',
    file: 'src/scheduler/eligible.ts',
    line: '  if (hasSession(ipNode)) return undefined;',
    broken: '  if (sessions.length > 0) return undefined;',
    test: 'test/cluster/seeds-failover.test.ts',
    title: 'a node whose uplink is cut holds nothing, though its agent lives',
  },
  {
    suite: 'cluster',
    row: 'H39',
    file: 'src/agent/drain-gate.ts',
    line: '    if (trigger === EXCLUDE_TRIGGER && !isExcludable) return [];',
    broken: '    if (trigger === EXCLUDE_TRIGGER || !isExcludable) return [];',
    test: AGENT,
    title: 'drains on the exclude label what Services have',
  },
  {
    suite: 'cluster',
    row: 'F4',
    file: 'src/agent/service-gate.ts',
    line: "    if (answer === 'serving' || isTrusted) return undefined;",
    broken: '    if (answer !== undefined || isTrusted) return undefined;',
    test: AGENT,
    title: 'a Local Service comes with 200, leaves with 503',
  },
  {
    suite: 'cluster',
    row: 'C1',
    file: 'src/agent/service-gate.ts',
    line: '  if (untilMs === undefined || nowMs >= untilMs) return undefined;',
    broken: '  if (untilMs === undefined || nowMs > 0) return undefined;',
    test: AGENT,
    title: 'a new Service waits for the rules',
  },
  {
    suite: 'cluster',
    row: 'C23',
    file: 'src/agent/kube-report/restart-proof.ts',
    line: "  return newest > mine ? undefined : 'its DaemonSet has no newer revision';",
    broken: "  return newest >= mine ? undefined : 'its DaemonSet has no newer revision';",
    test: 'test/cluster/agent-restart.test.ts',
    title: 'without a newer revision it is going away',
  },
];
