/**
 * The smallest balancer that there can be, to prove that the bench takes any: it watches Services, gives each the next address, writes the
 * status, and puts a static route into BIRD by hand, by a configuration of its own making. It forgets, it cannot be run twice, and it
 * speaks no BGP. Not Herald's code and not an example of anything.
 *
 *   node --conditions=bgp-ts-source test/bench/cluster/stub-balancer.ts
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNotFound, type KubeObject } from '../../../src/sources/kube/api.ts';
import { inNamespace, SERVICES } from '../../../src/sources/kube/resources.ts';
import { readKubeconfig } from '../../cluster/support/kubeconfig.ts';
import { TestApi } from '../../cluster/support/test-api.ts';
import { field, items, text } from '../../interop/routers/json.ts';
import { BirdControl } from '../bird-control.ts';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}

const bird = setting('BENCH_BIRD_FOLDER');
const wantedClass = setting('BENCH_CLASS');
const api = new TestApi(readKubeconfig(setting('KUBECONFIG')), 'stub-balancer');
const control = await BirdControl.open(join(bird, 'bird.ctl'));
const given = new Map<string, string>();
const base = readFileSync(join(bird, 'bird.conf'), 'utf8');
const first = setting('BENCH_POOL').split('/')[0]?.split('.').map(Number) ?? [];
let next = 1;
let isDirty = false;
let isWriting = false;

function nextAddress(): string {
  const [a = 0, b = 0] = first;
  const number = next;
  next += 1;
  return `${a}.${b + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
}

async function writeRoutes(): Promise<void> {
  isDirty = true;
  if (isWriting) return;
  isWriting = true;
  while (isDirty) {
    isDirty = false;
    const routes = [...given.values()].map((each) => `  route ${each}/32 blackhole;\n`);
    const file = join(bird, 'stub.conf');
    writeFileSync(file, `${base}\nprotocol static balancer {\n  ipv4;\n${routes.join('')}}\n`);
    const answer = await control.ask(`configure "${file}"`);
    const refusal = answer.find((line) => /^[89]\d{3}/.test(line));
    if (refusal !== undefined) throw new Error(`BIRD: ${refusal}`);
  }
  isWriting = false;
}

async function take(service: KubeObject, isGone: boolean): Promise<void> {
  const { name, namespace = '' } = service.metadata;
  const key = `${namespace}/${name}`;
  if (isGone) {
    if (given.delete(key)) await writeRoutes();
    return;
  }
  if (text(field(service, 'spec', 'loadBalancerClass')) !== wantedClass) return;
  if (given.has(key)) return;
  const [known] = items(field(service, 'status', 'loadBalancer', 'ingress'));
  const address = text(field(known, 'ip')) || nextAddress();
  given.set(key, address);
  await Promise.all([writeRoutes(), tell(namespace, name, address)]);
}

async function tell(namespace: string, name: string, address: string): Promise<void> {
  const body = { status: { loadBalancer: { ingress: [{ ip: address }] } } };
  const options = { subresource: 'status' } as const;
  try {
    await api.patch(inNamespace(SERVICES, namespace), name, { kind: 'merge', body }, options);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

const list = await api.list(SERVICES);
await Promise.all(list.items.map((service) => take(service, false)));
let { resourceVersion } = list;
for (;;) {
  const end = await api.watch(SERVICES, {
    resourceVersion,
    signal: new AbortController().signal,
    timeoutSeconds: 3600,
    onEvent: (event) => {
      if (event.kind === 'bookmark') return;
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      void take(event.object, event.kind === 'deleted');
    },
  });
  if (end.kind === 'failed') throw end.error;
}
