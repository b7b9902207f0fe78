import { NAMESPACE } from '../../../src/model/names.ts';
import type { Scenario } from '../scenario.ts';
import { expectBrief } from '../verdicts.ts';

const SESSIONS_UP = 'SessionsUp';
const NEIGHBOURS = ['10.1.0.11', '10.1.0.12'];

export const scenario: Scenario = {
  title: 'a wrong MD5 key takes rack 1 out, the right one brings it back',
  isShort: true,
  async run(world) {
    const { address, prefix } = await world.serveWeb();
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'));
    await world.apply('secret.yaml', NAMESPACE);
    const wanted = (name: string | null) =>
      JSON.stringify({ spec: { password: name === null ? null : { secret: name } } });
    const patch = (body: string) =>
      world.kubectl(['patch', 'bgppeer', 'tor1', '--type=merge', '-p', body]);
    const lines = (no: string) =>
      NEIGHBOURS.map((each) => `${no}neighbor ${each} password the-key-of-the-router`);
    world.later(async () => {
      await world.lab.configure('tor1', lines('no '));
      await patch(wanted(null));
    });
    await world.lab.configure('tor1', lines(''));
    await patch(wanted('lab-tor1'));
    await world.routerHas('tor1', prefix, world.throughSpine('tor1'));
    await world.routerHas('spine', prefix, world.paths('tor2'));
    await world.conditionIs('bgppeer/tor1', SESSIONS_UP, {
      status: 'False',
      reason: 'NoneEstablished',
      says: 'is the TCP-MD5 key the same on both sides?',
    });
    await world.answered(address);
    const probing = await world.probe({ address, everyMs: 10, seconds: 180 });
    await world.apply('right.yaml', NAMESPACE);
    await world.routerHas('spine', prefix, world.paths('tor1', 'tor2'), { withinMs: 90_000 });
    await world.routerHas('tor1', prefix, world.paths('n1', 'n2'), { withinMs: 90_000 });
    await world.conditionIs('bgppeer/tor1', SESSIONS_UP, {
      status: 'True',
      reason: 'AllEstablished',
      says: '2 of 2 nodes have a session',
    });
    const outage = await probing.stop();
    // the rack's two nodes come back one by one
    expectBrief(outage, { everyMs: 10, changes: 2 });
    return [{ what: 'rack 1 comes back', outage }];
  },
};
