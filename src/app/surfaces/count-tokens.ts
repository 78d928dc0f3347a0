import { CountTokensRequest } from "../../contract/schemas/messages.ts";
import { type Handler, streamed } from "../exchange.ts";
import { countTokens } from "../pipeline/count-tokens.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { decodeMessagesBody } from "./messages.ts";

/** POST /messages/count_tokens. */
export function countHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    countMessageTokens: streamed((exchange, sink) =>
      countTokens(gateway, exchange, sink, (bytes) => decodeMessagesBody(CountTokensRequest, bytes, exchange)),
    ),
  };
}
