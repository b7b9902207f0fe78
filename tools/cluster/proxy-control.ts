/**
 * How a person tells the failing proxy what to do: HTTP on a Unix socket, for curl. A rule is that of test/cluster/support/proxy-rules.ts as JSON. Whoever can open the
 * socket may use it; it lies in a folder of its owner alone.
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { FailingProxy } from '../../test/cluster/support/proxy.ts';
import { RuleRefused, ruleFromJson } from './rule-from-json.ts';

interface Answer {
  readonly status: number;
  readonly body: unknown;
}

const OK: Answer = { status: 200, body: { ok: true } };

export async function serveControl(proxy: FailingProxy, socket: string): Promise<Server> {
  const server = createServer((request, response) => {
    answerTo(proxy, request).then(
      ({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(`${JSON.stringify(body, null, 2)}\n`);
      },
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(socket, resolve);
  });
  return server;
}

async function answerTo(proxy: FailingProxy, request: IncomingMessage): Promise<Answer> {
  switch (`${request.method} ${request.url}`) {
    case 'GET /':
      return { status: 200, body: report(proxy) };
    case 'POST /rules':
      return addRule(proxy, await readText(request));
    case 'DELETE /rules':
      proxy.clear();
      return OK;
    case 'POST /cut':
      proxy.cut();
      return OK;
    case 'POST /refuse':
      await proxy.refuse();
      return OK;
    case 'POST /accept':
      await proxy.accept();
      return OK;
    default:
      return refused(404, `there is GET /, POST and DELETE /rules, POST /cut, /refuse and /accept`);
  }
}

function addRule(proxy: FailingProxy, body: string): Answer {
  try {
    const { rule } = proxy.add(ruleFromJson(JSON.parse(body)));
    return { status: 200, body: rule };
  } catch (error) {
    if (error instanceof RuleRefused) return refused(400, error.message);
    if (error instanceof SyntaxError) return refused(400, `no JSON: ${error.message}`);
    throw error;
  }
}

const refused = (status: number, sentence: string): Answer => ({
  status,
  body: { refused: sentence },
});

function report(proxy: FailingProxy): unknown {
  return {
    rules: proxy.rules.map(({ rule, matched, applied }) => ({ ...rule, matched, applied })),
    requests: proxy.requests.map(({ request, count, bytes }) => ({ ...request, count, bytes })),
    openWatches: proxy.openStreams.length,
  };
}
