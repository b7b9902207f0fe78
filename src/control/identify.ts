/** Who answers at a control socket, for the sentence that says it is somebody else. Bounded: a stopped process accepts and is mute. */

import { get } from 'node:http';

const PATIENCE_MS = 500;
const MAX_ANSWER = 4096;

/** ` (pid 17, version 0.1.0)`, or '' when it does not tell */
export function identify(path: string): Promise<string> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    const request = get(
      { socketPath: path, path: '/identity', agent: false, signal },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (chunk: string) => {
          text += chunk;
          if (text.length > MAX_ANSWER) request.destroy();
        });
        response.on('error', () => resolve(''));
        response.on('end', () => resolve(describe(text)));
      },
    );
    request.on('error', () => resolve(''));
  });
}

function describe(text: string): string {
  try {
    const { pid, version } = JSON.parse(text);
    return typeof pid === 'number' && typeof version === 'string'
      ? ` (pid ${pid}, version ${version})`
      : '';
  } catch {
    return ''; // not one of ours, then
  }
}
