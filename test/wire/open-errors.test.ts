/** RFC 4271 §6.2 on the wire: OPENs that are refused, with the NOTIFICATION they get, and unusual ones that are not. */

import { expect } from 'chai';
import type { PeerSettings } from '../../protocol/speaker/settings.ts';
import { withPair } from '../support/speaker-under-test.ts';
import {
  Capability,
  capability,
  extendedParameters,
  hex,
  join,
  KEEPALIVE,
  OUR_ASN,
  OUR_ID,
  open,
  parameter,
  Type,
  USUAL_CAPABILITIES,
  u8,
  u16,
} from '../support/wire-bytes.ts';

interface Refused {
  readonly name: string;
  readonly peer?: Partial<PeerSettings>;
  readonly open: Uint8Array;
  /** code/subcode, and data where an RFC says what it holds */
  readonly notification: string;
}

/** optional parameters with their length octet */
const tail = (parameters: Uint8Array, length = parameters.length) => join(u8(length), parameters);
const withCapabilities = (...list: readonly Uint8Array[]) => open({ capabilities: list });
const asn4 = Capability.asn4(65001);
const Role = { provider: 0, routeServer: 1, routeServerClient: 2, customer: 3, peer: 4 } as const;

const VERSIONS: readonly Refused[] = [0, 3, 5, 255].map((version) => ({
  name: `version ${version}: the data says that we speak 4`,
  open: open({ version }),
  notification: '2/1 0004',
}));

const PEER_AS: readonly Refused[] = [
  { name: 'an AS that is not the configured one', open: open({ asn: 65002 }), notification: '2/2' },
  {
    name: 'the right AS in the header and another in the capability (RFC 6793 §4.1)',
    open: withCapabilities(Capability.ipv4, Capability.asn4(65002)),
    notification: '2/2',
  },
  {
    name: 'AS 0 in the header (RFC 7607 §2)',
    open: open({ asn: 0, capabilities: [Capability.ipv4, asn4] }),
    notification: '2/2',
  },
  {
    name: 'AS 0 in the capability (RFC 7607 §2)',
    open: open({ asn: 23456, capabilities: [Capability.ipv4, Capability.asn4(0)] }),
    notification: '2/2',
  },
  {
    name: 'our own AS where the neighbour is to be external',
    peer: { peerAsn: 'external' },
    open: open({ asn: OUR_ASN }),
    notification: '2/2',
  },
  {
    name: 'a foreign AS where the neighbour is to be internal',
    peer: { peerAsn: 'internal' },
    open: open({ asn: 65001 }),
    notification: '2/2',
  },
];

const IDENTIFIERS: readonly Refused[] = [
  { name: 'identifier 0.0.0.0', open: open({ routerId: '0.0.0.0' }), notification: '2/3' },
  {
    name: 'our own identifier from an internal neighbour (RFC 6286 §2.2)',
    peer: { peerAsn: 'internal' },
    open: open({ asn: OUR_ASN, routerId: OUR_ID }),
    notification: '2/3',
  },
];

const PARAMETERS: readonly Refused[] = [
  {
    name: 'an optional parameter that nobody knows',
    open: open({ tail: tail(parameter(7, hex('0102'))) }),
    notification: '2/4',
  },
  {
    name: 'the authentication parameter, deprecated since RFC 4271',
    open: open({ tail: tail(parameter(1, hex('00'))) }),
    notification: '2/4',
  },
  {
    name: 'an unknown parameter in the form of RFC 9072',
    open: open({ tail: extendedParameters(join(u8(9), u16(1), hex('00'))) }),
    notification: '2/4',
  },
  {
    name: 'parameters that are announced and not there',
    open: open({ tail: tail(hex(''), 4) }),
    notification: '2/0',
  },
  {
    name: 'octets behind the announced parameters',
    open: open({ tail: tail(parameter(2, Capability.ipv4), 0) }),
    notification: '2/0',
  },
  {
    name: 'a parameter that is longer than the OPEN',
    open: open({ tail: tail(hex('02 20 0104')) }),
    notification: '2/0',
  },
  {
    name: 'a parameter that is cut off in its header',
    open: open({ tail: tail(hex('02')) }),
    notification: '2/0',
  },
  {
    name: 'a parameter of RFC 9072 that is longer than the OPEN',
    open: open({ tail: extendedParameters(hex('02 0020 0104')) }),
    notification: '2/0',
  },
];

const CAPABILITIES: readonly Refused[] = [
  {
    name: 'a capability that is longer than its parameter',
    open: withCapabilities(hex('01 20 0001 00 01')),
    notification: '2/0',
  },
  {
    name: 'a multiprotocol capability of 3 octets',
    open: withCapabilities(capability(1, hex('0001 00'))),
    notification: '2/0',
  },
  {
    name: 'a four-octet AS capability of 2 octets',
    open: withCapabilities(Capability.ipv4, capability(65, hex('fde9'))),
    notification: '2/0',
  },
  {
    name: 'no family in common (RFC 5492 §5): the data lists ours',
    peer: { families: ['ipv6'] },
    open: withCapabilities(Capability.ipv4, asn4),
    notification: '2/7 010400020001',
  },
];

const HOLD_TIMES: readonly Refused[] = [1, 2].map((holdTime) => ({
  name: `hold time ${holdTime}`,
  open: open({ holdTime }),
  notification: '2/6',
}));

const ROLES: readonly Refused[] = [
  {
    name: 'customer against customer',
    peer: { role: Role.customer },
    open: withCapabilities(Capability.ipv4, asn4, Capability.role(Role.customer)),
    notification: '2/11',
  },
  {
    name: 'peer against our provider',
    peer: { role: Role.provider },
    open: withCapabilities(Capability.ipv4, asn4, Capability.role(Role.peer)),
    notification: '2/11',
  },
  {
    name: 'two roles that differ',
    peer: { role: Role.customer },
    open: withCapabilities(
      Capability.ipv4,
      asn4,
      Capability.role(Role.provider),
      Capability.role(Role.peer),
    ),
    notification: '2/11',
  },
  {
    name: 'no role, and ours is strict',
    peer: { role: Role.customer, strictRole: true },
    open: withCapabilities(Capability.ipv4, asn4),
    notification: '2/11',
  },
];

function itRefuses(refused: Refused): void {
  it(`${refused.name}: sends ${refused.notification}`, () =>
    withPair({ ...(refused.peer === undefined ? {} : { peer: refused.peer }) }, async (pair) => {
      const neighbour = await pair.port.accept();
      await neighbour.expectMessage(Type.open);
      neighbour.send(refused.open, KEEPALIVE);
      const [code = '', data] = (await neighbour.expectNotification()).split(' ');
      const [expectedCode, expectedData] = refused.notification.split(' ');
      expect(code).to.equal(expectedCode);
      if (expectedData !== undefined) expect(data).to.equal(expectedData);
      expect(await neighbour.expectEnd()).to.equal('fin');
      expect(neighbour.messages, 'OPEN and NOTIFICATION, no KEEPALIVE').to.have.lengthOf(2);
      const { wasEstablished, reason } = await pair.subject.until('down');
      expect(wasEstablished).to.equal(false);
      expect(reason).to.include({ kind: 'notification-sent' });
      expect(pair.subject.of('established')).to.deep.equal([]);
      expect(pair.subject.status().lastError).to.contain(`we sent ${expectedCode}`);
    }));
}

describe('OPEN errors (RFC 4271 §6.2)', () => {
  const groups: readonly (readonly [string, readonly Refused[]])[] = [
    ['version', VERSIONS],
    ['peer AS', PEER_AS],
    ['BGP identifier (RFC 6286)', IDENTIFIERS],
    ['optional parameters (RFC 4271 §6.2, RFC 9072)', PARAMETERS],
    ['capabilities (RFC 5492)', CAPABILITIES],
    ['hold time (RFC 4271 §4.2)', HOLD_TIMES],
    ['roles (RFC 9234 §4.2)', ROLES],
  ];
  for (const [group, cases] of groups) {
    describe(group, () => {
      for (const refused of cases) itRefuses(refused);
    });
  }

  it('is found in an OPEN that comes in two pieces', () =>
    withPair({}, async ({ port }) => {
      const neighbour = await port.accept();
      await neighbour.expectMessage(Type.open);
      const bytes = open({ routerId: '0.0.0.0' });
      neighbour.send(bytes.slice(0, 25));
      await new Promise((resolve) => setImmediate(resolve));
      neighbour.send(bytes.slice(25));
      expect(await neighbour.expectNotification()).to.match(/^2\/3/);
    }));
});

interface Accepted {
  readonly name: string;
  readonly peer?: Partial<PeerSettings>;
  readonly open: Uint8Array;
  readonly negotiated: Readonly<Record<string, unknown>>;
}

const bare = parameter(2, join(...USUAL_CAPABILITIES, asn4));
const extendedForm = (type: number, value: Uint8Array) => join(u8(type), u16(value.length), value);
/** more than 255 octets of capabilities: only the form of RFC 9072 holds them */
const many = Array.from({ length: 30 }, (_, index) => capability(200, hex('00'.repeat(index))));

const ACCEPTED: readonly Accepted[] = [
  {
    name: 'no parameters at all: IPv4 unicast, two-octet AS numbers',
    open: open({ capabilities: [] }),
    negotiated: { families: [{ afi: 1, safi: 1 }], as4: false, peerAsn: 65001 },
  },
  {
    name: 'capabilities spread over several parameters (RFC 5492 §4)',
    open: open({
      tail: tail(join(parameter(2, Capability.ipv4), parameter(2, asn4), parameter(2, hex('')))),
    }),
    negotiated: { as4: true, families: [{ afi: 1, safi: 1 }] },
  },
  {
    name: 'an unknown capability and a route refresh with octets in it',
    open: withCapabilities(Capability.ipv4, asn4, capability(199, hex('dead')), hex('02 01 00')),
    negotiated: { as4: true },
  },
  {
    name: 'parameters in the form of RFC 9072 that would have fitted the old one',
    open: open({ tail: extendedParameters(extendedForm(2, join(Capability.ipv4, asn4))) }),
    negotiated: { as4: true, families: [{ afi: 1, safi: 1 }] },
  },
  {
    name: 'more than 255 octets of parameters (RFC 9072)',
    open: open({
      tail: extendedParameters(extendedForm(2, join(...many, Capability.ipv4, asn4))),
    }),
    negotiated: { as4: true, families: [{ afi: 1, safi: 1 }] },
  },
  {
    name: 'the form of RFC 9072 with a length octet other than 255 (§2: any but 0)',
    open: open({
      tail: join(hex('01 ff'), u16(2 + 1 + 6 + 6), extendedForm(2, join(Capability.ipv4, asn4))),
    }),
    negotiated: { as4: true },
  },
  {
    name: 'our own identifier from an external neighbour (RFC 6286 §2.2)',
    open: open({ routerId: OUR_ID }),
    negotiated: { internal: false },
  },
  {
    name: 'a four-octet AS behind AS_TRANS (RFC 6793 §4.1)',
    peer: { peerAsn: 4200000001 },
    open: open({ asn: 4200000001 }),
    negotiated: { peerAsn: 4200000001, as4: true },
  },
  {
    name: 'any foreign AS where the neighbour is to be external',
    peer: { peerAsn: 'external' },
    open: open({ asn: 64999 }),
    negotiated: { peerAsn: 64999, internal: false },
  },
  {
    name: 'our own AS where the neighbour is to be internal',
    peer: { peerAsn: 'internal' },
    open: open({ asn: OUR_ASN }),
    negotiated: { peerAsn: OUR_ASN, internal: true },
  },
  {
    name: 'hold time 3, the smallest there is: the smaller of both counts',
    open: open({ holdTime: 3 }),
    negotiated: { holdTimeSeconds: 3, keepaliveSeconds: 1 },
  },
  {
    name: 'hold time 65535: ours counts',
    open: open({ holdTime: 65535 }),
    negotiated: { holdTimeSeconds: 30, keepaliveSeconds: 10 },
  },
  {
    name: 'provider against our customer (RFC 9234 §4.2)',
    peer: { role: Role.customer, strictRole: true },
    open: withCapabilities(Capability.ipv4, asn4, Capability.role(Role.provider)),
    negotiated: { roles: { local: Role.customer, peer: Role.provider } },
  },
  {
    name: 'no role, and ours is not strict (RFC 9234 §4.2)',
    peer: { role: Role.customer },
    open: withCapabilities(Capability.ipv4, asn4),
    negotiated: { roles: { local: Role.customer } },
  },
  {
    name: 'the same role twice (RFC 9234 §4.2)',
    peer: { role: Role.peer },
    open: withCapabilities(
      Capability.ipv4,
      asn4,
      Capability.role(Role.peer),
      Capability.role(Role.peer),
    ),
    negotiated: { roles: { local: Role.peer, peer: Role.peer } },
  },
  {
    name: 'identifier 255.255.255.255, any number but 0 being one (RFC 6286 §2.1)',
    open: open({ routerId: '255.255.255.255', tail: tail(bare) }),
    negotiated: { peerRouterId: 0xffffffff },
  },
];

describe('OPENs that are unusual and good', () => {
  for (const accepted of ACCEPTED) {
    it(`accepts ${accepted.name}`, () =>
      withPair(
        { ...(accepted.peer === undefined ? {} : { peer: accepted.peer }) },
        async (pair) => {
          const neighbour = await pair.port.accept();
          await neighbour.expectMessage(Type.open);
          neighbour.send(accepted.open, KEEPALIVE);
          await neighbour.expectKeepalive();
          const { negotiated } = await pair.subject.until('established');
          expect(negotiated).to.deep.include(accepted.negotiated);
          expect(pair.subject.status().state).to.equal('established');
        },
      ));
  }
});
