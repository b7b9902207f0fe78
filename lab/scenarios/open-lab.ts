/** The lab's cluster for scenarios: the one that is up, or one that is brought up for them and taken away after. */

import {
  bringUpLab,
  DEPLOY_FOLDER,
  installHerald,
  kubectlOf,
  LAB_NAME,
  takeDownLab,
} from '../cluster/lab.ts';
import { Machines } from '../cluster/power.ts';
import { enterArguments } from '../runner/container.ts';
import { namespacePrefix } from '../runner/plan.ts';
import { readState } from '../runner/state.ts';
import { Lab, type RouterPlace } from './lab.ts';

export interface OpenLab {
  readonly lab: Lab;
  /** Takes it away, if it was brought up for this. */
  close(): Promise<void>;
}

export async function openLab(say: (line: string) => void): Promise<OpenLab> {
  const there = await kubectlOf(LAB_NAME, say);
  const kubectl = there ?? (await bringUpLab(LAB_NAME, say)).kubectl;
  const machines = new Machines(LAB_NAME);
  const lab = new Lab({
    kubeconfig: kubectl.kubeconfig,
    kubectl: kubectl.program,
    enter: (machine) => enterArguments(`${namespacePrefix(LAB_NAME)}${machine}`, undefined),
    routers: new Map([
      ['tor1', router('tor1', 'frr')],
      ['tor2', router('tor2', 'frr')],
      ['spine', router('spine', 'bird')],
    ]),
    machines,
    deployFolder: DEPLOY_FOLDER,
    install: (folder = DEPLOY_FOLDER) => installHerald(kubectl, folder),
  });
  return {
    lab,
    close: async () => {
      if (there === undefined) await takeDownLab(LAB_NAME, say);
    },
  };
}

function router(name: string, kind: RouterPlace['kind']): RouterPlace {
  const container = readState(LAB_NAME)?.containers.find(({ node }) => node === name);
  if (container === undefined) throw new Error(`there is no router ${name} in this lab`);
  const program = kind === 'frr' ? 'vtysh' : 'birdc';
  return { kind, ask: [...enterArguments(container.namespace, container), program] };
}
