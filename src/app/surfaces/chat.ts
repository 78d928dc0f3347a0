import { ChatRequest } from "../../contract/schemas/chat.ts";
import { toCallerParameterName } from "../../language/dialects/caller-parameter-names.ts";
import { decodeRequest } from "../../language/dialects/chat/client/request.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { type Handler, streamed } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import type { DecodedChatRequest } from "../pipeline/decode.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { run } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";
import { isPlainChat } from "./plain-chat.ts";

/** POST /chat/completions. */
export function chatHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createChatCompletion: streamed((exchange, sink) => run(gateway, "chat", exchange, sink, decodeChat)),
  };
}

export function decodeChat(bytes: Buffer): DecodedChatRequest {
  const body = parseJson(bytes);
  const request = isPlainChat(body.value) ? body.value : decodeWith(ChatRequest, withExactSchemas(body, "chat"));
  const call = decodeRequest(request);
  return {
    request: new ChatInferenceRequest({ dialect: "chat", call, request, body }),
    toCallerParameterNames: (problem) => toCallerParameterName(problem, call),
  };
}
