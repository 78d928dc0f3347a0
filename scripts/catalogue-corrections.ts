import type { Parsed } from "../src/domain/catalogue/parsed.ts";
import { endpointId } from "../src/domain/catalogue/parsed.ts";
import type { EndpointEntry, PriceEntry } from "../src/domain/catalogue/schema.ts";

/**
 * What the imported lists say in words only, or say wrongly, put right with its reason. catalogue/SOURCES.md explains
 * each of them.
 */
export function corrected(parsed: Parsed): Parsed {
  return {
    ...parsed,
    providers: parsed.providers.map(({ at, value }) => ({
      at,
      value: tidied({
        ...value,
        regions: value.regions.map((region) => ({
          ...region,
          base_url: REGION_ADDRESSES[`${value.slug}:${region.id}`] ?? region.base_url,
        })),
      }),
    })),
    endpoints: parsed.endpoints.map((row) => ({ ...row, value: tidied(correctedEndpoint(row.value, row.provider)) })),
    models: parsed.models.map((row) => {
      const benchmarks = row.value.benchmarks?.filter(({ source }) => !source.includes("artificialanalysis.ai"));
      return { ...row, value: tidied({ ...row.value, benchmarks: benchmarks?.length === 0 ? undefined : benchmarks }) };
    }),
  };
}

/** A regional endpoint has its region in its host name; the attesting proxy runs on the operator's own machine. */
const REGION_ADDRESSES: Readonly<Record<string, string>> = {
  "aws-bedrock:eu-north-1": "https://bedrock-runtime.eu-north-1.amazonaws.com",
  "aws-bedrock:eu-west-1": "https://bedrock-runtime.eu-west-1.amazonaws.com",
  "privatemode:eu": "http://{attesting-proxy}/v1",
};

/** Promotional prices with a known end: the row that follows. */
const DOUBLES_IN_2027: ReadonlySet<string> = new Set([
  "google-ai-studio:global:google/gemini-3.6-flash",
  "google-ai-studio:global:google/gemini-3.7-flash",
  "google-ai-studio:global:google/gemini-3.8-flash",
  "google-ai-studio:global:google/gemini-3.8-flash-lite-tts",
  "google-ai-studio:global:google/gemini-3.8-flash-tts",
  "google-vertex:eu:google/gemini-3.8-flash",
]);
const DOUBLES_IN_DECEMBER: ReadonlySet<string> = new Set(["google-ai-studio:global:google/gemini-4-argon"]);

const COHERE_CHAT = "https://api.cohere.ai/compatibility/v1";

function correctedEndpoint(entry: EndpointEntry, provider: string): EndpointEntry {
  const id = endpointId(provider, entry);
  const prices = entry.prices?.flatMap((row) => {
    if (DOUBLES_IN_2027.has(id)) return [row, doubled(row, "2027-01-01")];
    if (DOUBLES_IN_DECEMBER.has(id)) return [row, doubled(row, "2026-12-01")];
    return [row];
  });
  if (provider === "infercom") return { ...entry, base_url: undefined };
  if (provider === "cohere" && entry.surfaces.includes("chat")) return { ...entry, base_url: COHERE_CHAT };
  return { ...entry, prices };
}

function doubled(row: PriceEntry, from: string): PriceEntry {
  const twice = (amount: number | string | undefined) => (amount === undefined ? undefined : Number(amount) * 2);
  return {
    from,
    currency: row.currency,
    input_per_1m_tokens: twice(row.input_per_1m_tokens),
    output_per_1m_tokens: twice(row.output_per_1m_tokens),
    cached_read_per_1m_tokens: twice(row.cached_read_per_1m_tokens),
    audio_output_per_1m_tokens: twice(row.audio_output_per_1m_tokens),
    source: "the promotion's announced end, see the row above",
  };
}

/** Wording of notes that only made sense where they were taken. */
const WORDING: readonly (readonly [RegExp, string])[] = [
  [
    /third-party note in a public repository \([^)]*\), read official price pages/g,
    "third-party note that read the official price pages on",
  ],
  [
    /shared\/reference\/decisions\.md \(S\d+ docs\.typesafe\.ai\/models via datawhalechina\)/g,
    "docs.typesafe.ai/models (copy at datawhalechina)",
  ],
  [/shared\/reference\/decisions\.md \(S\d+ openai@([\d.]+)\)/g, "the openai package $1"],
  [/ ; shared\/reference\/decisions\.md/g, ""],
  [/: seed as disabled/g, ""],
  [/\bseeded\b/g, "listed"],
  [/in the stored copies/g, "among the pages read"],
  [/in the stored copy/g, "in the copy read"],
];

function tidied<T>(value: T): T;
function tidied(value: unknown): unknown {
  if (typeof value === "string") return WORDING.reduce((text, [from, to]) => text.replace(from, to), value);
  if (Array.isArray(value)) return value.map((inner) => tidied(inner));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, tidied(inner)]));
}
