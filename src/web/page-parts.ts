/**
 * The page: page.html with the style sheets and page.js put inside, so that it is one document without further requests. The bundler puts
 * it into the program (HERALD_PAGE, tools/build.ts); from the sources the files are read where they lie.
 */

import { readFileSync } from 'node:fs';

export interface PageParts {
  /** the whole document, with a place for the token */
  readonly html: string;
  /** exactly what stands between the tags, for the hashes of the policy */
  readonly css: string;
  readonly script: string;
}

/** set by the bundler */
declare const HERALD_PAGE: PageParts | undefined;

export function pageParts(): PageParts {
  return typeof HERALD_PAGE === 'undefined' ? readPageParts() : HERALD_PAGE;
}

export function readPageParts(): PageParts {
  const read = (name: string) => readFileSync(new URL(name, import.meta.url), 'utf8');
  const css = `\n${read('./page.css')}${read('./page-stage.css')}`;
  const script = `\n${read('./page.js')}`;
  const html = read('./page.html')
    .replace('/*css*/', () => css)
    .replace('/*script*/', () => script);
  return { html, css, script };
}
