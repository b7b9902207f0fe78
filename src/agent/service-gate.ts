/**
 * What kube-proxy says of the Services behind a claim, as a gate (the Service's half of `healthy`). Pure.
 *
 * Local: a node without an endpoint of its own (503) must not get the traffic. One that has not said anything yet does not either, unless it
 * has had the address all along: silence changes nothing. Every Service: its rules must have been written, which is waited for, but not for long. And where
 * kube-proxy itself is unwell the node steps back but stays: if all nodes are, all still serve.
 */

import type { Sourced } from '../model/documents.ts';
import type { IpClaim } from '../model/ip-claim.ts';
import { ENDPOINT_UNTOLD, RULES_UNWRITTEN } from '../model/proxy-wait.ts';
import type { TimedGate } from './drain-gate.ts';
import type { ServiceFacts, View } from './view.ts';

/** undefined: this gate has nothing to say */
export function serviceGate(
  { object, source }: Sourced<IpClaim>,
  view: View,
): TimedGate | undefined {
  const { serviceFacts: facts } = view;
  if (facts === undefined || source !== 'api' || object.services.length === 0) return undefined;
  return portGate(object, facts) ?? waitGate(object, facts, view.nowMs) ?? proxyGate(facts);
}

/**
 * Where several Services share the address, one that is served here is enough: none may take the route from the others. One without a port of its own
 * (externalTrafficPolicy: Cluster) is served on every node.
 */
function portGate(
  { name: claim, services }: IpClaim,
  { ports, trusted }: ServiceFacts,
): TimedGate | undefined {
  // the sentence stands in the conditions of all of them, and namespaces do not read each other's names
  const isOfOne = new Set(services.map(({ namespace }) => namespace)).size === 1;
  let first: TimedGate | undefined;
  for (const { namespace, name, healthCheckNodePort: port } of services) {
    if (port === undefined) return undefined;
    const answer = ports.get(port);
    const isTrusted = answer !== 'empty' && trusted.get(claim)?.has(port) === true;
    if (answer === 'serving' || isTrusted) return undefined;
    const who = isOfOne ? `Service ${namespace}/${name}` : 'a Service of this address';
    const service = `${who} (externalTrafficPolicy: Local)`;
    if (answer === 'empty') {
      first ??= closed(`${service} has no ready endpoint on this node`);
      continue;
    }
    const remedy = `see whether kube-proxy runs here and listens on port ${port}`;
    const why = `${ENDPOINT_UNTOLD}${service} has an endpoint here`;
    // what one of them will say may still open it
    if (first?.gate.isUnknown !== true) first = unknown(why, remedy);
  }
  return first;
}

function waitGate(
  { name }: IpClaim,
  { waiting }: ServiceFacts,
  nowMs: number,
): TimedGate | undefined {
  const untilMs = waiting.get(name);
  if (untilMs === undefined || nowMs >= untilMs) return undefined;
  return Number.isFinite(untilMs) ? { ...UNWRITTEN, wakeAtMs: untilMs } : UNWRITTEN;
}

const UNWRITTEN = unknown(RULES_UNWRITTEN);

const UNWELL: TimedGate = {
  gate: {
    name: 'healthy',
    state: 'draining',
    sentence: 'kube-proxy says that it is unwell; announced as the last choice while it is',
    remedy: 'see the log of kube-proxy on this node',
  },
};

function proxyGate({ isProxyUnwell }: ServiceFacts): TimedGate | undefined {
  return isProxyUnwell ? UNWELL : undefined;
}

function closed(sentence: string, remedy?: string): TimedGate {
  const how = remedy === undefined ? {} : { remedy };
  return { gate: { name: 'healthy', state: 'closed', sentence, ...how } };
}

/** closed until somebody has said how it is */
function unknown(sentence: string, remedy?: string): TimedGate {
  return { gate: { ...closed(sentence, remedy).gate, isUnknown: true } };
}
