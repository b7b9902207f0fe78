/**
 * Variables in a topology file, as containerlab expands them before it reads the YAML: `${NAME}`, and with a default
 * `${NAME:=text}` or `${NAME:-text}` (both: the default stands for a variable that is not set or empty), `$$` for a dollar sign.
 *
 * The other forms that containerlab knows (`$NAME`, `${NAME+text}`, Go templates) are refused: what is left alone silently
 * would be a different lab.
 */

import { LabRefusal } from './refusal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const reference = /\$\$|\$\{([A-Za-z_]\w*)(?::[=-]([^${}\n]*))?\}|\$/g;

export function expandVariables(text: string, environment: Environment): string {
  const template = text.indexOf('{{');
  if (template >= 0) {
    throw new LabRefusal(`line ${lineAt(text, template)}: Go templates are not understood here`);
  }
  return text.replaceAll(reference, (found, name?: string, otherwise?: string, at?: number) => {
    if (found === '$$') return '$';
    const where = `line ${lineAt(text, Number(at))}`;
    if (name === undefined) {
      throw new LabRefusal(`${where}: only \${NAME}, \${NAME:=default} and $$ are understood`);
    }
    const value = environment[name] ?? '';
    if (value !== '') return value;
    if (otherwise !== undefined) return otherwise;
    throw new LabRefusal(`${where}: the variable ${name} is not set and has no default`);
  });
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
