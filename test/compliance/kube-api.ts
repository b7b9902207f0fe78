/**
 * What every KubeApi must do. The program's client runs it against a real API server (test/cluster), the one in memory beside
 * it: what unit tests believe of the memory is what a server does.
 */

import { expect } from 'chai';
import { API_VERSION } from '../../src/model/names.ts';
import {
  ApiError,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeApi,
  type KubeObject,
  type WatchEnd,
} from '../../src/sources/kube/api.ts';
import { IP_CLAIMS, IP_POOLS, inNamespace, LEASES } from '../../src/sources/kube/resources.ts';
import { untilValue } from '../support/poll.ts';

const claim = (name: string, pool: string, labels: Readonly<Record<string, string>> = {}) => ({
  apiVersion: API_VERSION,
  kind: 'IPClaim',
  metadata: { name, labels },
  spec: { pool },
});

const leases = inNamespace(LEASES, 'default');
const lease = (name: string, holder: string) => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: { holderIdentity: holder },
});

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('it should have failed');
}

const versionOf = ({ metadata }: KubeObject) => metadata.resourceVersion;
const specOf = (object: KubeObject) => object['spec'];
const statusOf = (object: KubeObject) => object['status'];

/** `api` is asked for once the world stands; each test leaves it empty of claims */
export function describeKubeApi(name: string, current: () => KubeApi): void {
  describe(`${name} as an API`, () => {
    let api: KubeApi;
    beforeEach(() => {
      api = current();
    });
    afterEach(async () => {
      for (const resource of [IP_CLAIMS, IP_POOLS, leases]) {
        for (const { metadata } of (await api.list(resource)).items) {
          if (metadata['finalizers'] !== undefined) {
            await api.patch(resource, metadata.name, {
              kind: 'merge',
              body: { metadata: { finalizers: null } },
            });
          }
          await api
            .delete(resource, metadata.name)
            .catch((error: unknown) => expect(isNotFound(error)).to.equal(true));
        }
      }
    });

    it('creates once', async () => {
      const made = await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
      expect(made.metadata).to.include({ name: '192.0.2.1', generation: 1 });
      expect(made.metadata.uid).to.be.a('string').that.is.not.equal('');
      expect(made.metadata.creationTimestamp).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(await api.get(IP_CLAIMS, '192.0.2.1')).to.deep.include({
        metadata: made.metadata,
        spec: { pool: 'blue' },
      });
      const error = await failure(api.create(IP_CLAIMS, claim('192.0.2.1', 'red')));
      expect(isAlreadyExists(error)).to.equal(true);
      expect(isConflict(error)).to.equal(false);
      expect(error).to.have.property('message').that.includes('already exists');
    });

    it('does not find what is not there', async () => {
      const works = [
        () => api.get(IP_CLAIMS, '192.0.2.1'),
        () => api.delete(IP_CLAIMS, '192.0.2.1'),
        () => api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'merge', body: {} }),
        () =>
          api.update(IP_CLAIMS, '192.0.2.1', {
            ...claim('192.0.2.1', 'x'),
            metadata: { name: '192.0.2.1', resourceVersion: '1' },
          }),
      ];
      for (const work of works) {
        expect(isNotFound(await failure(work()))).to.equal(true);
      }
    });

    it('makes a name where only its beginning is given', async () => {
      const body = { ...lease('x', 'a'), metadata: { generateName: 'made-' } };
      const [one, two] = [await api.create(leases, body), await api.create(leases, body)];
      expect(one.metadata.name).to.match(/^made-.+/);
      expect(two.metadata.name).not.to.equal(one.metadata.name);
    });

    it('replaces what has not changed since, and nothing else', async () => {
      const made = await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
      const next = await api.update(IP_CLAIMS, '192.0.2.1', { ...made, spec: { pool: 'red' } });
      expect(specOf(next)).to.deep.equal({ pool: 'red' });
      expect(next.metadata).to.include({ generation: 2, uid: made.metadata.uid });
      expect(BigInt(versionOf(next)) > BigInt(versionOf(made))).to.equal(true);
      const error = await failure(
        api.update(IP_CLAIMS, '192.0.2.1', { ...made, spec: { pool: 'green' } }),
      );
      expect(isConflict(error)).to.equal(true);
      expect(specOf(await api.get(IP_CLAIMS, '192.0.2.1'))).to.deep.equal({ pool: 'red' });
    });

    it('merges: null takes away, lists are replaced, a version guards', async () => {
      const made = await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue', { a: '1', b: '2' }));
      const body = { metadata: { labels: { a: null, c: '3' } }, spec: { node: 'n1' } };
      const next = await api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'merge', body });
      expect(next.metadata.labels).to.deep.equal({ b: '2', c: '3' });
      expect(specOf(next)).to.deep.equal({ pool: 'blue', node: 'n1' });
      const guarded = { metadata: { resourceVersion: versionOf(made) }, spec: { node: 'n2' } };
      expect(
        isConflict(
          await failure(api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'merge', body: guarded })),
        ),
      ).to.equal(true);
    });

    it('patches by operations, all or none', async () => {
      await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue', { 'a/b': '1' }));
      const body = [
        { op: 'test', path: '/spec/pool', value: 'blue' },
        { op: 'replace', path: '/spec/pool', value: 'red' },
        { op: 'remove', path: '/metadata/labels/a~1b' },
        { op: 'add', path: '/spec/node', value: 'n1' },
      ];
      const next = await api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'json', body });
      expect(specOf(next)).to.deep.equal({ pool: 'red', node: 'n1' });
      expect(next.metadata.labels ?? {}).to.deep.equal({});
      const error = await failure(api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'json', body }));
      expect(error).to.be.instanceOf(ApiError).and.include({ status: 422 });
      expect(specOf(await api.get(IP_CLAIMS, '192.0.2.1'))).to.deep.equal({
        pool: 'red',
        node: 'n1',
      });
    });

    it('applies: makes what is not there, and adds to what is', async () => {
      const options = { fieldManager: 'herald-test', force: true };
      const made = await api.patch(
        IP_CLAIMS,
        '192.0.2.1',
        { kind: 'apply', body: claim('192.0.2.1', 'blue') },
        options,
      );
      expect(made.metadata.generation).to.equal(1);
      const body = { ...claim('192.0.2.1', 'blue'), spec: { pool: 'blue', node: 'n1' } };
      const next = await api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'apply', body }, options);
      expect(specOf(next)).to.deep.equal({ pool: 'blue', node: 'n1' });
    });

    it('keeps the status apart: neither write touches the other part', async () => {
      const made = await api.create(IP_CLAIMS, {
        ...claim('192.0.2.1', 'blue'),
        status: { phase: 'Placed' },
      });
      expect(statusOf(made)).to.equal(undefined);
      const patch = {
        kind: 'merge',
        body: { spec: { pool: 'red' }, status: { phase: 'Refused' } },
      } as const;
      const told = await api.patch(IP_CLAIMS, '192.0.2.1', patch, { subresource: 'status' });
      expect(told).to.deep.include({ spec: { pool: 'blue' }, status: { phase: 'Refused' } });
      expect(told.metadata.generation).to.equal(1);
      const moved = await api.update(IP_CLAIMS, '192.0.2.1', {
        ...told,
        spec: { pool: 'red' },
        status: { phase: 'Pending' },
      });
      expect(moved).to.deep.include({ spec: { pool: 'red' }, status: { phase: 'Refused' } });
    });

    it('has no new version for a write that changes nothing', async () => {
      const made = await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
      const again = await api.patch(IP_CLAIMS, '192.0.2.1', {
        kind: 'merge',
        body: { spec: { pool: 'blue' } },
      });
      expect(versionOf(again)).to.equal(versionOf(made));
    });

    it('deletes only the one that was meant', async () => {
      const made = await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
      const moved = await api.patch(IP_CLAIMS, '192.0.2.1', {
        kind: 'merge',
        body: { spec: { pool: 'red' } },
      });
      expect(
        isConflict(await failure(api.delete(IP_CLAIMS, '192.0.2.1', { uid: 'another' }))),
      ).to.equal(true);
      const { uid } = made.metadata;
      const old = { uid, resourceVersion: versionOf(made) };
      expect(isConflict(await failure(api.delete(IP_CLAIMS, '192.0.2.1', old)))).to.equal(true);
      await api.delete(IP_CLAIMS, '192.0.2.1', { uid, resourceVersion: versionOf(moved) });
      expect(isNotFound(await failure(api.get(IP_CLAIMS, '192.0.2.1')))).to.equal(true);
    });

    it('waits for finalizers', async () => {
      const body = {
        ...claim('192.0.2.1', 'blue'),
        metadata: { name: '192.0.2.1', finalizers: ['herald.dev/test'] },
      };
      await api.create(IP_CLAIMS, body);
      await api.delete(IP_CLAIMS, '192.0.2.1');
      expect((await api.get(IP_CLAIMS, '192.0.2.1')).metadata.deletionTimestamp).to.be.a('string');
      await api.patch(IP_CLAIMS, '192.0.2.1', {
        kind: 'merge',
        body: { metadata: { finalizers: null } },
      });
      expect(isNotFound(await failure(api.get(IP_CLAIMS, '192.0.2.1')))).to.equal(true);
    });

    it('lists what the labels select', async () => {
      await api.create(IP_CLAIMS, claim('192.0.2.1', 'x', { 'herald.dev/anycast': '' }));
      await api.create(IP_CLAIMS, claim('192.0.2.2', 'x', { 'node.herald.dev/n1': '0' }));
      await api.create(
        IP_CLAIMS,
        claim('192.0.2.3', 'x', { 'node.herald.dev/n1': '1', 'herald.dev/anycast': '' }),
      );
      const names = async (labelSelector: string) =>
        (await api.list(IP_CLAIMS, { labelSelector })).items
          .map(({ metadata }) => metadata.name)
          .sort();
      expect(await names('herald.dev/anycast')).to.deep.equal(['192.0.2.1', '192.0.2.3']);
      expect(await names('!herald.dev/anycast')).to.deep.equal(['192.0.2.2']);
      expect(await names('node.herald.dev/n1=1')).to.deep.equal(['192.0.2.3']);
      expect(await names('node.herald.dev/n1!=1')).to.deep.equal(['192.0.2.1', '192.0.2.2']);
      expect(await names('node.herald.dev/n1 in (0,1),herald.dev/anycast')).to.deep.equal([
        '192.0.2.3',
      ]);
      expect(await names('node.herald.dev/n1 notin (0)')).to.deep.equal(['192.0.2.1', '192.0.2.3']);
      const { items } = await api.list(IP_CLAIMS, { fieldSelector: 'metadata.name=192.0.2.2' });
      expect(items.map(({ metadata }) => metadata.name)).to.deep.equal(['192.0.2.2']);
    });

    it('lists in pages of one moment, whatever happens in between', async () => {
      const names = Array.from({ length: 5 }, (_, index) => `192.0.2.${index}`);
      for (const each of names) await api.create(IP_CLAIMS, claim(each, 'p'));
      const first = await api.list(IP_CLAIMS, { limit: 2 });
      await api.delete(IP_CLAIMS, '192.0.2.4');
      await api.create(IP_CLAIMS, claim('192.0.2.9', 'p'));
      const found = first.items.map(({ metadata }) => metadata.name);
      for (let page = first; page.continueToken !== undefined; ) {
        page = await api.list(IP_CLAIMS, { limit: 2, continueToken: page.continueToken });
        expect(page.resourceVersion).to.equal(first.resourceVersion);
        expect(page.items.length).to.be.within(1, 2);
        found.push(...page.items.map(({ metadata }) => metadata.name));
      }
      expect(found).to.deep.equal(names);
      const whole = await api.list(IP_CLAIMS, { limit: 2, resourceVersion: '0' });
      expect(whole.continueToken, 'from its memory a server hands out no pages').to.equal(
        undefined,
      );
    });

    it('lists one namespace, or all of them', async () => {
      await api.create(leases, lease('one', 'a'));
      const { namespace: _, ...everywhere } = leases;
      const inAll = (await api.list(everywhere)).items.map(
        ({ metadata }) => `${metadata.namespace}/${metadata.name}`,
      );
      expect(inAll).to.include('default/one');
      expect((await api.list(inNamespace(LEASES, 'elsewhere'))).items).to.deep.equal([]);
    });

    describe('a watch', () => {
      async function watching(labelSelector?: string) {
        const { resourceVersion } = await api.list(IP_CLAIMS);
        const events: string[] = [];
        const versions: bigint[] = [];
        const ending = new AbortController();
        let opened = 0;
        const end: Promise<WatchEnd> = api.watch(IP_CLAIMS, {
          resourceVersion,
          timeoutSeconds: 60,
          signal: ending.signal,
          ...(labelSelector !== undefined && { labelSelector }),
          onOpen: () => {
            opened += 1;
          },
          onEvent: (event) => {
            if (event.kind === 'bookmark') return;
            events.push(`${event.kind} ${event.object.metadata.name}`);
            versions.push(BigInt(versionOf(event.object)));
          },
        });
        const heard = (count: number) =>
          untilValue(
            `${count} events`,
            () => events,
            (seen) => seen.length >= count,
          );
        await untilValue(
          'it is open',
          () => opened,
          (count) => count === 1,
        );
        return { resourceVersion, events, versions, end, heard, stop: () => ending.abort() };
      }

      it('tells what is made, changed and deleted, with versions that grow', async () => {
        const { events, versions, heard, end, stop } = await watching();
        await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
        await api.patch(IP_CLAIMS, '192.0.2.1', { kind: 'merge', body: { spec: { pool: 'red' } } });
        await api.delete(IP_CLAIMS, '192.0.2.1');
        await heard(3);
        expect(events).to.deep.equal([
          'added 192.0.2.1',
          'modified 192.0.2.1',
          'deleted 192.0.2.1',
        ]);
        expect(versions).to.deep.equal([...versions].sort((a, b) => Number(a - b)));
        expect(new Set(versions).size, 'also the deletion has a version of its own').to.equal(3);
        stop();
        expect(await end).to.deep.equal({ kind: 'closed' });
      });

      it('with a filter tells what comes in and goes out, with the version at which it went', async () => {
        const { events, versions, heard, end, stop } = await watching('herald.dev/anycast');
        const label = async (value: string | null) =>
          api.patch(IP_CLAIMS, '192.0.2.1', {
            kind: 'merge',
            body: { metadata: { labels: { 'herald.dev/anycast': value } } },
          });
        await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
        await label('');
        const out = await label(null);
        await api.delete(IP_CLAIMS, '192.0.2.1');
        await api.create(IP_CLAIMS, claim('192.0.2.2', 'blue', { 'herald.dev/anycast': '' }));
        await heard(3);
        expect(events).to.deep.equal(['added 192.0.2.1', 'deleted 192.0.2.1', 'added 192.0.2.2']);
        expect(versions[1]).to.equal(BigInt(versionOf(out)));
        stop();
        await end;
      });

      it('from a version on tells what came after it', async () => {
        await api.create(IP_CLAIMS, claim('192.0.2.1', 'blue'));
        const { resourceVersion } = await api.list(IP_CLAIMS);
        await api.create(IP_CLAIMS, claim('192.0.2.2', 'blue'));
        const events: string[] = [];
        const ending = new AbortController();
        const end = api.watch(IP_CLAIMS, {
          resourceVersion,
          timeoutSeconds: 60,
          signal: ending.signal,
          onEvent: (event) => event.kind !== 'bookmark' && events.push(event.object.metadata.name),
        });
        await untilValue(
          'one event',
          () => events,
          (seen) => seen.length > 0,
        );
        expect(events).to.deep.equal(['192.0.2.2']);
        ending.abort();
        await end;
      });
    });
  });
}
