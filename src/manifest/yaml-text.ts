/** Text inside generated YAML. Scalars are JSON strings, which YAML takes as they are; files are literal blocks, so that people can read them. */

export interface Block {
  /** set when the text had to be encoded (cloud-init's write_files) */
  readonly encoding?: 'b64';
  /** what follows `content: ` */
  readonly text: string;
}

/** A literal block, or base64 where a block would not give back the very same octets. */
export function block(content: string, indent: number): Block {
  const isPlain = /^[^\s]/.test(content) && /^[\n\x20-\x7e\u00a0-\ud7ff]*$/.test(content);
  if (!isPlain) return { encoding: 'b64', text: `${base64(content)}\n` };
  const ends = /\n*$/.exec(content)?.[0].length ?? 0;
  const chomping = ends === 0 ? '-' : ends === 1 ? '' : '+';
  const body = ends === 0 ? content : content.slice(0, -1);
  const pad = ' '.repeat(indent);
  const lines = body.split('\n').map((line) => (line === '' ? '' : `${pad}${line}`));
  return { text: `|${chomping}\n${lines.join('\n')}\n` };
}

function base64(content: string): string {
  const octets = new TextEncoder().encode(content);
  return btoa(Array.from(octets, (octet) => String.fromCharCode(octet)).join(''));
}
