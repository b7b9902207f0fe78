/** What an event tells of a NOTIFICATION. */

import type { NotificationMessage } from '../bgp/message.ts';
import { describeNotification } from '../bgp/notification.ts';

export function notificationFacts(peer: string, message: NotificationMessage) {
  const { name, text } = describeNotification(message);
  const { code, subcode, data } = message;
  return { peer, code, subcode, data, name, text: text ?? '' };
}
