/**
 * FRR's bgpd alone: with `--no_zebra` and without the import check it needs no zebra, which is its leanest form. Once with
 * its defaults, once tuned: FRR collects changes for a second (`coalesce-time`) before the first UPDATE.
 *
 * Routes of one attribute set are `network` statements. Communities per route have no such form (a route map per network
 * takes bgpd minutes to read), so there bgpd learns the routes over BGP from a feeder in its own namespace, and the
 * session to the receiver is let up when it has them all.
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from '../../support/netns.ts';
import { untilValue } from '../../support/poll.ts';
import { run } from '../../support/process.ts';
import { type Load, prefixText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender, SenderName, StartSender } from '../sender.ts';
import { blastProgram, packed } from './prebuilt.ts';

export const bgpdProgram = '/usr/lib/frr/bgpd';

const feeder = { bgpd: '10.98.0.1', address: '10.98.0.2', asn: 65003 } as const;
const feedBoundMs = 30_000;

/** The command line of a bgpd without zebra, kernel or port for telnet; its sockets are in `folder`. */
export function bgpdArgs(config: string, folder: string): string[] {
  mkdirSync(folder, { recursive: true });
  return [
    ...['-S', '-n', '-Z', '-f', config, '--vty_socket', folder, '-P', '0'],
    ...['-i', join(folder, 'bgpd.pid'), '-z', join(folder, 'zserv.api')],
    ...['--log', 'stdout', '--log-level', 'errors'],
  ];
}

/** Runs commands in bgpd as an operator does. */
export async function vtysh(host: Host, folder: string, ...lines: string[]): Promise<string> {
  const commands = lines.flatMap((line) => ['-c', line]);
  const { stdout } = await host.exec('vtysh', ['--vty_socket', folder, '-d', 'bgpd', ...commands]);
  return stdout;
}

/** Prefixes that bgpd has accepted from a neighbour, per family. */
export async function received(host: Host, folder: string, peer: string): Promise<number> {
  const text = await vtysh(host, folder, 'show bgp summary json');
  const counts = text.matchAll(new RegExp(`"${peer}":\\{[^}]*?"pfxRcd":(\\d+)`, 'g'));
  return [...counts].reduce((sum, match) => sum + Number(match[1]), 0);
}

function config(load: Load, isTuned: boolean): string {
  const peer = network.receiver;
  const isFed = load.kind === 'communities';
  const fed = `
 neighbor ${feeder.address} remote-as ${feeder.asn}
 neighbor ${feeder.address} update-source ${feeder.bgpd}
 neighbor ${feeder.address} passive
 neighbor ${feeder.address} disable-connected-check
 neighbor ${peer} shutdown`;
  const networks = load.routes.map((route) => `  network ${prefixText(route)}`);
  return `
frr defaults traditional
router bgp ${network.senderAsn}
 bgp router-id ${network.sender}
 no bgp ebgp-requires-policy
 no bgp network import-check
${isTuned ? ' coalesce-time 0' : ''}
 neighbor ${peer} remote-as ${network.receiverAsn}
 neighbor ${peer} timers connect 1
 neighbor ${peer} advertisement-interval 0
${isFed ? fed : ''}
 address-family ipv4 unicast
${isFed ? '' : networks.join('\n')}
 exit-address-family
`;
}

function startFed(host: Host, name: string, args: readonly string[], load: Load): StartSender {
  const file = join(host.folder, `${name}-feed.bin`);
  const folder = join(host.folder, `${name}-run`);
  writeFileSync(file, packed(load, feeder.asn, feeder.address));
  return async () => {
    const child = host.spawn(name, bgpdProgram, args);
    await untilValue('bgpd answers', () => vtysh(host, folder, 'show version'), Boolean);
    const feed = [blastProgram, feeder.bgpd, feeder.address, String(feeder.asn), file];
    host.spawn(`${name}-feeder`, process.execPath, feed);
    await untilValue(
      'bgpd has all routes',
      () => received(host, folder, feeder.address),
      (count) => count === load.routes.length,
      { timeoutMs: feedBoundMs },
    );
    const up = ['configure', `router bgp ${network.senderAsn}`];
    await vtysh(host, folder, ...up, `no neighbor ${network.receiver} shutdown`);
    return { processes: [child] };
  };
}

function makeFrr(name: SenderName, label: string, isTuned: boolean): Sender {
  return {
    name,
    label,
    method: `bgpd alone (--no_zebra), network statements in the configuration; communities per route: learnt over BGP from a feeder${
      isTuned ? '; coalesce-time 0 (default 1000 ms)' : ''
    }`,
    dialling: 'sender',
    async version() {
      const { stdout } = await run(bgpdProgram, ['--version'], { anyStatus: true });
      return /bgpd version (\S+)/.exec(stdout)?.[1];
    },
    async prepare(host, load) {
      const file = join(host.folder, `${name}.conf`);
      writeFileSync(file, config(load, isTuned), { mode: 0o644 });
      const args = bgpdArgs(file, join(host.folder, `${name}-run`));
      if (load.kind === 'communities') {
        await host.ip(
          ...[feeder.bgpd, feeder.address].map((at) => `address replace ${at}/32 dev lo`),
        );
        return startFed(host, name, args, load);
      }
      return async () => ({ processes: [host.spawn(name, bgpdProgram, args)] });
    },
  };
}

export const frr = makeFrr('frr', 'FRR', false);
export const frrTuned = makeFrr('frr-tuned', 'FRR, no coalescing', true);
