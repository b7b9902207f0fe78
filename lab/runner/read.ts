/** A topology from its file, with the folder that its `binds` are relative to. */

import { readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Environment } from './expand.ts';
import { LabRefusal } from './refusal.ts';
import { parseTopology, type Topology } from './topology.ts';

/** The file of this folder's own lab, and the name in it. */
export const labTopology = {
  path: join(import.meta.dirname, '../topology.clab.yml'),
  name: 'herald',
} as const;

export interface TopologyFile extends Topology {
  readonly path: string;
  readonly folder: string;
}

export function readTopology(path: string, environment: Environment): TopologyFile {
  const full = resolve(path);
  try {
    return {
      ...parseTopology(readFileSync(full, 'utf8'), environment),
      path: full,
      folder: dirname(full),
    };
  } catch (error) {
    if (error instanceof LabRefusal) throw new LabRefusal(`${path}: ${error.message}`);
    throw error;
  }
}
