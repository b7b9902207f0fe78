/**
 * The page in a headless Chromium, beside a demo on a terminal, which stays after the story. What the page shows of the router's table
 * is compared with what the router made of an order: buttons are clicked, and the route must go and come.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { Chromium, hasChromium } from '../support/chromium.ts';
import { DemoRun, program } from './run-demo.ts';

const START_MS = 60_000;
const SOON_MS = 40_000;
const PICTURES = process.env['HERALD_PICTURES'];

const USED = "document.querySelectorAll('.route[data-route=used]').length";
const ROUTES = "[...document.querySelectorAll('.route')].map((line) => line.dataset.route).join()";
const PAGE = 'document.body.innerText';
const button = (verb: string, node: number) => `button[data-verb="${verb}"][data-node="${node}"]`;

describe("the demo's page", () => {
  let run: DemoRun;
  let chromium: Chromium;

  before(function () {
    if (hasChromium()) return;
    process.stderr.write(
      'SKIPPED: the page of the demo needs chromium (tools/setup.sh --packages)\n',
    );
    this.skip();
  });

  beforeEach(async function () {
    this.timeout(90_000);
    chromium = new Chromium();
    // the story waits for nobody: a browser that is still starting would see only the end of it
    await chromium.start();
    const command = `stty rows 24 cols 80; exec ${program} demo --speed 5`;
    run = new DemoRun(['script', '-qfc', command, '/dev/null']);
  });

  afterEach(async () => {
    await chromium?.close();
    await run?.clear();
  });

  async function picture(name: string): Promise<void> {
    if (PICTURES === undefined) return;
    mkdirSync(PICTURES, { recursive: true });
    await chromium.screenshot(join(PICTURES, `${name}.png`));
  }

  it('shows the story and the routes, and its buttons act', async function () {
    this.timeout(400_000);
    const url = await run.says(/(http:\/\/127\.0\.0\.1:\d+\/)/, START_MS);
    await chromium.open(url);
    await chromium.until("document.querySelectorAll('#steps li').length === 8");
    // asked in one breath: on a busy machine the story may be over before the page is there
    expect(
      await chromium.evaluate(
        `document.querySelector('${button('kill', 1)}').disabled || document.body.dataset.mode === 'play'`,
      ),
    ).to.equal(true);
    await chromium.until("document.querySelector('#steps li').dataset.state === 'seen'", START_MS);
    await chromium.until(`${USED} === 3`, START_MS, PAGE);
    await picture('three-routes');

    await chromium.until(
      "document.body.dataset.mode === 'play'",
      90_000,
      "document.querySelector('#steps').innerText",
    );
    const states = await chromium.evaluate(
      "[...document.querySelectorAll('#steps li')].map((li) => li.dataset.state).join()",
    );
    expect(states).to.equal(Array.from({ length: 8 }, () => 'seen').join());
    expect(await chromium.evaluate("document.querySelector('#outcome').textContent")).to.match(
      /^Every step was seen/,
    );
    expect(
      Number(await chromium.evaluate("document.querySelector('#lost').textContent")),
    ).to.be.greaterThan(0);
    expect(
      await chromium.evaluate("document.querySelectorAll('#strip .ok').length"),
    ).to.be.greaterThan(50);

    await chromium.click(button('freeze', 3));
    await chromium.until(`${ROUTES} === 'used,used,none'`, SOON_MS, ROUTES);
    await picture('frozen');
    await chromium.click(button('freeze', 3));
    await chromium.until(`${USED} === 3`, SOON_MS, ROUTES);
    await chromium.click(button('kill', 1));
    await chromium.until(`${ROUTES} === 'none,used,used'`, SOON_MS, ROUTES);
    expect(
      await chromium.evaluate(`document.querySelector('${button('kill', 1)}').textContent`),
    ).to.equal('Revive');
    await chromium.click(button('kill', 1));
    await chromium.until(`${USED} === 3`, SOON_MS, ROUTES);
    await chromium.click(button('drain', 2));
    await chromium.until(`${ROUTES} === 'used,none,used'`, SOON_MS, ROUTES);

    // fits a small laptop and a phone, in both palettes
    for (const look of [{}, { isDark: true }, { width: 390, height: 844, isMobile: true }]) {
      await chromium.look(look);
      await chromium.until(
        'document.documentElement.scrollWidth <= innerWidth',
        SOON_MS,
        `[document.documentElement.scrollWidth, innerWidth, ${JSON.stringify(look)}]`,
      );
      await picture(`play-${JSON.stringify(look).replace(/\W+/g, '-')}`);
    }
    await chromium.look({});
    await chromium.until(
      'document.documentElement.scrollHeight <= innerHeight',
      SOON_MS,
      '[document.documentElement.scrollHeight, innerHeight]',
    );
    await chromium.look({ isMotionReduced: true });
    const animation =
      "getComputedStyle(document.querySelector('.route[data-route=used]')).animationName";
    await chromium.until(`${animation} === 'none'`, SOON_MS, animation);

    const elsewhere = chromium.requests.filter(
      (each) => !each.startsWith(url) && !/^(data|about):/.test(each),
    );
    expect(elsewhere).to.deep.equal([]);
    expect(chromium.problems).to.deep.equal([]);

    run.process.stdin?.write('q');
    await chromium.until("!document.querySelector('#ended').hidden", SOON_MS);
  });
});
