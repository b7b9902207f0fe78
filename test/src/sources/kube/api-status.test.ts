import { expect } from 'chai';
import { statusError } from '../../../../src/sources/kube/api-status.ts';

describe('a refusal of the API server', () => {
  it('has the reason and the sentence of its Status', () => {
    const said = {
      code: 409,
      reason: 'AlreadyExists',
      message: 'ipclaims "192.0.2.1" already exists',
    };
    expect(statusError(409, said)).to.include({
      status: 409,
      reason: said.reason,
      message: said.message,
    });
  });

  it('has the time to wait from the header, or from the details', () => {
    expect(statusError(429, {}, '2')).to.include({
      status: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 2000,
    });
    const details = { retryAfterSeconds: 3 };
    expect(statusError(503, { details })).to.include({ retryAfterMs: 3000 });
    expect(statusError(503, { details }, '100000')).to.include({ retryAfterMs: 60_000 });
    expect(statusError(503, {}, 'Wed, 21 Oct 2026 07:28:00 GMT').retryAfterMs).to.equal(undefined);
  });

  it('is readable where something else than the API server has answered', () => {
    expect(statusError(502, '<html>bad gateway</html>')).to.include({
      status: 502,
      reason: 'HTTP 502',
      message: '<html>bad gateway</html>',
    });
    expect(statusError(404, '')).to.include({ reason: 'NotFound', message: 'NotFound' });
  });
});
