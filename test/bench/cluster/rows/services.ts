/** A hundred thousand Services and as many EndpointSlices, of which Herald serves none: what the controller holds at its peak, while it lists them. */

import { setTimeout as delay } from 'node:timers/promises';
import { startHerald } from '../../../cluster/support/herald-run.ts';
import { done, notYet, until } from '../../../support/poll.ts';
import { controllerKubeconfig, programOf } from '../herald-balancer.ts';
import { startManyServices } from '../many-services.ts';
import { memoryOf } from '../memory.ts';
import { count, megabytes, type Row, verdictOf } from '../report.ts';
import type { Stage } from '../stage.ts';

const LIMIT_MB = 600;
const PATIENCE_MS = 600_000;

export async function measureServices(stage: Stage): Promise<readonly Row[]> {
  const { cluster, options, say, place } = stage;
  const { listed, restMs } = options.sizes;
  const many = await startManyServices(cluster, listed);
  say(`services: ${listed} Services and EndpointSlices are listed`);
  const kubeconfig = await controllerKubeconfig(cluster, many.url);
  const controller = startHerald(['controller', '--metrics-address', 'off'], {
    ...{ name: 'controller', folder: place.folder, kubeconfig, ...programOf(options.release) },
  });
  try {
    const follows = async (): Promise<number> => {
      await until(
        'the controller follows Services and EndpointSlices',
        () => {
          if (!controller.isRunning) throw new Error(`it has ended: ${controller.log()}`);
          return many.watched.size === 2 ? done(true) : notYet(`${many.pages} pages`);
        },
        { timeoutMs: PATIENCE_MS, everyMs: 200 },
      );
      await delay(restMs);
      return memoryOf({ role: 'controller', pid: controller.pid }).peakMb;
    };
    const firstMb = await follows();
    say(`services: ${megabytes(firstMb)} at its peak; all is listed anew, beside what it knows`);
    many.expire();
    const peakMb = await follows();
    const { residentMb } = memoryOf({ role: 'controller', pid: controller.pid });
    return [
      {
        work: `${count(listed)} Services of 2.4 kB and as many EndpointSlices, none of Herald's: RSS of the controller, at its peak`,
        anchor: '1,136 MB for the Services alone (0.1)',
        target: `≤ ${LIMIT_MB} MB`,
        measured: `${megabytes(peakMb)} (${megabytes(firstMb)} before its watches had expired and all was listed again), later ${megabytes(residentMb)}; ${count(many.pages)} pages. The lists come from a stand-in before the API server`,
        verdict: verdictOf(peakMb <= LIMIT_MB),
        samples: { peakMb, firstMb, residentMb, pages: many.pages },
      },
    ];
  } finally {
    await controller.stop();
    many.close();
  }
}
