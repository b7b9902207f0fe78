/** What is counted of the way to the Kubernetes API, by both roles alike. */

import { Counter, type Registry } from 'prom-client';
import type { ApiMeter } from './metered-api.ts';

export function createApiMeter(registry: Registry): ApiMeter {
  const calls = new Counter({
    name: 'herald_api_requests_total',
    help: 'Requests to the Kubernetes API by how they ended; watches are not among them.',
    labelNames: ['verb', 'resource', 'code'],
    registers: [registry],
  });
  const watches = new Counter({
    name: 'herald_watch_restarts_total',
    help: 'Watches that ended and were opened again; the server ends each after some minutes.',
    labelNames: ['resource', 'why'],
    registers: [registry],
  });
  return {
    call: (verb, resource, code) => calls.inc({ verb, resource, code }),
    watchEnded: (resource, why) => watches.inc({ resource, why }),
  };
}
