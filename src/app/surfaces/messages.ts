import type { z } from "zod";
import { type CountTokensRequest, MessagesRequest } from "../../contract/schemas/messages.ts";
import type { InboundMessages } from "../../io/upstream/lane.ts";
import { decodeMessages } from "../../language/dialects/messages/inbound.ts";
import { decodeWith, parseJson } from "../body.ts";
import { type Exchange, type Handler, streamed } from "../exchange.ts";
import { run } from "../pipeline/run.ts";
import type { Gateway } from "../pipeline/world.ts";

/** POST /messages. */
export function messagesHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    createMessage: streamed((exchange, sink) =>
      run(gateway, "messages", exchange, sink, (bytes) => ({
        inbound: decodeInbound(MessagesRequest, bytes, exchange),
      })),
    ),
  };
}

/** A body of this dialect, decoded once and kept, with the headers that belong to it. */
export function decodeInbound(
  schema: z.ZodType<CountTokensRequest>,
  bytes: Buffer,
  { headers }: Exchange,
): InboundMessages {
  const body = parseJson(bytes);
  return {
    dialect: "messages",
    call: decodeMessages(decodeWith(schema, body.value)),
    body,
    version: oneLine(headers["anthropic-version"]),
    beta: oneLine(headers["anthropic-beta"]),
  };
}

function oneLine(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
