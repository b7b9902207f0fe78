/**
 * Ours. Routes of one attribute set: `dist/herald announce --from FILE`, as a user runs it. Communities per route are not
 * something that its command line says, so there a small program on the library takes its place (announce-routes.ts).
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Load, prefixText, routesText } from '../load.ts';
import { network } from '../network.ts';
import type { Sender } from '../sender.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const program = join(root, 'dist', 'herald');
const libraryProgram = join(import.meta.dirname, '..', 'announce-routes.ts');

function announceArgs(folder: string, load: Load): string[] {
  const file = join(folder, 'herald.prefixes');
  writeFileSync(file, `${load.routes.map(prefixText).join('\n')}\n`);
  const session = ['--peer', network.receiver, '--peer-asn', String(network.receiverAsn)];
  return ['announce', ...session, '--asn', String(network.senderAsn), '--from', file];
}

export const herald: Sender = {
  name: 'herald',
  label: 'Herald',
  method: '`dist/herald announce --from FILE`; communities per route: a program on the library',
  dialling: 'sender',
  async version() {
    if (!existsSync(program)) return undefined;
    return /"version": "([^"]+)"/.exec(readFileSync(join(root, 'package.json'), 'utf8'))?.[1];
  },
  prepare(host, load) {
    if (load.kind === 'shared') {
      const args = announceArgs(host.folder, load);
      return async () => ({ processes: [host.spawn('herald', program, args)] });
    }
    const file = join(host.folder, 'herald.routes');
    writeFileSync(file, routesText(load));
    const { receiver, receiverAsn, sender, senderAsn } = network;
    const args = ['--conditions=bgp-ts-source', libraryProgram, file, receiver];
    args.push(String(receiverAsn), sender, String(senderAsn));
    return async () => ({ processes: [host.spawn('herald', process.execPath, args)] });
  },
};
