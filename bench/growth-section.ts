const HEADING = "## Data growth";

/** The section of docs/benchmarks.md with the figures of `bench/log.ts`; undefined: the page has none. */
export function growthSectionOf(page: string): string | undefined {
  const at = page.indexOf(`\n${HEADING}\n`);
  if (at < 0) return undefined;
  const end = page.indexOf("\n## ", at + HEADING.length);
  return page.slice(at + 1, end < 0 ? page.length : end).trimEnd();
}
