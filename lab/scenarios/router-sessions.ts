/** What an FRR says of its sessions: `show bgp neighbors json`. Pure. */

import { field, parsed } from './router-words.ts';

export interface GracefulRestart {
  /** what the router itself would do: Helper, Disable, Restart; a star behind it where nobody has told this neighbour */
  readonly localMode: string;
  readonly isEstablished: boolean;
  /** both sides said so when the session began, and the neighbour keeps its IPv4 routes while it restarts */
  readonly isAgreed: boolean;
}

/** `undefined` where it knows no such neighbour */
export function gracefulRestartOf(text: string, neighbour: string): GracefulRestart | undefined {
  const told = field(parsed(text), neighbour);
  if (told === undefined) return undefined;
  const capabilities = field(told, 'neighborCapabilities');
  // "none" where the neighbour only helps others
  const kept = field(field(capabilities, 'addressFamiliesByPeer'), 'ipv4Unicast');
  return {
    localMode: String(field(field(told, 'gracefulRestartInfo'), 'localGrMode') ?? ''),
    isEstablished: field(told, 'bgpState') === 'Established',
    isAgreed:
      field(capabilities, 'gracefulRestart') === 'advertisedAndReceived' && kept !== undefined,
  };
}
