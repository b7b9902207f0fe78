/** Tells objects of the API from anything else that may come out of a socket. */

import type { KubeList, KubeObject } from './api.ts';
import { filledText, isLoose, items, part, text } from './loose-fields.ts';

export function isKubeObject(value: unknown): value is KubeObject {
  if (!isLoose(value)) return false;
  const metadata = value['metadata'];
  return isLoose(metadata) && typeof metadata['name'] === 'string';
}

/** undefined where it is no list */
export function kubeList(value: unknown): KubeList | undefined {
  if (!isLoose(value) || !('items' in value)) return undefined;
  const metadata = part(value, 'metadata');
  const continueToken = filledText(metadata, 'continue');
  return {
    resourceVersion: text(metadata, 'resourceVersion') ?? '',
    ...(continueToken !== undefined && { continueToken }),
    items: items(value, 'items').filter(isKubeObject),
  };
}
