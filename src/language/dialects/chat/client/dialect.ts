import type { ClientDialect } from "../../client-dialect.ts";
import { encodeUsage } from "../direct/reply.ts";
import { completionOf, fold } from "./reply.ts";
import { ChunkWriter } from "./stream.ts";

/** Callers of `POST /chat/completions`. */
export const chatClient: ClientDialect = {
  keepAlive: ": keep-alive\n\n",
  openWriter: (head, call) => new ChunkWriter(head, call.includeUsage),
  render: (events, head, _call, counted, shown) =>
    JSON.stringify(completionOf(fold(events), head, encodeUsage(undefined, counted, shown))),
};
