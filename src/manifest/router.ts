/** `herald manifest router`: one plan, four languages, and what the person should know before using the file. */

import { renderBird } from './router-bird.ts';
import { renderFrr } from './router-frr.ts';
import { renderGobgp } from './router-gobgp.ts';
import { renderOpenbgpd } from './router-openbgpd.ts';
import type { RouterKind, RouterPlan } from './router-plan.ts';

const RENDERERS = {
  frr: renderFrr,
  bird: renderBird,
  gobgp: renderGobgp,
  openbgpd: renderOpenbgpd,
} satisfies Record<RouterKind, (plan: RouterPlan) => string>;

export function renderRouter(kind: RouterKind, plan: RouterPlan): string {
  return RENDERERS[kind](plan);
}

/** Sentences for stderr: what works less well than the words of the file suggest. */
export function routerWarnings(kind: RouterKind, plan: RouterPlan): string[] {
  const warnings: string[] = [];
  if (plan.ranges.length > 0 && plan.password === undefined) {
    warnings.push(
      'a range without a password: every pod behind the NAT of a node can inject routes for the pools',
    );
  }
  if (plan.ranges.length > 0 && plan.password !== undefined && kind === 'gobgp') {
    warnings.push('GoBGP before 3.21 takes neighbours of a range without checking the password');
  }
  if (kind === 'openbgpd' && plan.password !== undefined) {
    warnings.push(
      'OpenBGPD on Linux checks the key only on sessions that it dials itself; the file says what to do',
    );
  }
  return warnings;
}
