/** Takes away what tests have left that were killed: their labs, with a cluster or without. */

import { existsSync, readdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { abandonedLabs, isComingUp, knownLabs } from '../runner/test-labs.ts';
import { clusterFolder, hasFolder } from './folder.ts';
import { takeDownLab } from './lab.ts';

/** One sentence for each lab that cannot be taken away; best none. */
export async function sweepTestLabs(say: (sentence: string) => void): Promise<readonly string[]> {
  const failures: string[] = [];
  const isAlive = (pid: number) => existsSync(`/proc/${pid}`);
  for (const name of abandonedLabs([...knownLabs(), ...knownClusters()], isAlive)) {
    if (isComingUp(name)) continue;
    say(`the lab ${name} is of a test that was killed; taking it away`);
    try {
      await takeDownLab(name, () => undefined);
    } catch (error) {
      failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return failures;
}

/** Names of the clusters that have a folder of ours. */
function knownClusters(): readonly string[] {
  const prefix = basename(clusterFolder(''));
  return readdirSync(dirname(clusterFolder('')))
    .filter((each) => each.startsWith(prefix))
    .map((each) => each.slice(prefix.length))
    .filter(hasFolder);
}
