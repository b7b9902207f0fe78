/** What a request asks of the API server, read from its method and URL as the server itself reads it. Pure. */

export interface ApiRequest {
  /** get, list, watch, create, update, patch, delete, deletecollection; `other` for what is no resource, /readyz */
  readonly verb: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent: string;
}

/** Each given word must fit; `subresource: ''` means none, `userAgent` is a part of the client's. */
export interface RequestMatch {
  readonly verb?: string | readonly string[];
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent?: string;
}

const WRITES: Readonly<Record<string, string>> = {
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

export function readRequest(method: string, url: string, userAgent: string): ApiRequest {
  const { pathname, searchParams } = new URL(url, 'https://server');
  const parts = pathname.split('/').filter((part) => part !== '');
  const [root] = parts;
  const rest = root === 'api' ? parts.slice(2) : root === 'apis' ? parts.slice(3) : [];
  if (rest.length === 0) return { verb: 'other', resource: '', userAgent };
  const place = placeOf(rest.map(decodeURIComponent));
  const isWatch = ['true', '1'].includes(searchParams.get('watch') ?? '');
  return { verb: verbOf(method, place.name !== undefined, isWatch), ...place, userAgent };
}

function verbOf(method: string, hasName: boolean, isWatch: boolean): string {
  if (method === 'GET' && isWatch) return 'watch';
  if (method === 'GET') return hasName ? 'get' : 'list';
  if (method === 'DELETE' && !hasName) return 'deletecollection';
  return WRITES[method] ?? 'other';
}

type Place = Pick<ApiRequest, 'resource' | 'subresource' | 'namespace' | 'name'>;

function placeOf(parts: readonly string[]): Place {
  const [first = '', second, third = ''] = parts;
  // `namespaces/NAME/status` speaks of the namespace, `namespaces/NAME/pods` of what is in it
  const isInside =
    first === 'namespaces' && parts.length > 2 && !['status', 'finalize'].includes(third);
  const [resource = '', name, subresource] = isInside ? parts.slice(2) : parts;
  return {
    resource,
    ...(isInside && second !== undefined ? { namespace: second } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  };
}

export function matches(match: RequestMatch, request: ApiRequest): boolean {
  const { verb } = match;
  const verbs = verb === undefined || typeof verb === 'string' ? verb : [...verb];
  if (typeof verbs === 'string' && verbs !== request.verb) return false;
  if (Array.isArray(verbs) && !verbs.includes(request.verb)) return false;
  if (match.userAgent !== undefined && !request.userAgent.includes(match.userAgent)) return false;
  const isSame = (wanted: string | undefined, is: string | undefined) =>
    wanted === undefined || wanted === (is ?? '');
  return (
    isSame(match.resource, request.resource) &&
    isSame(match.subresource, request.subresource) &&
    isSame(match.namespace, request.namespace) &&
    isSame(match.name, request.name)
  );
}
