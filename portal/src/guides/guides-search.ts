import MiniSearch from "minisearch";
import { SEARCH_OPTIONS, type SearchEntry } from "./search-options.ts";

/** Loaded on the first search, with the index that the build made. */
export async function loadSearch(url: string): Promise<(query: string) => SearchEntry[]> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The search index responded with ${response.status}.`);
  const index = MiniSearch.loadJSON<SearchEntry>(await response.text(), SEARCH_OPTIONS);
  return (query) =>
    index.search(query).map(({ page, anchor, title, heading, excerpt }) => ({ page, anchor, title, heading, excerpt }));
}
