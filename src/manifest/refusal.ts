/** What a person asked for cannot be written down; the message says why and what to do. The command line turns it into exit 2. */
export class ManifestRefusal extends Error {
  constructor(sentence: string) {
    super(sentence);
    this.name = 'ManifestRefusal';
  }
}
