import { expect } from 'chai';
import { IP_CLAIMS, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

const EXEC = [{ exec: { command: ['/bin/true'] } }];

describe('claims that cannot be read', () => {
  let bed: Bed;
  beforeEach(() => {
    bed = new Bed();
    bed.pool('lab', ['192.0.2.0/29']);
    bed.node('n1', '1');
  });
  afterEach(() => bed.stop());

  const spoil = (name: string, spec: object = { checks: EXEC }) => {
    const claim = bed.claim(name);
    bed.api.put(IP_CLAIMS, {
      ...claim,
      metadata: { ...claim?.metadata, name },
      spec: { ...bed.spec(name), ...spec },
    });
  };
  const allocated = (name: string) => {
    const { conditions } = JSON.parse(
      JSON.stringify(bed.api.object(SERVICES, `a/${name}`)?.['status'] ?? {}),
    );
    return conditions?.find(
      ({ type }: { readonly type: string }) => type === 'herald.dev/Allocated',
    );
  };
  const claims = () => bed.api.all(IP_CLAIMS).map(({ metadata }) => metadata.name);
  async function served(): Promise<void> {
    bed.service('web');
    bed.endpoints('web', 1);
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.0');
  }

  it('stay with their Service, which is told what is wrong', async () => {
    bed.run();
    await served();
    spoil('192.0.2.0');
    await bed.settle();
    expect(bed.address('web')).to.equal('192.0.2.0');
    expect(claims()).to.deep.equal(['192.0.2.0']);
    expect(allocated('web')).to.deep.include({ status: 'True', reason: 'ClaimUnreadable' });
    expect(allocated('web').message).to.include(
      'IPClaim 192.0.2.0 cannot be read (spec.checks.0.exec: exec checks are legal in documents from files only',
    );
    spoil('192.0.2.0', { checks: [] });
    await bed.settle();
    expect(allocated('web').reason).to.equal('Allocated');
  });

  it('stay with their Service also where a controller has just begun', async () => {
    const first = bed.run();
    await served();
    first.stop();
    spoil('192.0.2.0');
    bed.run();
    await bed.settle();
    expect(claims()).to.deep.equal(['192.0.2.0']);
    expect(bed.address('web')).to.equal('192.0.2.0');
  });

  it('are withdrawn and announced by who is behind them, and lose nothing that cannot be read', async () => {
    bed.run();
    await served();
    spoil('192.0.2.0', { checks: EXEC, later: 'field' });
    bed.endpoints('web', 0);
    await bed.settle();
    expect(bed.spec('192.0.2.0')['withdrawn']).to.have.property('reason').that.includes('NoEnd');
    bed.endpoints('web', 1);
    await bed.settle(200);
    expect(bed.spec('192.0.2.0')).to.not.have.property('withdrawn');
    expect(bed.spec('192.0.2.0')).to.deep.include({ checks: EXEC, later: 'field' });
  });

  it('are released when the Service goes, wait for the nodes, and are deleted', async () => {
    bed.run();
    await served();
    spoil('192.0.2.0');
    await bed.settle();
    bed.api.remove(SERVICES, 'a/web');
    await bed.settle();
    expect(bed.spec('192.0.2.0')['withdrawn']).to.have.property('reason').that.includes('Released');
    bed.node('n1', String(bed.api.version));
    await bed.settle();
    expect(claims()).to.deep.equal([]);
  });

  it('are joined by nobody', async () => {
    bed.run();
    bed.service('web', { annotations: { 'herald.dev/share': 'w' } });
    bed.endpoints('web', 1);
    await bed.settle();
    spoil('192.0.2.0');
    await bed.settle();
    const annotations = { 'herald.dev/share': 'w', 'herald.dev/addresses': '192.0.2.0' };
    bed.service('second', { annotations, spec: { ports: [{ port: 81, protocol: 'TCP' }] } });
    await bed.settle();
    expect(allocated('second')).to.deep.include({ status: 'False', reason: 'ClaimUnreadable' });
  });

  for (const spec of [{ checks: EXEC }, { services: 'of another release' }, { services: [{}] }]) {
    it(`are left alone where whose they are is not known: ${JSON.stringify(spec)}`, async () => {
      const metadata = { name: '192.0.2.3', annotations: { 'herald.dev/note': 'mine' } };
      const isReleased = 'services' in spec;
      const released = { ...metadata.annotations, 'herald.dev/released-by': 'a/gone' };
      bed.api.put(IP_CLAIMS, {
        metadata: isReleased ? { ...metadata, annotations: released } : metadata,
        spec,
      });
      bed.service('web', { annotations: { 'herald.dev/addresses': '192.0.2.3' } });
      bed.run();
      await bed.settle();
      expect(bed.spec('192.0.2.3')).to.deep.equal(spec);
      expect(allocated('web')).to.deep.include({ status: 'False', reason: 'AddressTaken' });
      expect(allocated('web').message).to.include('made by hand');
    });
  }
});
