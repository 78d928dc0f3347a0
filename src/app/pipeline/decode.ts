import { ChatRequest } from "../../contract/schemas/chat.ts";
import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import { isJsonObject, type JsonObject, parseJsonObject } from "../../kit/json.ts";
import { toCallerParameterName } from "../../language/dialects/caller-parameter-names.ts";
import { decodeRequest } from "../../language/dialects/chat/client/request.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import type { Exchange } from "../exchange.ts";
import { BODY_LIMITS, decodeWith, invalidJson } from "../request-input.ts";
import { ChatInferenceRequest } from "./chat-request.ts";
import type { DecodedRequest, ReceivedRequest, RequestSource } from "./inference-request.ts";

export type DecodedChatRequest<In extends InboundRequest = InboundRequest> = DecodedRequest & {
  readonly request: ChatInferenceRequest<In>;
};

export function receivedBody(
  exchange: Exchange,
  body: Buffer,
  decode: Extract<RequestSource, (...args: never) => unknown>,
): ReceivedRequest {
  return { loggableBody: body, requestFingerprint: body, decode: () => decode(body, exchange) };
}

/** Decodes the body of POST /chat/completions. */
export function decodeChat(bytes: Buffer): DecodedChatRequest {
  const body = parseJsonObject(bytes, BODY_LIMITS);
  if ("problem" in body) throw invalidJson(body.problem);
  const request = isPlainChat(body.value) ? body.value : decodeWith(ChatRequest, withExactSchemas(body, "chat"));
  const call = decodeRequest(request);
  return {
    request: new ChatInferenceRequest({ dialect: "chat", call, request, body }),
    toCallerParameterNames: (problem) => toCallerParameterName(problem, call),
  };
}

const TOKENS_MAX = 10_000_000;
const MODEL_CHARS_MAX = 256;

/**
 * True for a text-only request with common parameters that the schema would accept unchanged. It skips the schema, which is
 * the most expensive step of decoding; any other body, valid or not, goes through the schema.
 */
export function isPlainChat(body: unknown): body is ChatRequest {
  if (!isJsonObject(body) || body["model"] === undefined || body["messages"] === undefined) return false;
  for (const field in body) if (!isPlainField(field, body[field])) return false;
  return true;
}

function isPlainField(field: string, value: unknown): boolean {
  switch (field) {
    case "model":
      return typeof value === "string" && value.length > 0 && value.length <= MODEL_CHARS_MAX;
    case "messages":
      return Array.isArray(value) && value.length > 0 && value.every(isPlainMessage);
    case "stream":
      return typeof value === "boolean";
    case "stream_options":
      return isJsonObject(value) && hasOnlyUsage(value);
    case "temperature":
      return typeof value === "number" && value >= 0 && value <= 2;
    case "top_p":
      return typeof value === "number" && value >= 0 && value <= 1;
    case "max_tokens":
    case "max_completion_tokens":
      return typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= TOKENS_MAX;
    default:
      return false;
  }
}

function hasOnlyUsage(options: JsonObject): boolean {
  for (const field in options) if (field !== "include_usage" || typeof options[field] !== "boolean") return false;
  return true;
}

function isPlainMessage(message: unknown): boolean {
  if (!isJsonObject(message) || typeof message["content"] !== "string") return false;
  const { role } = message;
  if (role !== "user" && role !== "assistant" && role !== "system" && role !== "developer") return false;
  for (const field in message) if (field !== "role" && field !== "content") return false;
  return true;
}
