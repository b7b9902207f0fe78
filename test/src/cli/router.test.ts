/** `herald router` as typed: what its flags become, and the sentence for each mistake. */

import { expect } from 'chai';
import { UsageError } from '../../../src/cli/command.ts';
import { routerCommand } from '../../../src/cli/router.ts';
import { type RouterFlags, routerOptions } from '../../../src/cli/router-options.ts';

const BASE: RouterFlags = { asn: '64500', 'neighbor-range': ['192.0.2.0/24'] };

describe('the flags of herald router', () => {
  it('have defaults for all but the AS number and the range', () => {
    expect(routerOptions(BASE)).to.deep.include({
      listen: { port: 179 },
      asn: 64500,
      neighborAsn: 'external',
      maxPrefixes: 1000,
      holdSeconds: 9,
      logLevel: 'info',
    });
    expect(routerOptions(BASE)).to.not.have.any.keys('install', 'http', 'routerId', 'passwordFile');
  });

  it('become settings', () => {
    const options = routerOptions({
      ...BASE,
      listen: '0.0.0.0:1179',
      'router-id': '192.0.2.1',
      'neighbor-range': ['192.0.2.77/24', 'fd00::/64', '192.0.2.0/24'],
      'neighbor-asn': 'any',
      'max-prefix': '5',
      hold: '0',
      install: true,
      table: '4000',
      http: '[::1]:8080',
      'log-level': 'debug',
    });
    expect(options.listen).to.deep.equal({ address: { family: 'ipv4', bits: 0 }, port: 1179 });
    expect(options.neighborRanges, 'masked, each once').to.have.length(2);
    expect(options).to.deep.include({
      routerId: 0xc0000201,
      neighborAsn: 'any',
      maxPrefixes: 5,
      holdSeconds: 0,
      install: { table: 4000 },
      logLevel: 'debug',
    });
    expect(options.http?.port).to.equal(8080);
    expect(routerOptions({ ...BASE, install: true }).install).to.deep.equal({ table: 254 });
    expect(routerOptions({ ...BASE, listen: '[::]:0' }).listen).to.deep.equal({ port: 0 });
    expect(routerOptions({ ...BASE, 'neighbor-asn': '64512' }).neighborAsn).to.equal(64512);
  });

  it('that are wrong are a sentence', () => {
    const wrong: readonly (readonly [RouterFlags, RegExp])[] = [
      [{ 'neighbor-range': ['192.0.2.0/24'] }, /^--asn is missing/],
      [{ asn: '64500' }, /^--neighbor-range is missing/],
      [{ ...BASE, asn: '0' }, /not an AS number/],
      [{ ...BASE, 'neighbor-range': ['192.0.2.0/33'] }, /'192\.0\.2\.0\/33' is not a range/],
      [{ ...BASE, 'neighbor-range': ['192.0.2.0'] }, /'192\.0\.2\.0' is not a range/],
      [{ ...BASE, 'neighbor-asn': 'internal' }, /not an AS number/],
      [{ ...BASE, listen: '179' }, /--listen '179' is not ADDRESS:PORT/],
      [{ ...BASE, listen: '::1:179' }, /not ADDRESS:PORT/],
      [{ ...BASE, listen: 'localhost:179' }, /not a host name/],
      [{ ...BASE, http: '127.0.0.1:65536' }, /--http/],
      [{ ...BASE, 'max-prefix': '0' }, /not a number of prefixes/],
      [{ ...BASE, hold: '2' }, /0 \(none\) or 3 to 65535/],
      [{ ...BASE, table: '100' }, /needs --install/],
      [{ ...BASE, install: true, table: '255' }, /not a table/],
      [{ ...BASE, 'router-id': '0.0.0.0' }, /not a BGP identifier/],
      [{ ...BASE, 'log-level': 'loud' }, /error, warn, info, debug/],
    ];
    for (const [flags, sentence] of wrong) {
      expect(() => routerOptions(flags), JSON.stringify(flags)).to.throw(UsageError, sentence);
    }
  });

  it('are all in the help, which says what to use beyond a small site', () => {
    for (const flag of [
      'listen',
      'asn',
      'router-id',
      'neighbor-range',
      'neighbor-asn',
      'max-prefix',
    ]) {
      expect(routerCommand.help).to.include(`--${flag}`);
    }
    for (const flag of ['hold', 'password-file', 'install', 'table', 'http', 'log-level']) {
      expect(routerCommand.help).to.include(`--${flag}`);
    }
    expect(routerCommand.help).to.match(/FRR or BIRD is the choice/);
    for (const line of routerCommand.help.split('\n')) expect(line.length, line).to.be.below(101);
  });
});
