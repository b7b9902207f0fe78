import { expect } from 'chai';
import { SILENT_LOG } from '../../../../src/log/log.ts';
import { ANYCAST_LABEL, nodeLabel } from '../../../../src/model/names.ts';
import type {
  KubeObject,
  ListOptions,
  WatchEnd,
  WatchOptions,
} from '../../../../src/sources/kube/api.ts';
import { ClaimWatch } from '../../../../src/sources/kube/claim-watch.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';
import { SeededRandom } from '../../../support/seeded-random.ts';

const NODE_LABEL = nodeLabel('n1');
const VIP = '198.51.100.7';

function claim(version: number, label: string, spec: object, name = VIP): KubeObject {
  const metadata = {
    name,
    uid: name,
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
  readonly asked: ListOptions[] = [];
  /** of every list */
  listVersion = '1';

  override async list(_: unknown, options: ListOptions = {}) {
    this.asked.push(options);
    const { labelSelector = '' } = options;
    return { resourceVersion: this.listVersion, items: this.lists.get(labelSelector) ?? [] };
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

  describe('of which many leave at once', () => {
    const MANY = 2000;
    const nameOf = (index: number) => `10.1.${index >> 8}.${index & 255}`;

    async function started() {
      const api = new TalkedInto();
      const clock = new ManualClock();
      const random = new CountedRandom(7);
      const watch = new ClaimWatch({
        ...{ api, clock, random, log: SILENT_LOG, nodeName: 'n1', onNews: () => undefined },
      });
      const all = Array.from({ length: MANY }, (_, index) =>
        claim(1, ANYCAST_LABEL, {}, nameOf(index)),
      );
      api.lists.set(ANYCAST_LABEL, all);
      watch.start();
      await turns(clock);
      expect(watch.items.size).to.equal(MANY);
      const leave = (from: number, to: number) => {
        const anycast = api.watches.get(ANYCAST_LABEL);
        for (let index = from; index < to; index += 1) {
          const object = claim(10 + index, ANYCAST_LABEL, {}, nameOf(index));
          anycast?.onEvent({ kind: 'deleted', object });
        }
        api.listVersion = String(9 + to);
      };
      return { api, clock, random, watch, leave };
    }

    it('plans each question once, not all that are open at each event', async () => {
      const { random, watch, leave } = await started();
      random.drawn = 0;
      leave(0, MANY);
      expect(random.drawn).to.be.below(3 * MANY);
      watch.stop();
    });

    it('lets go of all of them by one list of the other watch, and asks for none', async () => {
      const { api, clock, watch, leave } = await started();
      leave(0, MANY);
      expect(watch.items.size, 'before anybody knows').to.equal(MANY);
      for (let round = 0; round < 10; round += 1) await turns(clock);
      expect(watch.items.size).to.equal(0);
      // the first few were asked about before there were many
      expect(api.gets.length).to.be.below(40);
      const proofs = api.asked.slice(2);
      expect(proofs.map(({ labelSelector }) => labelSelector)).to.deep.equal([NODE_LABEL]);
      expect(proofs[0]?.resourceVersion).to.equal(String(9 + MANY));
      watch.stop();
    });

    it('lets go of none that the list has, and asks for each then', async () => {
      const { api, clock, watch, leave } = await started();
      api.lists.set(NODE_LABEL, [claim(12, NODE_LABEL, {}, nameOf(2))]);
      leave(0, 100);
      for (let round = 0; round < 30; round += 1) {
        await turns(clock);
        for (const [index, found] of api.gets.splice(0).entries()) {
          found(claim(200 + index, NODE_LABEL, {}, nameOf(index)));
        }
        expect(watch.items.size, `in round ${round}`).to.equal(MANY);
      }
      watch.stop();
    });

    it("asks at once about what was this node's alone", async () => {
      const { api, clock, watch } = await started();
      const say = (kind: 'added' | 'deleted', index: number, version: number) => {
        const object = claim(version, NODE_LABEL, {}, `10.2.0.${index}`);
        api.watches.get(NODE_LABEL)?.onEvent({ kind, object });
      };
      say('added', 0, 5000);
      // the first one opens another watch
      await turns(clock);
      for (let index = 1; index < 100; index += 1) say('added', index, 5000 + index);
      expect(watch.items.size).to.equal(MANY + 100);
      for (let index = 0; index < 100; index += 1) say('deleted', index, 5200 + index);
      await new Promise((resolve) => setImmediate(resolve));
      expect(api.gets.length, 'as many as are asked at a time').to.equal(8);
      watch.stop();
    });

    it('keeps its questions when a bookmark comes that is older than a proof', async () => {
      const { api, clock, watch, leave } = await started();
      leave(0, 100);
      for (let round = 0; round < 10; round += 1) await turns(clock);
      expect(watch.items.size).to.equal(MANY - 100);
      leave(100, 110);
      const node = api.watches.get(NODE_LABEL);
      node?.onEvent({ kind: 'bookmark', resourceVersion: '50' });
      expect(watch.items.size, 'until somebody knows').to.equal(MANY - 100);
      watch.stop();
    });
  });
});

class CountedRandom extends SeededRandom {
  drawn = 0;

  override next(): number {
    this.drawn += 1;
    return super.next();
  }
}
