/** The thread of receiving-router.ts: a speaker that takes routes from whoever dials and stamps them as they come. */

import { parentPort, workerData } from 'node:worker_threads';
import {
  createSpeaker,
  formatCommunity,
  formatPrefix,
  ipv4,
  prefix,
  routerId,
  type SpeakerEvent,
  type UpdateMessage,
} from 'bgp-ts';
import { nowMs } from '../../../tools/probe/monotonic.ts';
import { field, text } from '../../interop/routers/json.ts';
import type { RouteAttributes, RouterMessage } from './receiving-router.ts';

const NAME = 'node';

function tell(message: RouterMessage): void {
  parentPort?.postMessage(message);
}

function attributesOf({ attributes }: UpdateMessage): RouteAttributes {
  const { med, localPref, communities = [], asPath = [] } = attributes;
  return {
    ...(med === undefined ? {} : { med }),
    ...(localPref === undefined ? {} : { localPref }),
    communities: communities.map(formatCommunity),
    asPath: asPath.flatMap(({ asns }) => asns),
  };
}

function hear(event: SpeakerEvent): void {
  const atMs = nowMs();
  if (event.kind === 'listening') tell({ kind: 'listening' });
  if (event.kind === 'listen-failed') tell({ kind: 'failed', error: String(event.error) });
  if (event.kind === 'established') tell({ kind: 'up', peer: short(event.peer), atMs });
  if (event.kind === 'down' && event.wasEstablished) {
    tell({ kind: 'down', peer: short(event.peer), atMs });
  }
  if (event.kind !== 'update-received') return;
  const { nlri, withdrawn, attributes } = event.update;
  const { mpReach, mpUnreach } = attributes;
  const announced = [...nlri, ...(mpReach?.kind === 'prefixes' ? mpReach.nlri : [])];
  const gone = [...withdrawn, ...(mpUnreach?.kind === 'prefixes' ? mpUnreach.withdrawn : [])];
  tell({
    kind: 'update',
    peer: short(event.peer),
    atMs,
    announced: announced.map(formatPrefix),
    withdrawn: gone.map(formatPrefix),
    attributes: attributesOf(event.update),
  });
}

/** `node/127.0.1.1` is 127.0.1.1 */
const short = (peer: string): string => peer.slice(NAME.length + 1);

const options: unknown = workerData;
const speaker = createSpeaker({
  listen: { port: Number(field(options, 'port')), address: ipv4(text(field(options, 'address'))) },
});
speaker.subscribe(hear);
speaker.apply({
  peers: [],
  ranges: [
    {
      settings: {
        name: NAME,
        localAsn: Number(field(options, 'asn')),
        peerAsn: 'any',
        routerId: routerId('192.0.2.253'),
        timers: { holdSeconds: Number(field(options, 'holdSeconds')) },
      },
      range: prefix(text(field(options, 'range'))),
      limit: 2_000,
      routes: [],
    },
  ],
});
await speaker.start();
parentPort?.once('message', () => {
  void speaker.stop({ kind: 'shutdown', deadlineMs: 500 }).then(() => parentPort?.close());
});
