/**
 * The demo's page: takes scenes from /events and shows them; sends what its buttons say to /act. It knows nothing that is not in the
 * scene, so a page that was opened late or lost its connection is right again with the next one.
 */

const TOKEN = document.querySelector('meta[name="herald-token"]').content;
const SVG = 'http://www.w3.org/2000/svg';
const STRIP_LENGTH = 240;
const MARK_WIDTH = 4;
const LANE = 22;
const NODE_X = [150, 450, 750];
const NODE_Y = 262;
const ROUTER = { x: 450, y: 139 };
const CLIENT = { x: 450, y: 30 };
/** a request on its way from client to router, from router to machine, and how long a lost one stays to be seen */
const LEG_MS = 260;
const FADE_MS = 600;
const MAX_DOTS = 120;
const TICKS = { seen: '✓', failed: '✕', running: '▸', waiting: '', skipped: '–' };
const isStill = matchMedia('(prefers-reduced-motion: reduce)');

const byId = (id) => document.getElementById(id);

function html(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function svg(tag, attributes, text) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

/** writes only what differs, so that nothing is laid out anew ten times a second */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** what was seen, and after how long */
function splitTime(sentence) {
  const [, what = sentence, time = ''] = /^(.*) \(after (.*)\)$/.exec(sentence) ?? [];
  return [what, time];
}

function setData(element, name, value) {
  if (element.dataset[name] !== value) element.dataset[name] = value;
}

/* steps */

const stepViews = [];

function buildSteps(steps) {
  for (const { title } of steps) {
    const item = html('li');
    const tick = html('span', 'tick');
    const text = html('p', 'step-text');
    const look = html('p', 'step-look');
    const seen = html('p', 'step-seen');
    const head = html('p', 'step-head');
    const time = html('span', 'step-time');
    head.append(html('span', 'step-title', title), time);
    item.append(tick, head, text, look, seen);
    byId('steps').append(item);
    stepViews.push({ item, tick, time, text, look, seen });
  }
}

function showSteps({ steps, mode }) {
  if (stepViews.length === 0) buildSteps(steps);
  steps.forEach(({ state, text, look, sentence }, at) => {
    const view = stepViews[at];
    const isRunning = state === 'running';
    setData(view.item, 'state', state);
    setText(view.tick, TICKS[state]);
    setText(view.text, isRunning ? text : '');
    setText(view.look, isRunning ? `Look: ${look}` : '');
    const [what, time] = splitTime(isRunning || state === 'skipped' ? '' : sentence);
    setText(view.seen, what);
    setText(view.time, time);
    if (isRunning) view.item.setAttribute('aria-current', 'step');
    else view.item.removeAttribute('aria-current');
  });
  const outcome = byId('outcome');
  outcome.hidden = mode === 'story';
  const isFailed = steps.some(({ state }) => state === 'failed');
  const isSkipped = !isFailed && steps.some(({ state }) => state === 'skipped');
  outcome.toggleAttribute('data-failed', isFailed);
  if (isFailed) setText(outcome, 'A step was not seen at the router.');
  else if (isSkipped) setText(outcome, 'The rest was skipped. Now it is yours.');
  else setText(outcome, 'Every step was seen at the router. Now it is yours.');
}

/* router and machines */

const nodeViews = [];

function buildNode({ id, name, address }) {
  const x = NODE_X[id - 1];
  const from = ROUTER.y + 31;
  const curve = `M450 ${from}C450 ${from + 56} ${x} ${NODE_Y - 62} ${x} ${NODE_Y - 4}`;
  const line = svg('path', { class: 'route', d: curve });
  const group = svg('g', { class: 'node' });
  group.append(
    svg('rect', { x: x - 92, y: NODE_Y, width: 184, height: 52, rx: 10 }),
    svg('text', { x, y: NODE_Y + 22, class: 'name' }, name),
    svg('text', { x, y: NODE_Y + 41, class: 'small' }, address),
  );
  byId('lines').append(line);
  byId('nodes').append(group);
  const card = html('div', 'card');
  const facts = html('dl', 'facts');
  const fields = ['API server', 'Joined', 'Session', 'Route'].map((label) => {
    const value = html('dd');
    facts.append(html('dt', '', label), value);
    return value;
  });
  const verbs = html('div', 'verbs');
  const buttons = ['drain', 'freeze', 'kill', 'api'].map((verb) => {
    const button = html('button');
    button.type = 'button';
    button.dataset.verb = verb;
    button.dataset.node = String(id);
    button.addEventListener('click', () => void act({ verb, node: id }));
    return button;
  });
  verbs.append(...buttons);
  card.append(html('h3', `lane-${id}`, name), facts, verbs);
  byId('cards').append(card);
  byId('lanes').append(html('span', `lane-${id}`, name));
  nodeViews.push({ line, group, fields, buttons, curve });
}

function factsOf({ power, isApiUp, joined, isSession, agentSession, route, isDraining }) {
  if (power === 'dead') return [['dead', 'bad'], ['–', 'off'], ['dead', 'bad'], routeFact(route)];
  const isFrozen = power === 'frozen';
  const api = isApiUp ? ['up', 'up'] : ['down', 'off'];
  const gate = joined === 'open' ? ['yes', 'up'] : [joined === undefined ? '?' : 'no', 'off'];
  const session = [agentSession, isSession ? 'up' : 'off'];
  const frozen = ['frozen', 'cold'];
  return [
    isFrozen ? frozen : api,
    isFrozen ? ['?', 'off'] : gate,
    isFrozen ? frozen : session,
    routeFact(route, isFrozen, isDraining),
  ];
}

function routeFact(route, isFrozen, isDraining) {
  if (route === 'used') return ['● in use', isFrozen ? 'cold' : 'up'];
  if (route === 'spare') return ['◐ draining', 'warn'];
  return [isDraining ? '○ drained' : '○ none', 'off'];
}

function labelsOf({ power, isApiUp, isDraining }) {
  return [
    isDraining ? 'Undrain' : 'Drain',
    power === 'frozen' ? 'Thaw' : 'Freeze',
    power === 'dead' ? 'Revive' : 'Kill',
    isApiUp ? 'Stop API' : 'Start API',
  ];
}

/** drain and API are for a machine that runs, freezing for one that is not dead */
function isPossible({ power }, verb) {
  if (verb === 'kill') return true;
  return verb === 'freeze' ? power !== 'dead' : power === 'running';
}

function showNode(node, mode) {
  const view = nodeViews[node.id - 1];
  for (const element of [view.line, view.group]) {
    setData(element, 'route', node.route);
    setData(element, 'power', node.power);
  }
  factsOf(node).forEach(([text, tone], at) => {
    setText(view.fields[at], text);
    setData(view.fields[at], 'tone', tone);
  });
  const labels = labelsOf(node);
  view.buttons.forEach((button, at) => {
    setText(button, labels[at]);
    button.setAttribute('aria-label', `${labels[at]} ${node.name}`);
    button.disabled = mode === 'story' || !isPossible(node, button.dataset.verb);
  });
}

function showRouter({ nodes, prefix, holdSeconds, isHoldBroken }) {
  const used = nodes.filter(({ route }) => route === 'used').length;
  const share = used === 0 ? '' : `, ${Math.round(100 / used)} % each`;
  setText(byId('prefix'), prefix);
  const hops = `${used} next hop${used === 1 ? '' : 's'}${share}`;
  setText(byId('hops'), used === 0 ? 'no route' : hops);
  setText(byId('hold'), isHoldBroken ? 'hold timer off' : `hold time ${holdSeconds} s`);
}

/* requests */

const marks = [];

function buildStrip() {
  for (let at = 0; at < STRIP_LENGTH; at += 1) {
    const mark = svg('rect', { x: at * MARK_WIDTH, y: 0, width: MARK_WIDTH - 1, height: 0 });
    byId('strip').append(mark);
    marks.push(mark);
  }
}

/** `1` answered by node-1, `a` lost on the way to it, `x` not known yet; `-` there was no route */
function readMark(character) {
  for (const [kind, letters] of [
    ['ok', '123'],
    ['gone', 'abc'],
    ['pending', 'xyz'],
  ]) {
    const at = letters.indexOf(character);
    if (at >= 0) return { kind, node: at + 1 };
  }
  return { kind: 'no-route', node: 0 };
}

function showStrip({ strip }) {
  if (marks.length === 0) buildStrip();
  const gap = STRIP_LENGTH - strip.marks.length;
  marks.forEach((mark, at) => {
    const character = strip.marks[at - gap] ?? ' ';
    if (mark.dataset.mark === character) return;
    mark.dataset.mark = character;
    const { kind, node } = readMark(character);
    const isShown = character !== ' ';
    mark.setAttribute('class', isShown ? `${kind} mark-${node}` : '');
    mark.setAttribute('y', node === 0 ? 3 : (node - 1) * LANE + 3);
    mark.setAttribute('height', node === 0 ? 3 * LANE - 6 : LANE - 6);
  });
}

function showCounts({ requests }) {
  const answered = requests.answered.reduce((sum, each) => sum + each, 0);
  setText(byId('answered'), String(answered));
  setText(byId('lost'), String(requests.lost));
  setText(byId('unroutable'), String(requests.unroutable));
  setText(byId('every'), `one every ${requests.everyMs} ms, a new connection each`);
  byId('lost').parentElement.toggleAttribute('data-some', requests.lost > 0);
}

/* requests on their way: one dot each, from the moment a scene first names it until it is answered, lost or out of sight */

const dots = new Map();
let nextRequest = 0;

function followRequests({ strip, requests }) {
  const now = performance.now();
  const end = strip.from + strip.marks.length;
  // a page that was hidden or just opened shows what comes, not what has been
  const first = Math.max(nextRequest, end - 8, strip.from);
  for (let number = first; number < end && dots.size < MAX_DOTS; number += 1) {
    const { node } = readMark(strip.marks[number - strip.from]);
    const element = svg('circle', { r: 4.5, class: `dot-${node}`, cx: CLIENT.x, cy: CLIENT.y });
    byId('dots').append(element);
    dots.set(number, { element, node, at: now + (number - first) * requests.everyMs, fate: '' });
  }
  nextRequest = end;
  for (const [number, dot] of dots) {
    const mark = strip.marks[number - strip.from];
    const { kind } = readMark(mark ?? '-');
    if (kind !== 'pending' && dot.fate === '') dot.fate = kind;
  }
}

function drop(number, dot) {
  dot.element.remove();
  dots.delete(number);
}

function moveDot(number, dot, now) {
  const age = now - dot.at;
  const { element, node, fate } = dot;
  const leg = Math.min(Math.max(age / LEG_MS, 0), 1);
  element.setAttribute('opacity', age < 0 ? 0 : 1);
  if (age < LEG_MS) {
    element.setAttribute('cy', CLIENT.y + (ROUTER.y - CLIENT.y) * leg);
    return;
  }
  if (node === 0) {
    fade(number, dot, now);
    return;
  }
  const { line } = nodeViews[node - 1];
  const way = Math.min((age - LEG_MS) / LEG_MS, 1);
  const point = line.getPointAtLength(line.getTotalLength() * way);
  element.setAttribute('cx', point.x);
  element.setAttribute('cy', point.y);
  if (way < 1) return;
  if (fate === 'ok') drop(number, dot);
  if (fate === 'gone') fade(number, dot, now);
}

/** It stays where it is and vanishes; red if it was lost. */
function fade(number, dot, now) {
  dot.fading ??= now;
  const part = (now - dot.fading) / FADE_MS;
  if (dot.node !== 0) dot.element.setAttribute('class', 'dot-lost');
  dot.element.setAttribute('opacity', Math.max(0, 1 - part));
  if (part >= 1) drop(number, dot);
}

function moveDots(now) {
  for (const [number, dot] of dots) moveDot(number, dot, now);
  requestAnimationFrame(moveDots);
}

/* scenes in, orders out */

function show(scene) {
  if (nodeViews.length === 0) scene.nodes.forEach(buildNode);
  setData(document.body, 'mode', scene.mode);
  setText(byId('clock'), (scene.elapsedMs / 1000).toFixed(1));
  showSteps(scene);
  showRouter(scene);
  for (const node of scene.nodes) showNode(node, scene.mode);
  showCounts(scene);
  showStrip(scene);
  setText(byId('notice'), scene.notice);
  if (!isStill.matches && !document.hidden) followRequests(scene);
}

async function act(order) {
  try {
    const answer = await fetch('/act', {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-herald-token': TOKEN },
      body: JSON.stringify(order),
    });
    const { sentence } = await answer.json();
    setText(byId('notice'), sentence);
  } catch {
    byId('ended').hidden = false;
  }
}

function follow() {
  const source = new EventSource('/events');
  source.addEventListener('scene', (event) => {
    byId('ended').hidden = true;
    show(JSON.parse(event.data));
  });
  source.addEventListener('bye', () => {
    source.close();
    byId('ended').hidden = false;
  });
  source.addEventListener('error', () => {
    byId('ended').hidden = false;
  });
}

byId('skip').addEventListener('click', () => void act({ verb: 'skip' }));
requestAnimationFrame(moveDots);
follow();
