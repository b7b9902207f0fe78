/** BIRD or FRR as a booted machine runs them, by their own packages' units: what their own commands say there. */

import { parseFrrRoutes } from '../../interop/routers/frr.ts';
import { parseJson } from '../../interop/routers/json.ts';
import type { Family } from '../../interop/routers/router.ts';
import {
  birdTable,
  frrEstablished,
  type Path,
  parseBirdEstablished,
  parseBirdPaths,
  plainPath,
} from '../manifest-router-daemons.ts';
import type { Machine } from './machine.ts';

export type BootedKind = 'bird' | 'frr';

export class BootedRouter {
  readonly #machine: Machine;
  readonly #kind: BootedKind;

  constructor(machine: Machine, kind: BootedKind) {
    this.#machine = machine;
    this.#kind = kind;
  }

  /** everything in the table that came from a neighbour and was accepted */
  async paths(family: Family): Promise<readonly Path[]> {
    if (this.#kind === 'bird') return parseBirdPaths(await this.#birdc(birdTable(family)));
    const table = await this.#vtysh(`show bgp ${family} unicast json detail`);
    return parseFrrRoutes(table).map(plainPath);
  }

  /** addresses of the neighbours whose session is up */
  async established(): Promise<readonly string[]> {
    if (this.#kind === 'bird') return parseBirdEstablished(await this.#birdc('show protocols all'));
    return frrEstablished(await this.#vtysh('show bgp neighbors json'));
  }

  async #birdc(command: string): Promise<string> {
    return (await this.#machine.exec('birdc', [command])).stdout;
  }

  async #vtysh(command: string): Promise<unknown> {
    return parseJson((await this.#machine.exec('vtysh', ['-c', command])).stdout);
  }
}
