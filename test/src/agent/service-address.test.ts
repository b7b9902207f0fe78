import { address } from 'bgp-ts';
import { expect } from 'chai';
import { Binder } from '../../../src/agent/binder.ts';
import { desired } from '../../../src/agent/desired.ts';
import type { View } from '../../../src/agent/view.ts';
import { MemoryAddressTable, MemoryHost } from '../../../src/linux/memory-address-table.ts';
import { SILENT_LOG } from '../../../src/log/log.ts';
import type { DocumentSource } from '../../../src/model/refusal.ts';
import { claim, documents, gateOf, sourced, VIP, view } from './scenery.ts';

/** a machine with an uplink; `more` puts on it what others bind */
function allowed(
  more: (host: MemoryHost) => void,
  { source, node }: { source: DocumentSource; node?: readonly string[] } = { source: 'files' },
) {
  const host = new MemoryHost(['lo', 'eth0']);
  host.addAddress(address('192.0.2.5'), 'eth0', { prefixLength: 24 });
  more(host);
  const binder = new Binder(new MemoryAddressTable({ host }), SILENT_LOG);
  const object = claim(source === 'api' ? { labels: { 'herald.dev/anycast': '' } } : {});
  const cluster: View['cluster'] =
    node === undefined
      ? undefined
      : {
          joined: { isOpen: true, sentence: 'Ready' },
          isReady: true,
          drains: new Map(),
          addresses: node,
        };
  const claims = [{ ...sourced(object), source }];
  const seen = view({
    documents: { ...documents(), claims },
    ...binder.ownAddresses(),
    ...(cluster === undefined ? {} : { cluster }),
  });
  desired(seen);
  const { state, sentence } = gateOf(seen, 'allowed');
  return state === 'open' ? 'open' : sentence;
}

const bind =
  (name: string, { hasArp = false, prefixLength = 32 } = {}) =>
  (host: MemoryHost) => {
    if (!host.links.some((link) => link.name === name)) host.addLink(name, { hasArp });
    host.addAddress(address(VIP), name, { prefixLength });
  };

const IN_CLUSTER = { source: 'api', node: ['192.0.2.5'] } as const;
const OWN = `${VIP} is this machine's own address`;

describe("a machine's own addresses", () => {
  for (const name of ['kube-ipvs0', 'kube-dummy-if', 'nodelocaldns', 'cilium_host', 'lo']) {
    it(`are not what a proxy binds on ${name}`, () => {
      expect(allowed(bind(name), IN_CLUSTER), 'in a cluster').to.equal('open');
      expect(allowed(bind(name)), 'of files').to.equal('open');
    });
  }

  it('are not host addresses that something puts on an uplink, where a Node says otherwise', () => {
    expect(allowed(bind('eth0', { hasArp: true }), IN_CLUSTER)).to.equal('open');
  });

  it('are host addresses on an uplink where no Node says', () => {
    expect(allowed(bind('eth0'))).to.equal(`${OWN} (eth0)`);
    expect(allowed(bind('eth0'), { source: 'files', node: ['192.0.2.5'] })).to.contain(OWN);
    expect(allowed(bind('eth0'), { source: 'api', node: [] })).to.equal(`${OWN} (eth0)`);
  });

  it('are what has a network around it, on whatever interface', () => {
    for (const name of ['eth0', 'lo', 'kube-ipvs0']) {
      const found = allowed(bind(name, { prefixLength: 24 }), IN_CLUSTER);
      expect(found).to.equal(`${OWN} (${name})`);
    }
  });

  it('are those of its Node, wherever they are bound', () => {
    const node = ['192.0.2.5', VIP];
    const wanted = `${OWN} (status.addresses of its Node)`;
    expect(allowed(bind('lo'), { source: 'api', node })).to.equal(wanted);
    expect(allowed(() => undefined, { source: 'api', node })).to.equal(wanted);
  });
});
