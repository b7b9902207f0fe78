/** How a role reaches the API: the same rows in the agent's table and in the controller's. */

import { parseServers } from './api-servers.ts';
import { anything, row, type SettingRow } from './setting-row.ts';

export const API_SETTINGS = {
  kubeconfig: row(
    'kubeconfig',
    'FILE',
    '',
    anything,
    "how to reach the API; default: KUBECONFIG, then the pod's service account, then ~/.kube/config",
  ),
  context: row('context', 'NAME', '', anything, 'context of the kubeconfig; default: its current'),
  apiServer: row(
    'api-server',
    'URL,…',
    '',
    parseServers,
    'more addresses of the same API, tried when one does not answer; separated by commas',
  ),
} as const satisfies Readonly<Record<string, SettingRow>>;

export type ApiSettingTexts = { readonly [Name in keyof typeof API_SETTINGS]: string };
