/** What the controller says that it has asked of the API. */

/** all calls so far for these resources, by its own counters */
export async function requestsOf(port: number, resources: readonly string[]): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  const text = await answer.text();
  let sum = 0;
  for (const line of text.split('\n')) {
    if (!line.startsWith('herald_api_requests_total{')) continue;
    const resource = /resource="([^"]+)"/.exec(line)?.[1] ?? '';
    if (resources.includes(resource)) sum += Number(line.slice(line.lastIndexOf(' ') + 1));
  }
  return sum;
}
