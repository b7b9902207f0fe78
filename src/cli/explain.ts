/** `herald explain ADDRESS`: why an address is announced or not, gate by gate. */

import { parseArgs } from 'node:util';
import { type Address, formatAddress, parseAddress } from 'bgp-ts';
import type { AgentStatus } from '../agent/status.ts';
import { findClaim, renderExplain } from '../control/render-explain.ts';
import { type Command, UsageError } from './command.ts';
import { LOOK_FLAGS, LOOK_HELP, look } from './look.ts';

const HELP = `usage: herald explain ADDRESS [options]

Says why an address is announced or not: every gate, per peer, with its state, since when, and what
to do about one that is not open. For an address that nobody has claimed it says what to write.

  joined         the join check has passed
  assigned       the claim is for every node, or for this one
  healthy        the claim's own checks pass
  bound          the address is on its interface, where the claim asks for that
  allowed        a pool holds it, its advertisement selects this node and peer, and there is room
  not-draining   nobody has drained the address or the node

${LOOK_HELP}

Exit status: 0 the address is claimed, 1 it is not or no agent answered, 2 wrong usage.
`;

export const explainCommand: Command = {
  name: 'explain',
  summary: 'say why an address is announced or not, and what to do about it',
  help: HELP,
  async run(args, world) {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: LOOK_FLAGS,
      allowPositionals: true,
    });
    const [text, ...others] = positionals;
    if (text === undefined || others.length > 0) throw new UsageError('name one ADDRESS');
    const address = readAddress(text);
    const view = {
      text: (status: AgentStatus, style: Parameters<typeof renderExplain>[2]) =>
        renderExplain(status, address, style).text,
      json: (status: AgentStatus) => explainJson(status, address),
      exitCode: (status: AgentStatus) => (findClaim(status, address) === undefined ? 1 : 0),
    };
    return await look('explain', view, values, world);
  },
};

/** Also as a host prefix, as it is seen in routing tables. */
export function readAddress(text: string): Address {
  const address = parseAddress(text.replace(text.includes(':') ? /\/128$/ : /\/32$/, ''));
  if (address === undefined) throw new UsageError(`'${text}' is not an IPv4 or IPv6 address`);
  return address;
}

function explainJson(status: AgentStatus, address: Address) {
  const claim = findClaim(status, address);
  const base = { address: formatAddress(address), node: status.node.name };
  return claim === undefined ? { ...base, claimed: false } : { ...base, claimed: true, claim };
}
