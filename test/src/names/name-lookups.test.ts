import { promises } from 'node:dns';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { NameLookups } from '../../../src/names/name-lookups.ts';
import { SystemNameFiles } from '../../../src/names/system-name-files.ts';
import { untilValue } from '../../support/poll.ts';
import { DnsServer } from './dns-server.ts';

const APP = 'app.example.com';
const DEAD = 'dead.example.com';

describe('NameLookups', () => {
  let folder: string;
  let server: DnsServer;
  let names: NameLookups;
  let nowMs = 0;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'herald-names-'));
    server = await DnsServer.start();
    server.zone.set(APP, ['192.0.2.1', '2001:db8::1']);
    server.zone.set(DEAD, 'silent');
    nowMs = 0;
    files('127.0.0.1 localhost\n192.0.2.9 Listed listed.example.com # by hand\n', '');
  });
  afterEach(async () => {
    names.close();
    await server.close();
    rmSync(folder, { recursive: true });
  });

  function files(hosts: string, resolvConf: string): void {
    writeFileSync(join(folder, 'hosts'), hosts);
    writeFileSync(join(folder, 'resolv.conf'), resolvConf);
    const read = new SystemNameFiles(join(folder, 'hosts'), join(folder, 'resolv.conf'));
    names = new NameLookups({ servers: [server.address], files: read, now: () => nowMs });
  }

  function lookup(name: string, family?: 4 | 6): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const options = { all: true, ...(family === undefined ? {} : { family }) };
      names.lookup(name, options, (error, found) => {
        if (error !== null) reject(error);
        else resolve(typeof found === 'string' ? [found] : found.map(({ address }) => address));
      });
    });
  }

  const code = (name: string) =>
    lookup(name).then(
      () => 'found',
      (error: NodeJS.ErrnoException) => error.code,
    );

  it('localhost, and what is below it, is both loopbacks, and nobody is asked', async () => {
    server.fallSilent();
    for (const name of ['localhost', 'LOCALHOST', 'localhost.', 'api.localhost']) {
      expect(await lookup(name)).to.deep.equal(['127.0.0.1', '::1']);
    }
    expect(await lookup('localhost', 6)).to.deep.equal(['::1']);
    expect(server.asked).to.deep.equal([]);
  });

  it('a name of DNS has the addresses of both families, and of one when one is asked for', async () => {
    expect(await lookup(APP)).to.deep.equal(['2001:db8::1', '192.0.2.1']);
    expect(await lookup('App.Example.com', 4)).to.deep.equal(['192.0.2.1']);
  });

  it('/etc/hosts comes before DNS, whatever the case of the letters', async () => {
    server.zone.set('listed', ['192.0.2.77']);
    expect(await lookup('listed')).to.deep.equal(['192.0.2.9']);
    expect(await lookup('LISTED.example.com')).to.deep.equal(['192.0.2.9']);
    expect(server.asked).to.deep.equal([]);
  });

  it('files that cannot be read: DNS is asked all the same, and nothing ends', async () => {
    for (const name of ['hosts', 'resolv.conf']) {
      rmSync(join(folder, name));
      symlinkSync(name, join(folder, name));
    }
    expect(await lookup(APP)).to.include('192.0.2.1');
    expect(await code('listed')).to.equal('ENOTFOUND');
  });

  it('a short name is looked for in the search list of resolv.conf', async () => {
    files('', 'nameserver 192.0.2.53\nsearch nowhere.example example.com\noptions ndots:2\n');
    expect(await lookup('app')).to.include('192.0.2.1');
    expect(server.asked[0]).to.equal('app.nowhere.example');
    server.zone.set('a.b', ['192.0.2.2']);
    expect(await lookup('a.b.')).to.deep.equal(['192.0.2.2']);
  });

  it('what only the system knows is asked of it last: the name of this machine', async () => {
    const bySystem = await promises.lookup(hostname()).then(
      () => 'found',
      (error: NodeJS.ErrnoException) => error.code,
    );
    expect(await code(hostname())).to.equal(bySystem);
    expect(server.count(hostname().toLowerCase())).to.equal(2);
    expect(await code('no-such-name.invalid')).to.equal('ENOTFOUND');
  });

  it('a name that does not answer holds up no other; a hundred askers of it are one question', async () => {
    const dead = Array.from({ length: 100 }, () => code(DEAD));
    const others = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        server.zone.set(`n${index}.example.com`, ['192.0.2.3']);
        return await lookup(`n${index}.example.com`);
      }),
    );
    expect(new Set(others.flat())).to.deep.equal(new Set(['192.0.2.3']));
    // the others are answered, and of this one there is the first question for each family (or its first repetition)
    expect(server.count(DEAD)).to.be.within(2, 4);
    expect(new Set(await Promise.all(dead))).to.deep.equal(new Set(['EAI_AGAIN']));
    // both families, each twice
    expect(server.count(DEAD)).to.equal(4);
  }).timeout(60_000);

  it('an answer is used for seconds, and for a minute while it is asked for again', async () => {
    await lookup(APP);
    nowMs = 4999;
    await lookup(APP);
    expect(server.count(APP)).to.equal(2);
    server.zone.set(APP, ['192.0.2.4']);
    nowMs = 5000;
    expect(await lookup(APP)).to.include('192.0.2.1');
    await untilValue(
      'the new address is known',
      () => lookup(APP),
      (found) => found[0] === '192.0.2.4',
    );
    server.fallSilent();
    nowMs += 59_999;
    expect(await lookup(APP)).to.deep.equal(['192.0.2.4']);
    nowMs += 1;
    expect(await code(APP)).to.equal('EAI_AGAIN');
  }).timeout(60_000);

  it('a name that DNS denies is no longer known, however young the answer before is', async () => {
    await lookup(APP);
    server.zone.delete(APP);
    nowMs = 5000;
    await lookup(APP);
    await untilValue(
      'the name is denied',
      () => code(APP),
      (found) => found === 'ENOTFOUND',
    );
  });

  it('names that nobody asks for are forgotten', async () => {
    for (let index = 0; index < 50; index += 1) {
      server.zone.set(`n${index}.example.com`, ['192.0.2.3']);
      await lookup(`n${index}.example.com`);
    }
    expect(names.size).to.equal(50);
    nowMs = 60_000;
    await lookup(APP);
    expect(names.size).to.equal(1);
  });

  it('a look-up that is given up ends', async () => {
    const asked = code(DEAD);
    await untilValue(
      'it was asked',
      () => server.count(DEAD),
      (count) => count > 0,
    );
    names.close();
    expect(await asked).to.equal('EAI_AGAIN');
    expect(server.count(DEAD)).to.be.below(4);
  });
});
