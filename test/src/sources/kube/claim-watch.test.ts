import { expect } from 'chai';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import type { KubeObject, WatchEnd, WatchOptions } from '../../../../src/sources/kube/api.ts';
import { ClaimWatch } from '../../../../src/sources/kube/claim-watch.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const NODE_LABEL = nodeLabel('n1');
const VIP = '198.51.100.7';

function claim(version: number, label: string, spec: object): KubeObject {
  const metadata = {
    name: VIP,
    uid: VIP,
    resourceVersion: String(version),
    labels: { [label]: '' },
  };
  return { metadata, spec: { checks: [], ...spec } };
}
const WITHDRAWN = { withdrawn: { at: '2026-01-01T00:00:00Z' } };

/** Lists and watches say what the test says, each in its own time; a GET waits until the test answers it. */
class TalkedInto extends MemoryKubeApi {
  readonly lists = new Map<string, readonly KubeObject[]>();
  readonly watches = new Map<string, WatchOptions>();
  readonly gets: ((found: KubeObject) => void)[] = [];

  override async list(_: unknown, { labelSelector = '' }: { labelSelector?: string } = {}) {
    return { resourceVersion: '1', items: this.lists.get(labelSelector) ?? [] };
  }

  override get(): Promise<KubeObject> {
    return new Promise((resolve) => this.gets.push(resolve));
  }

  override watch(_: unknown, options: WatchOptions): Promise<WatchEnd> {
    this.watches.set(options.labelSelector ?? '', options);
    options.onOpen?.();
    return new Promise((resolve) =>
      options.signal.addEventListener('abort', () => resolve({ kind: 'closed' })),
    );
  }
}

async function turns(clock: ManualClock): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) {
    clock.advance(10);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('the watch of the claims of a node', () => {
  it('is opened for seconds, and given up when it is silent for 8 s, while an exclusive claim is placed here (C4)', async () => {
    const api = new TalkedInto();
    const clock = new ManualClock();
    const random = new SeededRandom(7);
    const watch = new ClaimWatch({
      ...{ api, clock, random, log: SILENT_LOG, nodeName: 'n1', onNews: () => undefined },
    });
    watch.start();
    await turns(clock);
    const long = api.watches.get(NODE_LABEL);
    expect(long?.timeoutSeconds, 'with none').to.be.above(200);
    expect(watch.placedHeardMs).to.equal(undefined);
    const heardMs = clock.now();
    long?.onEvent({ kind: 'added', object: claim(2, NODE_LABEL, {}) });
    await turns(clock);
    const short = api.watches.get(NODE_LABEL);
    expect(short?.timeoutSeconds, 'with one').to.be.within(7, 8);
    expect(short?.silentAfterMs).to.equal(8000);
    expect(watch.placedHeardMs).to.be.at.least(heardMs);
    expect(api.watches.get(ANYCAST_LABEL)?.timeoutSeconds, 'of the others').to.be.above(200);
    short?.onEvent({ kind: 'deleted', object: claim(3, NODE_LABEL, {}) });
    expect(watch.placedHeardMs, 'when it has left').to.equal(undefined);
    watch.stop();
  });

  it('asks again when an answer came too late to be believed, though no watch says a word', async () => {
    const api = new TalkedInto();
    const clock = new ManualClock();
    const random = new SeededRandom(7);
    const watch = new ClaimWatch({
      ...{ api, clock, random, log: SILENT_LOG, nodeName: 'n1', onNews: () => undefined },
    });
    api.lists.set(NODE_LABEL, [claim(1, NODE_LABEL, WITHDRAWN)]);
    watch.start();
    await turns(clock);
    const anycast = api.watches.get(ANYCAST_LABEL);
    anycast?.onEvent({ kind: 'added', object: claim(2, ANYCAST_LABEL, WITHDRAWN) });
    anycast?.onEvent({ kind: 'deleted', object: claim(3, ANYCAST_LABEL, {}) });
    await turns(clock);
    expect(api.gets.length).to.equal(1);
    anycast?.onEvent({ kind: 'bookmark', resourceVersion: '4' });
    expect(watch.observe()).to.equal(4n);
    const atThree = claim(3, NODE_LABEL, {});
    api.gets[0]?.(atThree);
    await turns(clock);
    expect(watch.items.get(VIP)?.isActive).to.equal(false);
    expect(api.gets.length).to.equal(2);
    api.gets[1]?.(atThree);
    await turns(clock);
    expect(watch.items.get(VIP)?.isActive).to.equal(true);
    expect(api.gets.length).to.equal(2);
    watch.stop();
  });
});
