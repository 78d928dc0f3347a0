import type { EmbeddingsEntry } from "./facts-embeddings.ts";

/** A server that follows OpenAI's format, of which no more was read: as many inputs as such servers take by default. */
const ALIKE: EmbeddingsEntry = { interface: "openai", batch_max: 32 };

/** How embeddings are asked for at the providers of a seven-file catalogue, which has no place for it. */
const BY_PROVIDER: Readonly<Record<string, EmbeddingsEntry>> = {
  cohere: { interface: "cohere", batch_max: 96, dimensions: true },
  evroc: ALIKE,
  "google-ai-studio": { interface: "gemini", batch_max: 100, dimensions: true },
  "google-vertex": { interface: "vertex", batch_max: 1, dimensions: true, normalize: true },
  ionos: ALIKE,
  mistral: { interface: "mistral", batch_max: 256, batch_tokens_max: 16_384 },
  nebius: { ...ALIKE, dimensions: true },
  openai: {
    interface: "openai",
    batch_max: 2048,
    batch_tokens_max: 300_000,
    tokens: true,
    dimensions: true,
    base64: true,
  },
  ovhcloud: ALIKE,
  privatemode: ALIKE,
  regolo: ALIKE,
  scaleway: ALIKE,
  stackit: ALIKE,
  "t-systems": ALIKE,
};

/** Models that differ from what their provider says of all. */
const BY_MODEL: Readonly<Record<string, EmbeddingsEntry>> = {
  "google-ai-studio google/gemini-embedding-001": {
    interface: "gemini",
    batch_max: 100,
    dimensions: true,
    normalize: true,
  },
  "mistral mistral/codestral-embed-2505": {
    interface: "mistral",
    batch_max: 256,
    batch_tokens_max: 16_384,
    dimensions: true,
  },
};

export function seedProviderEmbeddings(provider: string): EmbeddingsEntry | undefined {
  return BY_PROVIDER[provider];
}

export function seedEndpointEmbeddings(provider: string, model: string): EmbeddingsEntry | undefined {
  return BY_MODEL[`${provider} ${model}`];
}
