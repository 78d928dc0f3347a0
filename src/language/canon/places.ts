/** Reply content that only some caller surfaces can express. */
export type Place = "annotation_span" | "annotation_excerpt" | "audio_tokens" | "cache_write_ttl" | "stop_sequence";

export const NO_PLACES: ReadonlySet<Place> = new Set();
