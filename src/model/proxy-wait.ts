/**
 * What an agent says of a claim while it waits for kube-proxy: nothing is wrong, and seconds later the address is announced. The words are part of what agents and
 * controllers of different versions say to each other: the controller knows the wait by them, so they stay as they are. Pure.
 */

export const RULES_UNWRITTEN = 'kube-proxy has not written the rules of its Service yet';
export const ENDPOINT_UNTOLD = 'kube-proxy has not told yet whether ';

/** true for the message of a node that waits for kube-proxy */
export function isProxyWait(message: string): boolean {
  return message.startsWith(RULES_UNWRITTEN) || message.startsWith(ENDPOINT_UNTOLD);
}
