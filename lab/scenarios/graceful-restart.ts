/** Graceful restart at the router of a rack, an FRR: told, and looked up in what it says of its sessions. */

import type { Lab } from './lab.ts';
import { nodesOf, uplinkOf } from './places.ts';
import { gracefulRestartOf } from './router-sessions.ts';

const QUESTION = 'show bgp neighbors json';

/** Whether it keeps the routes of its nodes while they restart; it counts when their sessions begin anew. */
export async function setHelper(lab: Lab, tor: string, isOn: boolean): Promise<void> {
  const word = isOn ? 'graceful-restart-helper' : 'graceful-restart-disable';
  await lab.configure(tor, [`neighbor herald-${tor} ${word}`]);
  const told = await lab.ask(tor, QUESTION);
  for (const address of nodesOf(tor).map((node) => uplinkOf(node))) {
    const mode = gracefulRestartOf(told, address)?.localMode ?? '';
    // those that are members already need not have followed their group
    const hasFollowed = mode === '' || mode.startsWith(isOn ? 'Helper' : 'Disable');
    if (!hasFollowed) await lab.configure(tor, [`neighbor ${address} ${word}`]);
  }
}

/** Nodes of the rack that have no session with it, or not one that was agreed on so. */
export async function disagreeing(
  lab: Lab,
  tor: string,
  isOn: boolean,
): Promise<readonly string[]> {
  const told = await lab.ask(tor, QUESTION);
  return nodesOf(tor).filter((node) => {
    const found = gracefulRestartOf(told, uplinkOf(node));
    return found?.isEstablished !== true || found.isAgreed !== isOn;
  });
}
