/** The surfaces a call can arrive on. */
export const SURFACES = [
  "chat",
  "messages",
  "responses",
  "gemini",
  "embeddings",
  "rerank",
  "moderations",
  "images",
  "transcriptions",
  "speech",
  "decisions",
] as const;
export type Surface = (typeof SURFACES)[number];
