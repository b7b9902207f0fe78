import type { Architecture } from './architecture.ts';
import type { Parts } from './stage.ts';

export async function foreignParts(
  architecture: Architecture,
  _say: (sentence: string) => void,
): Promise<Parts> {
  throw new Error(`not yet: ${architecture}`);
}
