/** Labels of a Namespace that change: whose pools that concerns, and what goes on meanwhile. */

import { expect } from 'chai';
import { ANNOTATION } from '../../../src/model/names.ts';
import { NAMESPACES, SERVICES } from '../../../src/sources/kube/resources.ts';
import { Bed } from '../../support/service-bed.ts';

const LISTS = 300;
/** of one Service; all of them are some ten slices of the controller's work */
const LISTED = 60;

describe('labels of a Namespace', () => {
  let bed: Bed;
  beforeEach(() => {
    bed = new Bed();
    bed.pool('lab', ['192.0.2.0/28'], { namespaces: { names: ['a'] } });
    const selector = { matchLabels: { tier: 'odd' } };
    bed.pool('odd', ['198.51.100.0/28'], { namespaces: { selector } });
    label(0);
    for (const name of ['web', 'gone']) {
      bed.service(name);
      bed.endpoints(name, 1);
    }
  });
  afterEach(() => bed.stop());

  /** of namespace b: pool `odd` is for it with each second edit */
  function label(edit: number): void {
    const labels = { edit: String(edit), tier: edit % 2 === 1 ? 'odd' : 'even' };
    bed.api.put(NAMESPACES, { metadata: { name: 'b', labels } });
  }

  function other(name: string, spec: object, annotations: object = {}): void {
    const ports = [{ port: 80, protocol: 'TCP' }];
    const metadata = { namespace: 'b', name, annotations };
    bed.api.put(SERVICES, { metadata, spec: { ipFamilies: ['IPv4'], ports, ...spec } });
  }

  it('keep no address of another namespace announced, and no Service of it waiting, however often they change', async () => {
    for (let index = 0; index < LISTS; index += 1) {
      const list = (_: unknown, at: number) => `10.${index >> 8}.${index & 255}.${at + 1}`;
      other(`l${index}`, { type: 'ClusterIP', externalIPs: Array.from({ length: LISTED }, list) });
    }
    bed.run();
    await bed.settle();
    expect([bed.address('gone'), bed.address('web')].toSorted()).to.deep.equal([
      '192.0.2.0',
      '192.0.2.1',
    ]);
    const [gone = '', web = ''] = [bed.address('gone'), bed.address('web')];
    bed.endpoints('web', 0);
    bed.api.remove(SERVICES, 'a/gone');
    bed.service('new');
    for (let edit = 1; edit <= 100; edit += 1) {
      label(edit);
      for (let turn = 0; turn < 6; turn += 1) await new Promise(setImmediate);
      bed.clock.advance(50);
    }
    expect(bed.spec(web))
      .to.have.nested.property('withdrawn.reason')
      .that.matches(/^NoEndpoints/);
    expect(bed.claim(gone)).to.equal(undefined);
    expect(bed.address('new')).to.not.equal(undefined);
  });

  it('open a pool to its Services that wait for one, and close it', async () => {
    const spec = { type: 'LoadBalancer', loadBalancerClass: 'herald.dev/herald' };
    const annotations = { [ANNOTATION.pool]: 'odd' };
    const addressOf = (name: string) => {
      const { status } = JSON.parse(JSON.stringify(bed.api.object(SERVICES, `b/${name}`) ?? {}));
      return status?.loadBalancer?.ingress?.[0]?.ip;
    };
    other('first', spec, annotations);
    bed.run();
    await bed.settle();
    expect(addressOf('first')).to.equal(undefined);
    label(1);
    await bed.settle();
    expect(addressOf('first')).to.equal('198.51.100.0');
    label(2);
    other('second', spec, annotations);
    await bed.settle();
    expect([addressOf('first'), addressOf('second')]).to.deep.equal(['198.51.100.0', undefined]);
  });
});
