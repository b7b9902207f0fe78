/** What the controller says that it has asked of the API. */

import { metricSamples, sumOf } from './metric-samples.ts';

/** all calls so far for these resources, by its own counters */
export async function requestsOf(port: number, resources: readonly string[]): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  const requests = metricSamples(text, 'herald_api_requests_total');
  return sumOf(requests.filter(({ label }) => resources.includes(label('resource'))));
}
