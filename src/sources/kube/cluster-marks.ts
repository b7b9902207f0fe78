/**
 * What a kubeconfig or a pod's service account says of its cluster without asking it: the certificates that the API server is trusted by,
 * and the Node that the token is bound to. A token is read, not verified: it is this machine's own file, and a forged one would
 * only name another Node to the agent that it belongs to.
 */

import { createHash, X509Certificate } from 'node:crypto';
import { isLoose, type Loose } from './loose-fields.ts';

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** By fingerprint. Clusters may share the root above their own authorities, so roots count only where they stand alone. */
export function certificateMarks(pem: string): readonly string[] {
  const certificates = (pem.match(PEM) ?? []).flatMap(parsed);
  const below = certificates.filter(({ isRoot }) => !isRoot);
  const counting = below.length === 0 ? certificates : below;
  return [...new Set(counting.map(({ mark }) => mark))];
}

function parsed(pem: string): readonly { readonly mark: string; readonly isRoot: boolean }[] {
  try {
    const certificate = new X509Certificate(pem);
    const digest = createHash('sha256').update(certificate.raw).digest('hex');
    return [{ mark: `ca:${digest}`, isRoot: certificate.subject === certificate.issuer }];
  } catch (error) {
    // what is no certificate marks nothing; the connection will say so
    if (error instanceof Error) return [];
    throw error;
  }
}

export function serverMarks(servers: readonly URL[]): readonly string[] {
  return servers.map(({ href }) => `server:${href}`);
}

/** Kubernetes 1.32 and later write the Node into the tokens of its pods. */
export function nodeUidOf(token: string): string | undefined {
  const [, payload, signature] = token.trim().split('.');
  if (payload === undefined || signature === undefined) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'));
    return uidOf(partOf(partOf(claims, 'kubernetes.io'), 'node'));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function partOf(value: unknown, name: string): unknown {
  return isLoose(value) ? value[name] : undefined;
}

function uidOf(node: unknown): string | undefined {
  const uid = (isLoose(node) ? node : ({} as Loose))['uid'];
  return typeof uid === 'string' && uid !== '' ? uid : undefined;
}
