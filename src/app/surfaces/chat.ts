import type { Handler } from "../exchange.ts";
import { decodeChat } from "../pipeline/decode.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { inferenceHandler } from "../pipeline/run.ts";

/** POST /chat/completions. */
export function chatHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return { createChatCompletion: inferenceHandler(gateway, "chat", decodeChat) };
}
