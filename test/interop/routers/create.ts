/** The five drivers by name. */

import { Bird } from './bird.ts';
import { Exabgp } from './exabgp.ts';
import { Frr } from './frr.ts';
import { Gobgp } from './gobgp.ts';
import { Openbgpd } from './openbgpd.ts';
import type { Router, RouterKind } from './router.ts';

const drivers = {
  bird: () => new Bird(),
  frr: () => new Frr(),
  gobgp: () => new Gobgp(),
  openbgpd: () => new Openbgpd(),
  exabgp: () => new Exabgp(),
} satisfies Record<RouterKind, () => Router>;

export function createRouter(kind: RouterKind): Router {
  return drivers[kind]();
}
