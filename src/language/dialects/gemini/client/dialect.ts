import type { Place } from "../../../canon/places.ts";
import type { ClientDialect } from "../../client-dialect.ts";
import { KEEP_ALIVE } from "../framing.ts";
import { renderReply } from "./reply.ts";
import { type GeminiReplyOptions, GeminiWriter } from "./stream.ts";

const PLACES: ReadonlySet<Place> = new Set(["annotation_span", "audio_tokens"]);

/** Callers of `generateContent` and `streamGenerateContent`. */
export function geminiClient(options: GeminiReplyOptions): ClientDialect {
  return {
    places: PLACES,
    keepAlive: KEEP_ALIVE,
    openWriter: (head) => new GeminiWriter(head, options),
    render: (events, head, _call, usage, cost) => renderReply(events, head, options.showsThoughts, usage, cost),
  };
}
