import type { ClientDialect } from "../../client-dialect.ts";
import { renderReply } from "./reply.ts";
import { MessageWriter } from "./stream.ts";

/** Callers of `POST /messages`. */
export const messagesClient: ClientDialect = {
  keepAlive: 'event: ping\ndata: {"type": "ping"}\n\n',
  openWriter: (head, call) => new MessageWriter(head, call),
  render: renderReply,
};
