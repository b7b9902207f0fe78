/**
 * A process that reads files, keys and documents as an agent does, one round for each line that it gets, and prints what it found as JSON.
 * With the line `nobody` it gives up the rights of root first, for whom no limit of threads holds.
 *
 * usage: thread-limit-subject.ts PASSWORD-FILE CHECK-FILE
 */

import { createInterface } from 'node:readline';
import { PasswordFiles } from '../../../src/agent/password-files.ts';
import { FileTexts } from '../../../src/checks/file-texts.ts';
import { FileThreads } from '../../../src/checks/file-threads.ts';
import { PieceThread } from '../../../src/sources/files/piece-thread.ts';
import { peer } from '../agent/scenery.ts';

const [passwordFile = '', checkFile = ''] = process.argv.slice(2);
const NOBODY = 65_534;

const threads = new FileThreads();
let isAnswered = Promise.withResolvers<void>();
const texts = new FileTexts(threads, 'password', () => isAnswered.resolve());
const passwords = new PasswordFiles((path) => texts.read(path));
const peers = [peer({ password: { kind: 'file', path: passwordFile } })];

async function round(): Promise<object> {
  isAnswered = Promise.withResolvers<void>();
  passwords.refresh(peers);
  // the answer of a reader, or, where nothing is new, that of the question behind it
  await Promise.race([isAnswered.promise, threads.text(passwordFile, 'password')]);
  passwords.refresh(peers);
  const file = await threads.presence(checkFile, 'claim');
  const pieces = new PieceThread();
  const [document] = await pieces.read(`kind: ConfigMap # ${'x'.repeat(9000)}`, 10);
  pieces.end();
  // a thread that is idle would serve the next round without a new one
  await threads.close();
  return { file, password: passwords.facts.get('tor'), document: document?.result };
}

process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'nobody' && process.getuid?.() === 0) process.setuid?.(NOBODY);
  process.stdout.write(`${JSON.stringify(await round())}\n`);
}
