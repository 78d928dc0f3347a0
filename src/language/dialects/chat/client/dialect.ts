import type { ClientDialect } from "../../client-dialect.ts";
import { encodeUsage } from "../usage.ts";
import { renderReply } from "./reply.ts";
import { ChunkWriter } from "./stream.ts";

/** Callers of `POST /chat/completions`. */
export const chatClient: ClientDialect = {
  places: new Set(["annotation_span", "audio_tokens"]),
  keepAlive: ": keep-alive\n\n",
  openWriter: (head, call) => new ChunkWriter(head, call),
  render: (events, head, call, usage, cost) => renderReply(events, head, call, encodeUsage(usage, cost)),
};
