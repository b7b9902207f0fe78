/**
 * Has the programs of Kubernetes ready and prints where they are, one per line: `node tools/kubernetes/build.ts
 * [PROGRAM…]`, kube-apiserver unless said. Progress goes to stderr.
 */

import { kubernetesPrograms } from './assets.ts';
import { isProgramName, type ProgramName, programNames } from './version.ts';

async function main(args: readonly string[]): Promise<number> {
  const names: ProgramName[] = [];
  for (const argument of args.length === 0 ? ['kube-apiserver'] : args) {
    if (!isProgramName(argument)) {
      process.stderr.write(
        `kubernetes: no program ${argument}; there are: ${programNames.join(', ')}\n`,
      );
      return 2;
    }
    names.push(argument);
  }
  const say = (sentence: string) => process.stderr.write(`kubernetes: ${sentence}\n`);
  try {
    for (const path of (await kubernetesPrograms(names, say)).values())
      process.stdout.write(`${path}\n`);
    return 0;
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    return 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
