import { expect } from 'chai';
import { renderClusterStatus } from '../../../src/cluster-view/render-status.ts';
import { clusterStatus } from '../../../src/cluster-view/status.ts';
import { readStatusObjects } from '../../../src/cluster-view/status-objects.ts';
import { RELEASED_BY_ANNOTATION } from '../../../src/model/names.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS, LEASES } from '../../../src/sources/kube/resources.ts';
import type { MemoryCall } from '../../support/memory-kube-api.ts';
import { condition, NOW_MS, Scenery, STYLE, session } from './scenery.ts';

const told = async (scene: Scenery) => {
  const answer = clusterStatus(await readStatusObjects(scene.api, 'https://c, test'), NOW_MS);
  return { answer, text: renderClusterStatus(answer, STYLE) };
};

const lease = (renewTime: string) => ({
  metadata: { name: 'herald-controller', namespace: 'herald-system' },
  spec: {
    holderIdentity: 'controller-1',
    renewTime,
    acquireTime: '2026-01-01T00:00:00.000000Z',
    leaseDurationSeconds: 15,
  },
});

describe('status of a cluster', () => {
  it('shows who leads, nodes and sessions, pools, claims by phase, and who waits', async () => {
    const scene = new Scenery();
    await scene.api.create(LEASES, lease('2026-01-01T00:00:58.000000Z'));
    await scene.pool();
    await scene.claim();
    const released = { name: '198.51.100.11', annotations: { [RELEASED_BY_ANNOTATION]: 'a/b' } };
    await scene.api.create(IP_CLAIMS, { metadata: released, spec: {} });
    await scene.api.create(IP_CLAIMS, {
      metadata: { name: '198.51.100.12' },
      spec: { withdrawn: { reason: 'x' } },
    });
    await scene.api.create(IP_CLAIMS, { metadata: { name: '198.51.100.13' }, spec: {} });
    const why = 'pool public has no free address';
    await scene.service([condition('herald.dev/Allocated', 'False', 'PoolExhausted', why)]);
    await scene.node('node-a', { routes: 4 });
    const out = { open: false, reason: 'NotJoined', message: 'its Node is not Ready', since: '' };
    const down = session('tor-b', 'Active', 'Bad Peer AS');
    await scene.node('node-b', { joined: out, sessions: [session('tor-a'), down] });
    const { text, answer } = await told(scene);
    expect(answer.claims).to.deep.equal({
      pending: 1,
      placed: 1,
      refused: 0,
      withdrawn: 1,
      released: 1,
    });
    expect(text).to.include('controller  controller-1 leads for 1m00s, heard 2s ago');
    expect(text).to.include('Nodes: 1 of 2 joined, 3 of 4 sessions established');
    expect(text).to.match(/node-a +yes +4 +tor-a +192\.0\.2\.1 +Established +1m00s/);
    expect(text).to.include('not joined: its Node is not Ready');
    expect(text).to.include('Bad Peer AS');
    expect(text).to.match(/public +1 +255 +256/);
    expect(text).to.include('Claims: 4 (1 pending, 1 placed, 1 withdrawn, 1 released)');
    expect(text).to.match(/shop\/web +1m00s +PoolExhausted/);
    expect(text).to.include(why);
  });

  it('says that nobody leads', async () => {
    const scene = new Scenery();
    expect((await told(scene)).text).to.include('nobody leads: no Service gets an address');
    await scene.api.create(LEASES, lease('2026-01-01T00:00:00.000000Z'));
    expect((await told(scene)).text).to.include('nobody leads: controller-1 was heard 1m00s ago');
  });

  it('does without what may not be read, and says so', async () => {
    const forbidden = new ApiError(403, 'Forbidden', 'no');
    const isForbidden = ({ resource }: MemoryCall) =>
      ['services', 'leases'].includes(resource.plural);
    const fault = (call: MemoryCall) =>
      isForbidden(call) ? ({ kind: 'before', error: forbidden } as const) : undefined;
    const { text, answer } = await told(new Scenery({ fault }));
    expect(answer.waiting).to.equal(undefined);
    expect(text).to.include('Note: you may not list services (Forbidden)');
    expect(text).to.include('unknown: its Lease may not be read');
  });
});
