import type { EmbeddingsEntry } from "./embeddings-support.ts";

/** A server that follows OpenAI's format, of which no more was read: as many inputs as such servers take by default. */
const OPENAI_COMPATIBLE: EmbeddingsEntry = { interface: "openai", batch_max: 32 };

/** How embeddings are asked for at the providers of a seven-file catalogue, which has no place for it. */
const EMBEDDINGS_BY_PROVIDER: Readonly<Record<string, EmbeddingsEntry>> = {
  cohere: { interface: "cohere", batch_max: 96, dimensions: true },
  evroc: OPENAI_COMPATIBLE,
  "google-ai-studio": { interface: "gemini", batch_max: 100, dimensions: true },
  "google-vertex": { interface: "vertex", batch_max: 1, dimensions: true, normalize: true },
  ionos: OPENAI_COMPATIBLE,
  mistral: { interface: "mistral", batch_max: 256, batch_tokens_max: 16_384 },
  nebius: { ...OPENAI_COMPATIBLE, dimensions: true },
  openai: {
    interface: "openai",
    batch_max: 2048,
    batch_tokens_max: 300_000,
    tokens: true,
    dimensions: true,
    base64: true,
  },
  ovhcloud: OPENAI_COMPATIBLE,
  privatemode: OPENAI_COMPATIBLE,
  regolo: OPENAI_COMPATIBLE,
  scaleway: OPENAI_COMPATIBLE,
  stackit: OPENAI_COMPATIBLE,
  "t-systems": OPENAI_COMPATIBLE,
};

/** Models that differ from what their provider says of all. */
const EMBEDDINGS_BY_MODEL: Readonly<Record<string, EmbeddingsEntry>> = {
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
  return EMBEDDINGS_BY_PROVIDER[provider];
}

export function seedEndpointEmbeddings(provider: string, model: string): EmbeddingsEntry | undefined {
  return EMBEDDINGS_BY_MODEL[`${provider} ${model}`];
}
