import { expect } from 'chai';
import { type ProxyHealth, parseProxyHealth } from '../../../src/agent/proxy-health.ts';
import { parseProxyMetrics, type SyncCounts } from '../../../src/agent/proxy-metrics.ts';
import { followSyncs, isWrittenByHealth, isWrittenBySyncs } from '../../../src/agent/proxy-sync.ts';

const SEEN = 1_000_000;
const WANTED = { family: 'ipv4', seenMs: SEEN, heardMs: SEEN + 1000 } as const;

/** `began`, `ended`, `queued`: milliseconds after the claim was seen */
function writing(before: SyncCounts | undefined, took: number, ended: number, queued: number) {
  const syncs = (before?.syncs ?? 6) + 1;
  const busyMs = (before?.busyMs ?? 5000) + took;
  return { queuedMs: SEEN + queued, syncedMs: SEEN + ended, syncs, busyMs };
}

describe('whether kube-proxy has written a claim', () => {
  it('is not told by a writing that began before it was heard of, however late it ended', () => {
    const first = writing(undefined, 40, -5000, -5100);
    const second = writing(first, 2500, 2400, 20);
    const starts = followSyncs(followSyncs({}, { ipv4: first }), { ipv4: second });
    expect(starts.ipv4?.startedMs).to.equal(SEEN - 100);
    expect(isWrittenBySyncs(starts, WANTED, SEEN + 2450)).to.equal(false);
    const third = writing(second, 100, 3500, 20);
    expect(isWrittenBySyncs(followSyncs(starts, { ipv4: third }), WANTED, SEEN + 3510)).to.equal(
      true,
    );
  });

  it('is told by one that began after, whatever else has been heard of since', () => {
    const first = writing(undefined, 40, 500, 400);
    const second = writing(first, 100, 1200, 1190);
    const starts = followSyncs(followSyncs({}, { ipv4: first }), { ipv4: second });
    expect(isWrittenBySyncs(starts, WANTED, SEEN + 1210)).to.equal(true);
  });

  it('is told by nothing being left to write, but not before it can have been heard of', () => {
    const first = writing(undefined, 40, 10, 5);
    const second = writing(first, 30, 60, 20);
    const starts = followSyncs(followSyncs({}, { ipv4: first }), { ipv4: second });
    expect(isWrittenBySyncs(starts, WANTED, SEEN + 900)).to.equal(false);
    expect(isWrittenBySyncs(starts, WANTED, SEEN + 1000)).to.equal(true);
  });

  it('is told by a kube-proxy at rest, though nobody saw it begin', () => {
    const rest = followSyncs({}, { ipv4: writing(undefined, 40, -5000, -5100) });
    expect(isWrittenBySyncs(rest, { ...WANTED, heardMs: SEEN + 100 }, SEEN + 120)).to.equal(true);
    const busy = followSyncs({}, { ipv4: writing(undefined, 40, -900, -910) });
    expect(isWrittenBySyncs(busy, { ...WANTED, heardMs: SEEN + 100 }, SEEN + 120)).to.equal(false);
  });

  it('is unknown when more than one was missed, and for a family that has none', () => {
    const first = writing(undefined, 40, 1100, 5);
    const later = { ...writing(first, 200, 2300, 5), syncs: first.syncs + 2 };
    const starts = followSyncs(followSyncs({}, { ipv4: first }), { ipv4: later });
    expect(starts.ipv4?.startedMs).to.equal(undefined);
    expect(isWrittenBySyncs(starts, { ...WANTED, family: 'ipv6' }, SEEN + 9000)).to.equal(false);
  });
});

describe('the metrics of kube-proxy', () => {
  const lines = (labels: string) =>
    [
      '# HELP kubeproxy_sync_proxy_rules_last_timestamp_seconds [ALPHA] The last time',
      `kubeproxy_sync_proxy_rules_duration_seconds_bucket{ip_family="IPv4",le="0.1"} 3`,
      `kubeproxy_sync_proxy_rules_duration_seconds_sum${labels} 0.25`,
      `kubeproxy_sync_proxy_rules_duration_seconds_count${labels} 4`,
      `kubeproxy_sync_proxy_rules_last_queued_timestamp_seconds${labels} 1.76328624612345e+09`,
      `kubeproxy_sync_proxy_rules_last_timestamp_seconds${labels} 1.763286247e+09`,
      '',
    ].join('\n');
  const counts = {
    queuedMs: 1_763_286_246_123.45,
    syncedMs: 1_763_286_247_000,
    syncs: 4,
    busyMs: 250,
  };

  it('are read by family, and for both where they are not told apart', () => {
    expect(parseProxyMetrics(lines('{ip_family="IPv6"}'))).to.deep.equal({ ipv6: counts });
    expect(parseProxyMetrics(lines(''))).to.deep.equal({ ipv4: counts, ipv6: counts });
  });

  it('are nothing from anybody else, or before the first writing', () => {
    expect(parseProxyMetrics('go_goroutines 12\n')).to.equal(undefined);
    expect(parseProxyMetrics(lines('').replace('_count 4', '_count 0'))).to.equal(undefined);
    expect(parseProxyMetrics(lines('').replace('e+09', 'e+999'))).to.equal(undefined);
  });
});

describe('what kube-proxy says of its health', () => {
  const told = (body: string, after: number, status = 200) => {
    const health: ProxyHealth | undefined = parseProxyHealth(status, body);
    return health === undefined ? undefined : isWrittenByHealth(health, WANTED, SEEN + after);
  };
  const body = (ipv4: number) =>
    JSON.stringify({
      lastUpdated: new Date(SEEN + 9000).toISOString(),
      status: {
        IPv4: { lastUpdated: new Date(SEEN + ipv4).toISOString(), healthy: true },
        IPv6: { lastUpdated: new Date(SEEN + 9000).toISOString(), healthy: true },
      },
    });

  it('is when the rules of the family were written, not when it answered', () => {
    expect(told(body(-1000), 1500)).to.equal(false);
    expect(told(body(500), 1500)).to.equal(false);
    expect(told(body(1100), 1500)).to.equal(true);
  });

  it('is enough when nothing was written for a second more', () => {
    expect(told(body(500), 2000)).to.equal(true);
    expect(told(body(-1000), 2000)).to.equal(false);
  });

  it('is nothing before its first sync', () => {
    expect(told('{"lastUpdated":"2030-01-01T00:00:00Z","status":{}}', 5000)).to.equal(false);
  });

  it('is a matter of time in releases that do not tell', () => {
    const old = '{"lastUpdated":"2030-01-01T00:00:00Z","currentTime":"2030-01-01T00:00:00Z"}';
    expect(told(old, 1500)).to.equal(false);
    expect(told(old, 2000)).to.equal(true);
    expect(parseProxyHealth(404, old)).to.equal(undefined);
    expect(parseProxyHealth(503, 'no JSON')).to.deep.equal({ isHealthy: false });
  });
});
