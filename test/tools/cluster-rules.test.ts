/** What a person tells `make cluster` and its failing proxy: taken as meant, or refused in a sentence. */

import { expect } from 'chai';
import { readClusterOptions } from '../../tools/cluster/options.ts';
import { RuleRefused, ruleFromJson } from '../../tools/cluster/rule-from-json.ts';

function refusal(value: unknown): string {
  try {
    ruleFromJson(value);
  } catch (error) {
    if (error instanceof RuleRefused) return error.message;
    throw error;
  }
  return '';
}

describe('a rule of the failing proxy, in JSON', () => {
  it('is taken with every fault that there is', () => {
    const match = { verb: ['create', 'patch'], resource: 'services', subresource: 'status' };
    const faults = [
      { kind: 'status', code: 409, reason: 'Conflict' },
      { kind: 'status', code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
      { kind: 'stall', ms: 100 },
      { kind: 'drop-response' },
      { kind: 'drop-request' },
      { kind: 'half-open' },
      { kind: 'slow', bytesPerSecond: 10 },
      { kind: 'watch-error', code: 410, reason: 'Expired' },
    ];
    for (const fault of faults) {
      const rule = { match, fault, times: 2, after: 1 };
      expect(ruleFromJson(rule)).to.deep.equal(rule);
    }
    expect(ruleFromJson({ fault: { kind: 'half-open' } })).to.deep.equal({
      match: {},
      fault: { kind: 'half-open' },
    });
  });

  it('is refused with what is wrong with it', () => {
    const fault = { kind: 'half-open' };
    expect(refusal('409')).to.equal('a rule must be an object');
    expect(refusal({ fault: { kind: 'explode' } })).to.match(/^fault.kind must be one of status, /);
    expect(refusal({ fault: { kind: 'status', code: 409 } })).to.include('fault.reason is needed');
    expect(refusal({ fault: { kind: 'stall' } })).to.equal('ms is needed, a number');
    expect(refusal({ fault, time: 2 })).to.match(/^a rule has no field time; there are match, /);
    expect(refusal({ fault, times: -1 })).to.equal('times must be a whole number from 0 up');
    expect(refusal({ fault, match: { verb: 3 } })).to.equal('verb must be text');
    expect(refusal({ fault, match: { kind: 'Service' } })).to.match(/^match has no field kind/);
  });
});

describe('the options of make cluster', () => {
  it('are a number of servers, a proxy, down and help', () => {
    expect(readClusterOptions([])).to.deep.equal({ kind: 'up' });
    expect(readClusterOptions(['--proxy', '--servers=3'])).to.deep.equal({
      kind: 'up',
      servers: 3,
      proxy: true,
    });
    expect(readClusterOptions(['--down'])).to.deep.equal({ kind: 'down' });
    expect(readClusterOptions(['--up', '--help'])).to.deep.equal({ kind: 'help' });
  });

  it('are refused in a sentence', () => {
    const wrong = (...args: readonly string[]) => {
      const options = readClusterOptions(args);
      return options.kind === 'wrong' ? options.sentence : '';
    };
    expect(wrong('--servers')).to.include('write --servers=N');
    expect(wrong('--servers=6')).to.include('from 1 to 5');
    expect(wrong('--prox')).to.include('--prox is unknown');
  });
});
