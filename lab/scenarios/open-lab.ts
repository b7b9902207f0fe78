/** The lab's cluster for scenarios: the one of that name that is up, or one that is brought up for them and taken away after. */

import {
  bringUpLab,
  DEPLOY_FOLDER,
  installHerald,
  kubectlOf,
  takeDownLab,
} from '../cluster/lab.ts';
import { Machines } from '../cluster/power.ts';
import { enterArguments } from '../runner/container.ts';
import { namespacePrefix } from '../runner/plan.ts';
import { readState } from '../runner/state.ts';
import { Lab, type RouterPlace } from './lab.ts';
import { NODES } from './places.ts';
import { runsOtherImage } from './running-image.ts';

export interface OpenLab {
  readonly lab: Lab;
  /** somebody else has brought it up, and has it for something */
  readonly wasUp: boolean;
  /** Takes it away, if it was brought up for this. */
  close(): Promise<void>;
}

export async function openLab(
  name: string,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<OpenLab> {
  const there = await kubectlOf(name, say);
  const kubectl = there ?? (await bringUpLab(name, say, signal)).kubectl;
  const namespaceOf = (machine: string) => `${namespacePrefix(name)}${machine}`;
  if (there !== undefined && (await runsOtherImage(namespaceOf(NODES[0])))) {
    say(
      `WARNING: the lab ${name} was up already and runs another Herald than dist/ of this checkout: what is played here is judged by THAT one (make lab-down takes it away)`,
    );
  }
  const lab = new Lab({
    kubeconfig: kubectl.kubeconfig,
    kubectl: kubectl.program,
    enter: (machine) => enterArguments(namespaceOf(machine), undefined),
    routers: new Map([
      ['tor1', router(name, 'tor1', 'frr')],
      ['tor2', router(name, 'tor2', 'frr')],
      ['spine', router(name, 'spine', 'bird')],
    ]),
    machines: new Machines(name),
    deployFolder: DEPLOY_FOLDER,
    install: (folder = DEPLOY_FOLDER) => installHerald(kubectl, folder),
  });
  return {
    lab,
    wasUp: there !== undefined,
    close: async () => {
      if (there === undefined) await takeDownLab(name, say);
    },
  };
}

function router(lab: string, name: string, kind: RouterPlace['kind']): RouterPlace {
  const container = readState(lab)?.containers.find(({ node }) => node === name);
  if (container === undefined) throw new Error(`there is no router ${name} in this lab`);
  const program = kind === 'frr' ? 'vtysh' : 'birdc';
  return { kind, ask: [...enterArguments(container.namespace, container), program] };
}
