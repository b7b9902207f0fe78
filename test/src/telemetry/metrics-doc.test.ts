import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { createAgentMetrics } from '../../../src/telemetry/agent-metrics.ts';
import { ControllerMetrics } from '../../../src/telemetry/controller-metrics.ts';

const process = {
  version: '',
  startedMs: 0,
  cpuSeconds: () => 0,
  residentBytes: () => 0,
};
const METRICS = {
  controller: () => new ControllerMetrics({ ...process, role: 'controller' }),
  agent: () => createAgentMetrics({ ...process, role: 'agent' }),
};

/** `name type`, as a scrape tells them */
async function served(role: keyof typeof METRICS): Promise<readonly string[]> {
  const { text } = await METRICS[role]().text();
  return [...text.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, line = '']) => line).sort();
}

/** the same of the tables below these headings */
function documented(...headings: readonly string[]): readonly string[] {
  const file = new URL('../../../docs/metrics.md', import.meta.url);
  const sections = readFileSync(file, 'utf8').split('\n## ');
  const wanted = sections.filter((each) => headings.includes(each.split('\n', 1)[0] ?? ''));
  return wanted
    .flatMap((each) => [...each.matchAll(/^\| `(\S+)` \| (\w+) \|/gm)])
    .map(([, name, type]) => `${name} ${type}`)
    .sort();
}

describe('docs/metrics.md', () => {
  for (const role of ['controller', 'agent'] as const) {
    it(`has every metric of the ${role}, and no other`, async () => {
      expect(documented('Both', `herald ${role}`)).to.deep.equal(await served(role));
    });
  }
});
