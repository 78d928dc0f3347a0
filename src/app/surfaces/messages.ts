import { MessagesRequest } from "../../contract/schemas/messages.ts";
import { decodeMessages } from "../../language/dialects/messages/inbound.ts";
import { decodeWith, parseJson } from "../body.ts";
import { type Exchange, type Handler, streamed } from "../exchange.ts";
import { type Decoded, run } from "../pipeline/run.ts";
import type { Gateway } from "../pipeline/world.ts";

/** POST /messages. */
export function messagesHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    createMessage: streamed((exchange, sink) =>
      run(gateway, "messages", exchange, sink, (bytes) => decodeBody(bytes, exchange)),
    ),
  };
}

function decodeBody(bytes: Buffer, { headers }: Exchange): Decoded {
  const body = parseJson(bytes);
  const request = decodeWith(MessagesRequest, body.value);
  return {
    inbound: {
      dialect: "messages",
      call: decodeMessages(request),
      body,
      version: oneLine(headers["anthropic-version"]),
      beta: oneLine(headers["anthropic-beta"]),
    },
  };
}

function oneLine(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}
