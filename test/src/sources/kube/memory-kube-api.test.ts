import { describeKubeApi } from '../../../compliance/kube-api.ts';
import { MemoryKubeApi } from '../../../support/memory-kube-api.ts';

describe('the API in memory', () => {
  let api: MemoryKubeApi;
  beforeEach(() => {
    api = new MemoryKubeApi();
  });
  describeKubeApi('memory', () => api);
});
