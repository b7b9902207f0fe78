/** What an UPDATE says in the families of the session. Pure. */

import { type FamilyId, hasFamily, hasUnicast } from './family.ts';
import type { UpdateMessage } from './message.ts';

/** What comes in a family that was not agreed on is not ours to believe (RFC 4760 §8), nor to pass on. */
export function ofFamilies(update: UpdateMessage, families: readonly FamilyId[]): UpdateMessage {
  const { mpReach, mpUnreach, ...others } = update.attributes;
  const hasReach = mpReach !== undefined && hasFamily(families, mpReach.afi, mpReach.safi);
  const hasUnreach = mpUnreach !== undefined && hasFamily(families, mpUnreach.afi, mpUnreach.safi);
  const hasIpv4 = hasUnicast(families, 'ipv4');
  const isWhole = (mpReach === undefined || hasReach) && (mpUnreach === undefined || hasUnreach);
  const isSilent = update.nlri.length + update.withdrawn.length === 0;
  if (isWhole && (hasIpv4 || isSilent)) return update;
  return {
    ...update,
    ...(hasIpv4 ? {} : { nlri: [], withdrawn: [] }),
    attributes: { ...others, ...(hasReach && { mpReach }), ...(hasUnreach && { mpUnreach }) },
  };
}
