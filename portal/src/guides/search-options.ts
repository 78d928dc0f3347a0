/** Options that the index is built and read with. */
export const SEARCH_OPTIONS = {
  fields: ["title", "heading", "text"],
  storeFields: ["page", "anchor", "title", "heading", "excerpt"],
  searchOptions: { boost: { title: 3, heading: 4 }, prefix: true, fuzzy: 0.15, combineWith: "AND" as const },
};

export type SearchEntry = {
  readonly page: string;
  readonly anchor: string;
  readonly title: string;
  readonly heading: string;
  readonly excerpt: string;
};
