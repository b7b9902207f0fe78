/** The identity of the cluster that an access leads to, from the files of that access. What cannot be read says nothing. */

import { statSync } from 'node:fs';
import { errorCode } from '../../error-code.ts';
import type { ClusterIdentity } from '../../model/cluster-identity.ts';
import { optional } from '../../model/optional.ts';
import { certificateMarks, nodeUidOf, serverMarks } from './cluster-marks.ts';
import type { ReadText } from './find-kubeconfig.ts';
import { filledText, type Loose, part, parts } from './loose-fields.ts';

export interface AccessFiles {
  /** as client-node gets it: one cluster, one user */
  readonly options: Loose;
  /** kubeconfigs; none in a pod */
  readonly paths: readonly string[];
  readonly servers: readonly URL[];
  readonly readFile: ReadText;
}

export function accessIdentity({
  options,
  paths,
  servers,
  readFile,
}: AccessFiles): ClusterIdentity {
  const [entry = {}] = parts(options, 'clusters');
  const cluster = part(entry, 'cluster');
  const caFile = filledText(cluster, 'certificate-authority');
  const data = filledText(cluster, 'certificate-authority-data');
  const inFile = caFile === undefined ? '' : (textOf(caFile, readFile) ?? '');
  const pem = data === undefined ? inFile : Buffer.from(data, 'base64').toString('utf8');
  const certificates = certificateMarks(pem);
  const [user = {}] = parts(options, 'users');
  const token = tokenOf(part(user, 'user'), readFile);
  return {
    marks: certificates.length === 0 ? serverMarks(servers) : certificates,
    ...optional('nodeUid', token === undefined ? undefined : nodeUidOf(token)),
    ...optional(
      'unchangedSinceMs',
      unchangedSince(caFile === undefined ? paths : [...paths, caFile]),
    ),
  };
}

function tokenOf(user: Loose, readFile: ReadText): string | undefined {
  const path = filledText(part(part(user, 'auth-provider'), 'config'), 'tokenFile');
  return filledText(user, 'token') ?? (path === undefined ? undefined : textOf(path, readFile));
}

function textOf(path: string, readFile: ReadText): string | undefined {
  try {
    return readFile(path);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}

/** the youngest of them; undefined where one cannot be looked at */
function unchangedSince(paths: readonly string[]): number | undefined {
  const times = paths.map(changedMs);
  const known = times.flatMap((time) => time ?? []);
  return known.length === 0 || known.length < times.length ? undefined : Math.max(...known);
}

function changedMs(path: string): number | undefined {
  try {
    return statSync(path).mtimeMs;
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return undefined;
  }
}
