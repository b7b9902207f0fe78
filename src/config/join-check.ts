/** The join check from the settings: what is asked, how often, and how many answers count. Pure. */

import type { JoinCheck } from '../agent/health.ts';
import { parseTarget } from '../checks/parse-target.ts';
import type { SettingTexts } from './agent-settings.ts';
import { SettingError } from './read-settings.ts';

export function joinCheckOf(settings: SettingTexts): JoinCheck {
  const { joinCheck, joinCa, joinPin } = settings;
  if (joinCheck === '') {
    if (joinCa !== '' || joinPin !== '') {
      throw new SettingError(
        '--join-ca and --join-pin are about a --join-check, and there is none',
      );
    }
    return undefined;
  }
  if (joinCheck === 'none') return 'none';
  const parsed = parseTarget(joinCheck, {
    ...(joinCa === '' ? {} : { caFile: joinCa }),
    ...(joinPin === '' ? {} : { pin: joinPin }),
  });
  if (!parsed.ok) throw new SettingError(`--join-check ${parsed.sentence}`);
  return {
    target: parsed.target,
    intervalMs: Number(settings.joinInterval) * 1000,
    timeoutMs: Number(settings.joinTimeout) * 1000,
    successes: Number(settings.joinSuccesses),
    failures: Number(settings.joinFailures),
    settleMs: Number(settings.joinSettle) * 1000,
    isNodeWide: true,
  };
}
