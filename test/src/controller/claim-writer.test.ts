import { expect } from 'chai';
import type { ClaimRecord } from '../../../src/allocator/claim-record.ts';
import { ClaimWriter } from '../../../src/controller/claim-writer.ts';
import { ApiError } from '../../../src/sources/kube/api.ts';
import { IP_CLAIMS } from '../../../src/sources/kube/resources.ts';
import { MemoryKubeApi } from '../../support/memory-kube-api.ts';

const WEB = { namespace: 'a', name: 'web', uid: 'uid-of-web' };

describe('ClaimWriter.create', () => {
  let api: MemoryKubeApi;
  let learned: ClaimRecord[];
  let writer: ClaimWriter;
  beforeEach(() => {
    api = new MemoryKubeApi();
    learned = [];
    writer = new ClaimWriter(api, {
      learned: (record) => void learned.push(record),
      learnedGone: () => undefined,
    });
  });

  const create = (name: string, services: readonly object[]) => {
    // what the API keeps of it stands in `services`; what was sent names the Service
    const stored = { apiVersion: 'herald.dev/v1alpha1', kind: 'IPClaim', metadata: { name } };
    const original = api.create.bind(api);
    api.create = (resource) => original(resource, { ...stored, spec: { services } });
    return writer.create(name, { spec: { services: [WEB] } });
  };
  const failure = (promise: Promise<unknown>) =>
    promise.then(
      (outcome) => `it answered ${outcome}`,
      (error: unknown) => error,
    );

  it('learns what it has made', async () => {
    expect(await create('192.0.2.7', [WEB])).to.equal('done');
    expect(learned.map(({ name }) => name)).to.deep.equal(['192.0.2.7']);
    expect(api.object(IP_CLAIMS, '192.0.2.7')).to.not.equal(undefined);
  });

  for (const [what, name, services] of [
    ['cannot be read', '240.0.0.1', [WEB]],
    ['is not for its Service', '192.0.2.7', []],
  ] as const) {
    it(`fails and takes it away again when what was made ${what}`, async () => {
      const error = await failure(create(name, services));
      expect(error).to.be.instanceOf(ApiError);
      expect(error).to.have.property('message').that.includes(`claim ${name} into one that`);
      expect(api.object(IP_CLAIMS, name)).to.equal(undefined);
      expect(learned).to.deep.equal([]);
      expect(api.calls.at(-1)?.options).to.have.property('uid');
    });
  }
});
