import type { EvidenceSubject } from "./catalogue.ts";
import type { EvidenceEntry, PriceEvidenceEntry } from "./evidence-schema.ts";
import type { SeedEndpoint, SeedProvider } from "./seed-schema.ts";

/** Short names of source repositories in the seven-file layout, at the commits that were read. */
const REPOSITORIES: Readonly<Record<string, (path: string) => string>> = {
  "models.dev": (path) => `https://github.com/anomalyco/models.dev/blob/f3fc69229967/${path}`,
  litellm: (path) =>
    `https://github.com/BerriAI/litellm/blob/${path.endsWith(".py") ? `cb920183a7a/${path}` : "b0fd3e1e3070/model_prices_and_context_window.json"}`,
  "mistral-docs": (path) =>
    `https://github.com/mistralai/platform-docs-public/blob/222f4ba9114f/${path.includes("/") ? path : `src/schema/models/models/${path}.ts`}`,
  "pydantic/genai-prices": (path) => `https://github.com/pydantic/genai-prices/blob/47df840a5ab1/${path}`,
};

/** The pages that a free-text source names, in its order. */
export function pagesIn(source: string): string[] {
  const links = source.match(/https?:\/\/[^\s;,()]+/g) ?? [];
  const [, name = "", path = ""] = /^([a-z./-]+)[ :](\S+)/.exec(source) ?? [];
  const repository = REPOSITORIES[name]?.(path);
  return [...new Set(repository === undefined ? links : [repository, ...links])];
}

/** The first match decides; a statement about none of them is about the interface. */
const SUBJECT_WORDS: readonly (readonly [EvidenceSubject, RegExp])[] = [
  ["certification", /ISO|SOC 2|C5|HDS|certif/i],
  ["ownership", /owner|owned|subsidiary|shareh|acqui|group|majority|funding|series a/i],
  ["training", /train/i],
  ["retention", /retention|retain|ZDR|stored|store\b/i],
  ["location", /host|region|data cent|countr|EU\b|EEA|Paris|Munich|Berlin|Sweden|Gravelines|United States|PRC/i],
  ["operator", /operator|seat|registered|terms/i],
  ["price", /price|EUR|uplift/i],
];

const CLAIM_CHARS_MAX = 240;

export function seedStatements(rows: SeedProvider["evidence"]): EvidenceEntry[] {
  return rows.flatMap(({ claim, url, kind, read }) => {
    const [page] = pagesIn(url);
    if (page === undefined) return [];
    const subject = SUBJECT_WORDS.find(([, words]) => words.test(claim))?.[0] ?? "interface";
    const status = kind === "primary" ? "verified" : "claimed";
    return [{ subject, claim: claim.slice(0, CLAIM_CHARS_MAX), status, url: page, kind, read }];
  });
}

/** Of an endpoint whose level rests on another page than its provider's first one. */
export function seedLevelStatement({ sovereignty: value }: SeedEndpoint): EvidenceEntry[] {
  return seedStatements([
    {
      claim: `Location and level ${value.level}`,
      url: value.evidence_url,
      kind: value.evidence_kind,
      read: value.evidence_date,
    },
  ]);
}

/** Absent without a page and a day. */
export function seedPriceSource(seed: SeedEndpoint): PriceEvidenceEntry | undefined {
  const [url, ...others] = pagesIn(seed.price_source ?? "");
  const read = seed.price_source_date;
  if (url === undefined || read === undefined) return undefined;
  const kind = seed.price_source_kind === "first_party" ? "primary" : "secondary";
  const isDoubtful = seed.price_conflict !== undefined || seed.price_basis === "unverified";
  return {
    status: isDoubtful ? "doubtful" : kind === "primary" ? "verified" : "claimed",
    url,
    ...(others.length === 0 ? {} : { see_also: others }),
    kind,
    read,
    ...(isDoubtful
      ? { missing: "The provider's own price list: sources differ or the figure is unconfirmed." }
      : seed.price_basis === "community_conversion"
        ? { missing: "The provider's own price list: the figure is a conversion." }
        : {}),
  };
}
