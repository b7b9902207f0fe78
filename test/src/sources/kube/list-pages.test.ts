/** Pages of a list whose objects are longer than anybody expects: how many are asked for at once. */

import { expect } from 'chai';
import { AnswerTooLong, type KubeApi, type ListOptions } from '../../../../src/sources/kube/api.ts';
import { ListPages } from '../../../../src/sources/kube/list-pages.ts';
import { SERVICES } from '../../../../src/sources/kube/resources.ts';

/** a server whose objects have so many octets each; what it was asked for */
function server(octets: number) {
  const asked: number[] = [];
  const list = async (_: unknown, { limit = 0, mostBytes }: ListOptions = {}) => {
    asked.push(limit);
    if (mostBytes !== undefined && limit * octets > mostBytes) {
      throw new AnswerTooLong('/api/v1/services', mostBytes);
    }
    return { resourceVersion: '1', continueToken: 'more', items: [] };
  };
  const none = () => Promise.reject(new Error('not asked'));
  const api: KubeApi = {
    list,
    ...{ get: none, create: none, update: none, patch: none, delete: none, watch: none },
  };
  return { api, asked };
}

describe('the pages of a list', () => {
  it('objects as most are: five hundred at once, always', async () => {
    const { api, asked } = server(3000);
    const pages = new ListPages(api, SERVICES, 500);
    for (let page = 0; page < 3; page += 1) await pages.ask({});
    expect(asked).to.deep.equal([500, 500, 500]);
  });

  it('objects of 1.4 MB: few at once, and only now and then too many', async () => {
    const { api, asked } = server(1_400_000);
    const pages = new ListPages(api, SERVICES, 500);
    for (let page = 0; page < 5; page += 1) await pages.ask({});
    expect(asked).to.deep.equal([500, 62, 7, 9, 12, 6, 8, 10]);
  });

  it('one object that is longer than a page is taken as it is', async () => {
    const { api, asked } = server(20_000_000);
    const pages = new ListPages(api, SERVICES, 500);
    await pages.ask({});
    expect(asked).to.deep.equal([500, 62, 7, 1]);
  });

  it('without pages the list is asked for as a whole, whatever its length', async () => {
    const { api, asked } = server(1_400_000);
    await new ListPages(api, SERVICES, undefined).ask({});
    expect(asked).to.deep.equal([0]);
  });
});
