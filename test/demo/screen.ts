/**
 * A terminal's screen, as far as the demo writes to it: cursor positions, erasing to the end of the line, modes; colours are dropped.
 * Fed with what came out of a pty, it says what a person would see.
 */

const ROWS = 24;
const ESCAPE = '\u001b';

export class Screen {
  readonly #rows: string[] = Array.from({ length: ROWS }, () => '');
  readonly #modes = new Set<string>();
  #row = 0;
  #column = 0;
  #pending = '';

  feed(text: string): void {
    const parts = (this.#pending + text).split(ESCAPE);
    this.#pending = '';
    this.#print(parts[0] ?? '');
    for (const [at, part] of parts.slice(1).entries())
      this.#sequence(part, at === parts.length - 2);
  }

  text(): string {
    return this.#rows.map((row) => row.trimEnd()).join('\n');
  }

  /** DEC private modes that are set, such as 1049 for the alternate screen; 25, the cursor, counts as set when it is hidden */
  get modes(): ReadonlySet<string> {
    return this.#modes;
  }

  #sequence(part: string, isLast: boolean): void {
    const [whole, parameters = '', final] = /^\[([?\d;]*)([A-Za-z])/.exec(part) ?? [];
    if (whole === undefined || final === undefined) {
      // the rest of it is still to come
      if (isLast) this.#pending = ESCAPE + part;
      return;
    }
    if (final === 'H') {
      const [row = 1, column = 1] = parameters.split(';').map(Number);
      this.#row = row - 1;
      this.#column = column - 1;
    }
    if (final === 'K') this.#rows[this.#row] = this.#line().slice(0, this.#column).join('');
    if (final === 'J') this.#rows.fill('');
    if (final === 'h' || final === 'l') this.#mode(parameters, final === 'h');
    this.#print(part.slice(whole.length));
  }

  #mode(parameters: string, isSet: boolean): void {
    const mode = parameters.replace('?', '');
    const isOn = mode === '25' || mode === '7' ? !isSet : isSet;
    if (isOn) this.#modes.add(mode);
    else this.#modes.delete(mode);
  }

  #line(): string[] {
    return [...(this.#rows[this.#row] ?? '').padEnd(this.#column)];
  }

  #print(text: string): void {
    for (const character of text) {
      if (character === '\r') this.#column = 0;
      else if (character === '\n') this.#row = Math.min(this.#row + 1, ROWS - 1);
      else {
        const line = this.#line();
        line[this.#column] = character;
        this.#rows[this.#row] = line.join('');
        this.#column += 1;
      }
    }
  }
}
