/**
 * `make lab-cluster`: the lab with a real three-node Kubernetes in it, left running for a person to play with; `make lab-down` takes it away.
 * usage: main.ts up|down|status [--name NAME]
 */

import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import type { Kubectl } from './api.ts';
import { isThere } from './down.ts';
import { bringUpLab, kubectlOf, LAB_NAME, takeDownLab } from './lab.ts';
import { sweepTestLabs } from './sweep.ts';

const HELP = `usage: main.ts up|down|status [--name NAME]

  up      brings up the routers, three nodes with Kubernetes, and Herald; says how to use it
  down    takes all of it away; without a name, what killed tests have left too
  status  says whether it is up, and its nodes and pods
`;

const started = performance.now();
const seconds = () => ((performance.now() - started) / 1000).toFixed(1).padStart(5);
const say = (sentence: string): void => {
  process.stdout.write(`${seconds()} s  ${sentence}\n`);
};

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { name: { type: 'string' }, help: { type: 'boolean' } },
  });
  const [command = ''] = positionals;
  const { name = LAB_NAME } = values;
  if (values.help === true) {
    process.stdout.write(HELP);
    return 0;
  }
  switch (command) {
    case 'up':
      return await up(name);
    case 'down':
      return await down(name, values.name === undefined);
    case 'status':
      return await status(name);
    default:
      process.stderr.write(HELP);
      return 2;
  }
}

async function up(name: string): Promise<number> {
  const there = await kubectlOf(name, say);
  if (there !== undefined) {
    say(`the lab ${name} is up already`);
    tellNext(name, there);
    return 0;
  }
  const broken = new AbortController();
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, () => broken.abort(new BrokenOff()));
  const { kubectl } = await bringUpLab(name, say, broken.signal);
  say('Herald runs on every node');
  tellNext(name, kubectl);
  return 0;
}

/** Ctrl-C in the middle of a start. */
class BrokenOff extends Error {
  override readonly message = 'broken off';
}

/** `withTests`: also the labs of tests that were killed */
async function down(name: string, withTests: boolean): Promise<number> {
  if (!isThere(name)) say(`no lab ${name} is up`);
  await takeDownLab(name, say);
  const left = withTests ? await sweepTestLabs(say) : [];
  if (left.length > 0) throw new Error(left.join('; '));
  say('nothing is left');
  return 0;
}

async function status(name: string): Promise<number> {
  const kubectl = await kubectlOf(name, say);
  if (kubectl === undefined || !existsSync(kubectl.kubeconfig)) {
    process.stdout.write(`no lab ${name} is up\n`);
    return 1;
  }
  process.stdout.write(await kubectl.run('get', 'nodes', '-o', 'wide'));
  process.stdout.write(await kubectl.run('get', 'pods', '-A', '-o', 'wide'));
  process.stdout.write(await kubectl.run('get', 'bgppeers,ipnodes,ippools,ipclaims'));
  return 0;
}

function tellNext(name: string, kubectl: Kubectl): void {
  process.stdout.write(`
  export KUBECONFIG=${kubectl.kubeconfig}
  export PATH="$PATH:${dirname(kubectl.program)}"

Then, for example:
  kubectl -n herald-system get pods -o wide
  kubectl get bgppeers,ipnodes,ippools
  kubectl apply -f lab/cluster/deploy/web.yaml
  kubectl wait service/web --for=jsonpath='{.status.loadBalancer.ingress[0].ip}' --timeout=30s
  ip netns exec lab.${name}.client curl -s http://$(kubectl get service web -o jsonpath='{.status.loadBalancer.ingress[0].ip}')/
  src/cli/herald explain default/web

Logs of the cluster are in ${dirname(kubectl.kubeconfig)}. \`make lab-down\` takes everything away.
`);
}

/** A program that was ended by the signal says so with an error of its own, and so does what could not be taken away after it. */
function isBrokenOff(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof BrokenOff || error.name === 'AbortError' || isBrokenOff(error.cause);
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`lab: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = isBrokenOff(error) ? 130 : 1;
}
// daemons that were started must not keep this process
process.exit();
