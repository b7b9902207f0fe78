/**
 * Which image means what in network namespaces: the one place where the names of images meet Debian's packages and this checkout.
 *
 * The router image is a Debian whose start script runs FRR or BIRD where its configuration is; here that same script runs on the Debian that
 * the lab runs on. The Herald image is the bundle.
 */

import { join } from 'node:path';
import { LabRefusal } from './refusal.ts';
import type { TopologyNode } from './topology.ts';

export interface Checkout {
  /** The folder with lab/, dist/ and src/. */
  readonly root: string;
}

/** The checkout that this file is in. */
export const checkout: Checkout = { root: join(import.meta.dirname, '../..') };

export interface Image {
  readonly name: RegExp;
  /** What the image says itself; `entrypoint` and `cmd` of the file take the place of these, as in Docker. */
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
  /** A folder of programs that it has beside Debian's. */
  readonly programs?: string;
  /** Files without which it cannot run, and what to do about it. */
  readonly needs: readonly { readonly file: string; readonly remedy: string }[];
}

export function imagesOf({ root }: Checkout): readonly Image[] {
  const herald = join(root, 'dist/herald');
  const setup = 'run `make setup`';
  return [
    {
      name: /^herald-lab\/router:/,
      entrypoint: [],
      command: [join(root, 'lab/images/router/start-router')],
      needs: [
        { file: '/usr/lib/frr/bgpd', remedy: setup },
        { file: '/usr/sbin/bird', remedy: setup },
        { file: '/usr/bin/curl', remedy: setup },
        { file: '/usr/bin/perl', remedy: setup },
      ],
    },
    {
      name: /^herald:/,
      entrypoint: [herald],
      command: [],
      programs: join(root, 'dist'),
      needs: [{ file: herald, remedy: 'run `make build`' }],
    },
  ];
}

export function imageOf(node: TopologyNode, checkout: Checkout): Image {
  const image = imagesOf(checkout).find(({ name }) => name.test(node.image));
  if (image !== undefined) return image;
  throw new LabRefusal(
    `topology.nodes.${node.name}.image: ${node.image} cannot run in a network namespace; herald-lab/router:… and herald:… can (lab/runner/images.ts)`,
  );
}

/** The whole command line of a node: an entrypoint of its own leaves nothing of the image's. */
export function programOf(node: TopologyNode, image: Image): string[] {
  const standard = node.entrypoint === undefined ? image.command : [];
  const command = node.command.length > 0 ? node.command : standard;
  return [...(node.entrypoint ?? image.entrypoint), ...command];
}
