import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { documentsFolder, runManifest } from '../../support/manifest-run.ts';

const docs = join(import.meta.dirname, '../../../docs');

/** fenced blocks of one language */
function blocks(text: string, language: string): string[] {
  const found = text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'));
  return [...found].map((match) => match[1] ?? '');
}

/** `herald manifest …` as a page has them, lines joined */
function manifestCommands(text: string): string[][] {
  const lines = blocks(text, 'sh').flatMap((block) => block.replaceAll(/\\\n\s*/g, '').split('\n'));
  return lines
    .filter((line) => line.startsWith('herald manifest '))
    .map((line) => line.split(/\s+/).slice(2));
}

describe('the pages about running without a cluster', () => {
  for (const page of ['getting-started-standalone.md', 'control-plane-address.md']) {
    it(`${page}: its documents are good, and its manifest commands print something`, async () => {
      const text = readFileSync(join(docs, page), 'utf8');
      const documents = blocks(text, 'yaml').filter((block) =>
        block.includes('herald.dev/v1alpha1'),
      );
      expect(documents.length).to.be.above(0);
      const folder = documentsFolder({
        'page.yaml': documents.join('---\n'),
        'bgp.key': 'secret\n',
      });
      const commands = manifestCommands(text);
      expect(commands.length).to.be.above(0);
      for (const command of commands) {
        const args = command.map((word) => (word.startsWith('files:') ? `files:${folder}` : word));
        const { status, stdout, stderr } = await runManifest(...args);
        expect(status, `${command.join(' ')}: ${stderr}`).to.equal(0);
        expect(stdout.toLowerCase()).to.include('herald');
      }
    });
  }

  it('routers.md names every router that the command knows', () => {
    const text = readFileSync(join(docs, 'routers.md'), 'utf8');
    for (const kind of ['frr', 'bird', 'gobgp', 'openbgpd']) expect(text).to.include(`\`${kind}\``);
  });
});
