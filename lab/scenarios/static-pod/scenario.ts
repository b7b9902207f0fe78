import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { STATIC_PODS } from '../../cluster/configs.ts';
import { uplinkOf } from '../places.ts';
import { eventually } from '../poll.ts';
import { gracefulRestartOf } from '../router-sessions.ts';
import type { Scenario } from '../scenario.ts';
import { expectNone } from '../verdicts.ts';
import type { World } from '../world.ts';

const QUESTION = 'show bgp neighbors json';
const node = 'n1';
const address = '192.0.2.200';
const prefix = `${address}/32`;
const documents = '/var/lib/herald-documents';
const pod = `${STATIC_PODS}/herald.yaml`;
const server = `${STATIC_PODS}/server.yaml`;
/** Ten times what it takes: a kubelet that finds no API server does some things late. */
const patience = { withinMs: 180_000, everyMs: 500 };

export const scenario: Scenario = {
  title: 'a static pod: a kubelet without an API server runs it, and it announces what serves',
  isDestructive: true,
  async run(world) {
    // whatever happens: what comes next is played with what deploy/base has
    world.later(() => world.lab.install());
    await world.removeHerald();
    await onDisk(world, ['mkdir', '-p', STATIC_PODS, documents]);
    world.later(() => onDisk(world, ['rm', '-rf', pod, server, documents]));
    const file = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');
    await put(world, `${documents}/site.yaml`, file('documents/site.yaml'));
    await put(world, pod, manifest());

    world.later(() =>
      world.kubectl(['wait', `node/${node}`, '--for=condition=Ready', '--timeout=120s']),
    );
    await world.lab.machines.switchOff(node);
    world.later(() => world.lab.powerOn(node, (line) => world.say(line)));
    await world.lab.freezeApi();
    world.later(() => world.lab.thawApi());
    await world.lab.powerOn(node, (line) => world.say(line));

    await eventually(
      `tor1 has a session with ${node}`,
      async () => gracefulRestartOf(await world.lab.ask('tor1', QUESTION), uplinkOf(node)),
      (found) => (found?.isEstablished === true ? undefined : 'it is not established'),
      patience,
    );
    // the session says all that it has to say in its first second
    await world.passes(3000);
    await world.routerHas('tor1', prefix, { paths: [] });

    await put(world, server, file('server.yaml'));
    await world.routerHas('tor1', prefix, world.paths(node), patience);
    await world.routerHas('spine', prefix, world.paths('tor1'));
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 60 });
    await world.passes(3000);
    const outage = await probing.stop();
    expectNone(outage);

    await world.lab.thawApi();
    await eventually(
      'the API server has the mirror pod of Herald',
      () => world.kubectl(['-n', 'kube-system', 'get', 'pods', '-o', 'name']),
      (names) => (names.includes(`pod/herald-${node}`) ? undefined : names),
      patience,
    );
    // a kubelet that waits for an API server that stands still does not end a pod whose file is gone
    await onDisk(world, ['rm', server]);
    await world.routerHas('tor1', prefix, { paths: [] }, patience);
    await onDisk(world, ['rm', pod]);
    await eventually(
      `${address} is not on lo`,
      () => world.lab.on(node, ['ip', '-o', 'address', 'show', 'dev', 'lo']),
      (found) => (found.includes(address) ? found : undefined),
      patience,
    );
    return [{ what: 'while the API server stood still', outage }];
  },
};

/** What a person prints on a machine of their own and puts onto the node. */
function manifest(): string {
  const herald = join(import.meta.dirname, '../../../src/cli/herald');
  const source = ['--source', `files:${join(import.meta.dirname, 'documents')}`];
  const check = ['--join-check', 'http://127.0.0.1:80/readyz', '--join-interval', '0.5'];
  const call = ['manifest', 'static-pod', ...source, '--documents-dir', documents, ...check];
  return execFileSync(herald, call, { encoding: 'utf8' });
}

/** On the node's own disk. */
async function onDisk(world: World, [command = '', ...args]: readonly string[]): Promise<void> {
  await world.lab.machines.on(node).run(command, args);
}

/** Whole at once, as a kubelet looks at it. */
async function put(world: World, path: string, text: string): Promise<void> {
  const script = 'printf %s "$1" >"$0.part" && mv "$0.part" "$0"';
  await onDisk(world, ['sh', '-c', script, path, text]);
}
