/**
 * fast-check arbitraries of UPDATE messages, together with the session that can carry each of them: what is written under a
 * context comes back the same under it.
 *
 * Left out is what no session can carry faithfully: empty lists (they are malformed, so they are not sent), confederation
 * segments behind others, or of large numbers, on two-octet sessions (AS4_PATH does not hold them), next hops that are no host.
 */

import fc from 'fast-check';
import type { FamilyId } from '../../protocol/bgp/family.ts';
import type {
  AsPathSegment,
  MpReach,
  MpUnreach,
  Nlri,
  PathAttributes,
  UpdateMessage,
} from '../../protocol/bgp/message.ts';
import type { CodecContext } from '../../protocol/bgp/negotiate.ts';
import { ipv4Address, type Prefix } from '../../protocol/net/address.ts';
import { asn, bytes, ipv4, ipv4Prefix, ipv6, ipv6Prefix, u8, u32 } from './arbitraries.ts';

const FAMILIES: readonly FamilyId[] = [
  { afi: 1, safi: 1 },
  { afi: 1, safi: 2 },
  { afi: 2, safi: 1 },
  { afi: 2, safi: 2 },
];

/** Any session: all that changes how an UPDATE is written. */
export const updateContext = (): fc.Arbitrary<CodecContext> =>
  fc
    .record({
      as4: fc.boolean(),
      internal: fc.constantFrom(true, false),
      addPath: fc.subarray([...FAMILIES]),
      extendedNextHop: fc.subarray(FAMILIES.slice(0, 2)),
    })
    .map(({ addPath, ...rest }) => ({
      ...rest,
      extendedMessage: true,
      addPathReceive: addPath,
      addPathSend: addPath,
    }));

const hostAddress = fc.integer({ min: 0x01000000, max: 0xdfffffff }).map(ipv4Address);

function segment(
  types: readonly AsPathSegment['type'][],
  number: fc.Arbitrary<number> = asn(),
): fc.Arbitrary<AsPathSegment> {
  return fc.record({
    type: fc.constantFrom(...types),
    asns: fc.array(number, { minLength: 1, maxLength: 9 }),
  });
}

function asPath(context: CodecContext): fc.Arbitrary<readonly AsPathSegment[]> {
  const confederation = fc.array(
    segment(['confed-sequence', 'confed-set'], fc.integer({ min: 1, max: 0xffff })),
    { maxLength: 2 },
  );
  const outside = fc.array(segment(['sequence', 'set']), { maxLength: 3 });
  if (context.internal === false) return outside;
  if (context.as4) {
    return fc.array(segment(['sequence', 'set', 'confed-sequence', 'confed-set']), {
      maxLength: 4,
    });
  }
  return fc.tuple(confederation, outside).map(([inside, rest]) => [...inside, ...rest]);
}

function usesPathId(context: CodecContext, afi: number, safi: number): boolean {
  return context.addPathSend.some((family) => family.afi === afi && family.safi === safi);
}

function nlriList(
  prefix: fc.Arbitrary<Prefix>,
  withPathId: boolean,
  minLength = 0,
): fc.Arbitrary<readonly Nlri[]> {
  const one: fc.Arbitrary<Nlri> = withPathId
    ? fc.tuple(prefix, u32()).map(([value, pathId]) => ({ ...value, pathId }))
    : prefix;
  return fc.array(one, { minLength, maxLength: 12 });
}

function reach(context: CodecContext): fc.Arbitrary<MpReach> {
  const prefixes = fc.constantFrom(...FAMILIES).chain(({ afi, safi }) => {
    const v6 = fc.array(ipv6(), { minLength: 1, maxLength: 2 });
    const canUseV6 = context.extendedNextHop.some(
      (family) => family.afi === afi && family.safi === safi,
    );
    const v4 = ipv4().map((address) => [address]);
    const ofIpv4 = canUseV6 ? fc.oneof(v4, v6) : v4;
    const list = afi === 1 ? ipv4Prefix() : ipv6Prefix();
    return fc.record({
      kind: fc.constant('prefixes' as const),
      afi: fc.constant(afi),
      safi: fc.constant(safi),
      nextHops: afi === 1 ? ofIpv4 : v6,
      nlri: nlriList(list, usesPathId(context, afi, safi)),
    });
  });
  const opaque = fc.record({
    kind: fc.constant('opaque' as const),
    afi: fc.integer({ min: 100, max: 200 }),
    safi: u8(),
    nextHop: bytes(32),
    nlri: bytes(40),
  });
  return fc.oneof({ weight: 3, arbitrary: prefixes }, opaque);
}

function unreach(context: CodecContext): fc.Arbitrary<MpUnreach> {
  const prefixes = fc.constantFrom(...FAMILIES).chain(({ afi, safi }) =>
    fc.record({
      kind: fc.constant('prefixes' as const),
      afi: fc.constant(afi),
      safi: fc.constant(safi),
      withdrawn: nlriList(afi === 1 ? ipv4Prefix() : ipv6Prefix(), usesPathId(context, afi, safi)),
    }),
  );
  const opaque = fc.record({
    kind: fc.constant('opaque' as const),
    afi: fc.integer({ min: 100, max: 200 }),
    safi: u8(),
    withdrawn: bytes(40),
  });
  return fc.oneof({ weight: 3, arbitrary: prefixes }, opaque);
}

const unknownAttribute = fc.record({
  code: fc.integer({ min: 41, max: 127 }),
  flags: fc.constantFrom(0x80, 0xc0, 0xe0, 0x90, 0xd0),
  value: bytes(20),
});

const aggregator = fc.record({ asn: asn(), address: ipv4() });
const list = <T>(entry: fc.Arbitrary<T>): fc.Arbitrary<T[]> =>
  fc.array(entry, { minLength: 1, maxLength: 6 });

/** Attributes with all that an announcement must have. */
function attributes(context: CodecContext): fc.Arbitrary<PathAttributes> {
  const optional = {
    med: u32(),
    atomicAggregate: fc.constant(true),
    aggregator,
    communities: list(u32()),
    mpReach: reach(context),
    mpUnreach: unreach(context),
    extendedCommunities: list(fc.record({ high: u32(), low: u32() })),
    ipv6ExtendedCommunities: list(bytes(20, 20)),
    // a repeated one is not sent and not kept
    largeCommunities: fc.uniqueArray(fc.record({ global: u32(), local1: u32(), local2: u32() }), {
      minLength: 1,
      maxLength: 4,
      selector: Object.values,
      comparator: (a, b) => `${a}` === `${b}`,
    }),
    otc: u32(),
    unknown: fc
      .uniqueArray(unknownAttribute, { minLength: 1, maxLength: 3, selector: ({ code }) => code })
      .map((found) => found.toSorted((a, b) => a.code - b.code)),
  };
  const internal = {
    originatorId: ipv4(),
    clusterList: list(ipv4()),
  };
  const mandatory = {
    origin: fc.constantFrom('igp' as const, 'egp' as const, 'incomplete' as const),
    asPath: asPath(context),
    nextHop: hostAddress,
  };
  if (context.internal === false) {
    return fc.record(
      { ...mandatory, ...optional },
      { requiredKeys: ['origin', 'asPath', 'nextHop'] },
    );
  }
  return fc.record(
    { ...mandatory, localPref: u32(), ...optional, ...internal },
    { requiredKeys: ['origin', 'asPath', 'nextHop', 'localPref'] },
  );
}

/** A message and a session that carries it. */
export const updateInContext = (): fc.Arbitrary<{
  readonly context: CodecContext;
  readonly message: UpdateMessage;
}> =>
  updateContext().chain((context) => {
    const withPathId = usesPathId(context, 1, 1);
    return fc.record({
      context: fc.constant(context),
      message: fc.record({
        kind: fc.constant('update' as const),
        withdrawn: nlriList(ipv4Prefix(), withPathId),
        attributes: attributes(context),
        nlri: nlriList(ipv4Prefix(), withPathId),
      }),
    });
  });
