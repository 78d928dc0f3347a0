import type { ClientDialect } from "../../client-dialect.ts";
import { citationsWithoutText, renderReply } from "./reply.ts";
import { MessageWriter } from "./stream.ts";

/** Callers of `POST /messages`. */
export const messagesClient: ClientDialect = {
  places: new Set(["annotation_excerpt", "cache_write_ttl", "stop_sequence"]),
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  openWriter: (head, call) => new MessageWriter(head, call),
  render: renderReply,
  omitted: citationsWithoutText,
};
