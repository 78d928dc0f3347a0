import MiniSearch from "minisearch";
import { SEARCH_OPTIONS } from "../../portal/src/guides/search-options.ts";
import type { Guide } from "./guide-set.ts";
import type { MarkdownPage } from "./markdown-page.ts";

const EXCERPT_LENGTH = 140;

/** One entry per section, as JSON that the browser loads on the first search. */
export function searchIndex(pages: readonly { readonly guide: Guide; readonly page: MarkdownPage }[]): string {
  const index = new MiniSearch(SEARCH_OPTIONS);
  let id = 0;
  for (const { guide, page } of pages) {
    for (const { anchor, heading, text } of page.sections) {
      id += 1;
      index.add({ id, page: guide.slug, anchor, title: guide.title, heading, text, excerpt: excerptOf(text) });
    }
  }
  return JSON.stringify(index);
}

function excerptOf(text: string): string {
  if (text.length <= EXCERPT_LENGTH) return text;
  return `${text.slice(0, text.lastIndexOf(" ", EXCERPT_LENGTH))} …`;
}
