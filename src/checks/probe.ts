/** The real probe of this machine: which kind of target is asked by which file. */

import type { Probe } from './check-runner.ts';
import { probeExec } from './probe-exec.ts';
import { probeFile } from './probe-file.ts';
import { probeHttp } from './probe-http.ts';
import { probeTcp } from './probe-tcp.ts';

export type { Probe };

export const nodeProbe: Probe = (target, ask) => {
  switch (target.kind) {
    case 'http':
      return probeHttp(target, ask);
    case 'tcp':
      return probeTcp(target, ask);
    case 'file':
      return probeFile(target, ask);
    case 'exec':
      return probeExec(target, ask);
  }
};
