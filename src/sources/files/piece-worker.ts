/** The thread that reads large pieces: gets a text, sends its documents back in bundles, none of which keeps the main thread for long. */

import { parentPort } from 'node:worker_threads';
import { locatePiece } from './locate-piece.ts';

const BUNDLE = 200;

parentPort?.on('message', ({ text, lines }: { text: string; lines: number }) => {
  void locatePiece(text, lines).then((documents) => {
    for (let at = 0; at < documents.length; at += BUNDLE) {
      parentPort?.postMessage(documents.slice(at, at + BUNDLE));
    }
    parentPort?.postMessage([]);
  });
});
