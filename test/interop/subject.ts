/**
 * The subject of the interop tests: one Speaker with real clock, sockets and interfaces, run by node inside a namespace and
 * told what to do over stdin (subject-protocol.ts). It decides nothing: settings and routes come in, events go out.
 */

import { createInterface } from 'node:readline';
import {
  type Address,
  type DesiredPeer,
  describeDown,
  formatAddress,
  type NextHopSettings,
  NodeTcpTransport,
  nodeClock,
  nodeRandom,
  parseAddress,
  parseCommunity,
  parseExtendedCommunity,
  parseLargeCommunity,
  parsePrefix,
  parseRouterId,
  type Route,
  type RouteAttributes,
  resolveLocalAddresses,
  Speaker,
  type SpeakerEvent,
} from 'bgp-ts';
import type {
  SubjectCommand,
  SubjectEvent,
  SubjectLine,
  SubjectPeer,
  SubjectRoute,
  SubjectStart,
} from './subject-protocol.ts';

const bgpPort = 179;

function say(line: SubjectLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function known<T>(value: T | undefined, text: string): T {
  if (value === undefined) throw new Error(`cannot read '${text}'`);
  return value;
}

function createSpeaker(start: SubjectStart): Speaker {
  const speaker = new Speaker({
    clock: nodeClock,
    random: nodeRandom,
    transport: new NodeTcpTransport(),
    interfaceAddresses: (local) => resolveLocalAddresses(local.address, local.zone),
    ...(start.listen === true ? { listen: { port: bgpPort } } : {}),
    restarting: start.restarting === true,
  });
  speaker.subscribe((event) => {
    if (event.kind === 'update-received') return;
    say({ kind: 'event', event: { kind: event.kind, atMs: Date.now(), ...factsOf(event) } });
  });
  return speaker;
}

function factsOf(event: SpeakerEvent): Partial<SubjectEvent> {
  switch (event.kind) {
    case 'transition':
      return { to: event.to };
    case 'established': {
      const { peerAsn, internal, as4, extendedMessage } = event.negotiated;
      return { side: event.side, peerAsn, internal, as4, extendedMessage };
    }
    case 'down':
      return { wasEstablished: event.wasEstablished, detail: describeDown(event.reason) };
    case 'notification-sent':
    case 'notification-received':
      return { code: event.code, subcode: event.subcode, text: event.text, detail: event.name };
    case 'routes-refused':
      return { detail: event.first.map((each) => each.detail).join('; ') };
    case 'listen-failed':
      return { detail: event.error.message };
    case 'connection-refused':
      return { detail: formatAddress(event.remote.address) };
    default:
      return {};
  }
}

function desiredPeer(peer: SubjectPeer): DesiredPeer {
  const { address, routerId, nextHop, routes, ...settings } = peer;
  return {
    settings: {
      ...settings,
      name: address,
      address: known(parseAddress(address), address),
      routerId: known(parseRouterId(routerId), routerId),
      ...(nextHop === undefined ? {} : { nextHop: nextHops(nextHop) }),
    },
    routes: routes.map(routeOf),
  };
}

function nextHops(given: NonNullable<SubjectPeer['nextHop']>): NextHopSettings {
  const { ipv4, ipv6, ipv6LinkLocal } = given;
  const six = ipv6 === undefined ? undefined : known(parseAddress(ipv6), ipv6);
  if (six !== undefined && six.family !== 'ipv6') throw new Error(`${ipv6} is not IPv6`);
  return {
    ...(ipv4 === undefined ? {} : { ipv4: known(parseAddress(ipv4), ipv4) }),
    ...(six === undefined ? {} : { ipv6: six }),
    ...(ipv6LinkLocal === undefined ? {} : { ipv6LinkLocal }),
  };
}

function routeOf(route: SubjectRoute): Route {
  const { prefix, pathId } = route;
  return {
    prefix: known(parsePrefix(prefix), prefix),
    attributes: attributesOf(route),
    ...(pathId === undefined ? {} : { pathId }),
  };
}

function attributesOf(route: SubjectRoute): RouteAttributes {
  const { origin, asPath, prepend, nextHop, med, localPref } = route;
  const { communities, largeCommunities, extendedCommunities } = route;
  const hop: Address | undefined =
    nextHop === undefined ? undefined : known(parseAddress(nextHop), nextHop);
  const read = <T>(list: readonly string[], parse: (text: string) => T | undefined) =>
    list.map((each) => known(parse(each), each));
  return {
    ...(origin === undefined ? {} : { origin }),
    ...(asPath === undefined ? {} : { asPath: [{ type: 'sequence', asns: asPath }] }),
    ...(prepend === undefined ? {} : { prepend }),
    ...(hop === undefined ? {} : { nextHop: hop }),
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    ...(communities === undefined ? {} : { communities: read(communities, parseCommunity) }),
    ...(largeCommunities === undefined
      ? {}
      : { largeCommunities: read(largeCommunities, parseLargeCommunity) }),
    ...(extendedCommunities === undefined
      ? {}
      : { extendedCommunities: read(extendedCommunities, parseExtendedCommunity) }),
  };
}

function statusOf(speaker: Speaker) {
  return speaker.status().map(({ state, lastError, routesAdvertised }) => ({
    state,
    routesAdvertised,
    ...(lastError === undefined ? {} : { lastError }),
  }));
}

async function main(): Promise<void> {
  let speaker: Speaker | undefined;
  for await (const line of createInterface({ input: process.stdin })) {
    const command: SubjectCommand = JSON.parse(line);
    if (command.kind === 'start') {
      speaker = createSpeaker(command);
      await speaker.start();
    } else if (speaker === undefined) {
      throw new Error('told to work before start');
    } else if (command.kind === 'apply') {
      speaker.apply({ peers: command.peers.map(desiredPeer) });
    } else if (command.kind === 'stop') {
      await speaker.stop(command.how);
    }
    say({ kind: 'answer', status: speaker === undefined ? [] : statusOf(speaker) });
    if (command.kind === 'stop') {
      // Nothing else may keep the process: a timer or socket that the speaker left behind would show.
      process.stdin.destroy();
      return;
    }
  }
  // The test has gone: so has the reason to be here.
  process.exit(0);
}

try {
  await main();
} catch (error) {
  say({
    kind: 'failed',
    error: error instanceof Error ? (error.stack ?? error.message) : `${error}`,
  });
  process.exitCode = 1;
}
