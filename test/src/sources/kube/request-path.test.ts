import { expect } from 'chai';
import {
  deleteBody,
  listPath,
  objectPath,
  watchPath,
  writePath,
} from '../../../../src/sources/kube/request-path.ts';
import {
  IP_CLAIMS,
  inNamespace,
  LEASES,
  SERVICES,
} from '../../../../src/sources/kube/resources.ts';

describe('where things stand in the API', () => {
  it('by group, namespace and name', () => {
    expect(objectPath(IP_CLAIMS, '192.0.2.1')).to.equal(
      '/apis/herald.dev/v1alpha1/ipclaims/192.0.2.1',
    );
    expect(objectPath(inNamespace(SERVICES, 'shop'), 'a b')).to.equal(
      '/api/v1/namespaces/shop/services/a%20b',
    );
    expect(listPath(SERVICES, {})).to.equal('/api/v1/services');
    expect(objectPath(LEASES, 'x')).to.equal(
      '/apis/coordination.k8s.io/v1/namespaces/herald-system/leases/x',
    );
  });

  it('with the subresource and who writes', () => {
    expect(
      writePath(IP_CLAIMS, 'x', { subresource: 'status', fieldManager: 'herald', force: true }),
    ).to.equal('/apis/herald.dev/v1alpha1/ipclaims/x/status?fieldManager=herald&force=true');
  });

  it('with selectors and versions in the query', () => {
    const options = { labelSelector: 'node.herald.dev/a in (x,y)', resourceVersion: '0', limit: 5 };
    expect(listPath(IP_CLAIMS, options)).to.equal(
      '/apis/herald.dev/v1alpha1/ipclaims?labelSelector=node.herald.dev%2Fa%20in%20(x%2Cy)&resourceVersion=0&limit=5',
    );
    const watch = {
      resourceVersion: '7',
      timeoutSeconds: 240,
      signal: new AbortController().signal,
      onEvent: () => {},
    };
    expect(watchPath(SERVICES, { ...watch, fieldSelector: 'metadata.name=a' })).to.equal(
      '/api/v1/services?watch=true&allowWatchBookmarks=true&fieldSelector=metadata.name%3Da&resourceVersion=7&timeoutSeconds=240',
    );
  });

  it('guards a deletion', () => {
    expect(deleteBody({})).to.equal(undefined);
    expect(deleteBody({ uid: 'u', resourceVersion: '3' })).to.have.deep.property('preconditions', {
      uid: 'u',
      resourceVersion: '3',
    });
  });
});
