/** Scenes for tests of the views. */

import type { Scene, SceneNode } from '../../../src/demo/scene.ts';
import { sceneSteps } from '../../../src/demo/scene.ts';
import { STORY } from '../../../src/demo/script.ts';
import { beginStory } from '../../../src/demo/story.ts';

export function nodeOf(id: number, change: Partial<SceneNode> = {}): SceneNode {
  return {
    id,
    name: `node-${id}`,
    address: `127.0.1.${id}`,
    power: 'running',
    isApiUp: true,
    isDraining: false,
    isSession: true,
    agentSession: 'established',
    joined: 'open',
    route: 'used',
    answered: 10,
    lost: 0,
    share: 33,
    ...change,
  };
}

export function sceneOf(change: Partial<Scene> = {}): Scene {
  return {
    elapsedMs: 12_345,
    mode: 'story',
    prefix: '203.0.113.10/32',
    holdSeconds: 3,
    isHoldBroken: false,
    steps: sceneSteps(STORY, beginStory(STORY)),
    step: 0,
    nodes: [nodeOf(1), nodeOf(2), nodeOf(3)],
    requests: { sent: 40, answered: [10, 10, 10], lost: 4, unroutable: 6, everyMs: 40 },
    strip: { from: 0, marks: `------${'123'.repeat(10)}abcx` },
    notice: '',
    ...change,
  };
}
