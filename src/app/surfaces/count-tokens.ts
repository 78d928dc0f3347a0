import { MessagesRequest } from "../../contract/schemas/messages.ts";
import { type Handler, streamed } from "../exchange.ts";
import { countTokens } from "../pipeline/count.ts";
import type { Gateway } from "../pipeline/world.ts";
import { decodeInbound } from "./messages.ts";

/** A request as it would be sent, with or without what only matters for its answer. */
const CountBody = MessagesRequest.extend({ max_tokens: MessagesRequest.shape.max_tokens.exactOptional() });

/** POST /messages/count_tokens. */
export function countHandlers(gateway: Gateway): Record<string, Handler> {
  return {
    countMessageTokens: streamed((exchange, sink) =>
      countTokens(gateway, exchange, sink, (bytes) => decodeInbound(CountBody, bytes, exchange)),
    ),
  };
}
