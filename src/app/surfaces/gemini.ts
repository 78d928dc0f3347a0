import { invalidValue } from "../../contract/faults.ts";
import { GenerateContentRequest } from "../../contract/schemas/gemini.ts";
import { geminiCountAdapter } from "../../io/upstream/passthrough-gemini.ts";
import type { InboundGemini } from "../../io/upstream/upstream-adapter.ts";
import { type ParsedBody, parseJsonText } from "../../kit/json.ts";
import { ROUTING_HINT_FIELDS } from "../../language/canon/routing-hints.ts";
import { toCallerParameterNames } from "../../language/dialects/gemini/client/parameter-names.ts";
import { decodeRequest, type GeminiOperation } from "../../language/dialects/gemini/client/request.ts";
import { withCamelCase } from "../../language/dialects/gemini/field-names.ts";
import type { StreamFraming } from "../../language/dialects/gemini/framing.ts";
import { type Exchange, type Handler, streamed } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import { countTokens } from "../pipeline/count-tokens.ts";
import type { DecodedChatRequest } from "../pipeline/decode.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";

/** POST /v1beta/models/{model}:generateContent, :streamGenerateContent and :countTokens. */
export function geminiHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    generateContent: inferenceHandler(gateway, "gemini", (bytes, exchange) =>
      decodeGemini(parseJson(bytes), { model: modelIn(exchange), stream: false }, "array"),
    ),
    streamGenerateContent: inferenceHandler(gateway, "gemini", (bytes, exchange) =>
      decodeGemini(parseJson(bytes), { model: modelIn(exchange), stream: true }, framingOf(exchange)),
    ),
    geminiCountTokens: streamed((exchange, sink) =>
      countTokens(gateway, exchange, sink, {
        surface: "gemini",
        decode: (bytes) => decodeCounted(bytes, exchange),
        adapterFor: geminiCountAdapter,
        render: (totalTokens) => JSON.stringify({ totalTokens }),
      }),
    ),
  };
}

function modelIn({ params }: Pick<Exchange, "params">): string {
  return params["model"] ?? "";
}

function framingOf({ query }: Exchange): StreamFraming {
  return query.get("alt") === "sse" ? "sse" : "array";
}

/** A conversation, or a whole request inside a member. */
function decodeCounted(bytes: Buffer, exchange: Exchange): DecodedChatRequest<InboundGemini> {
  const body = parseJson(bytes);
  const wrapped = WRAPPERS.find((name) => body.members.has(name));
  const operation = { model: modelIn(exchange), stream: false };
  if (wrapped === undefined) return decodeGemini(body, operation, "array");
  for (const name of body.members.spans.map(({ key }) => key)) {
    if (name === wrapped) continue;
    throw invalidValue(name, `must not be sent beside ${wrapped}${isRoutingHint(name) ? ", but inside it" : ""}`);
  }
  const span = body.members.get(wrapped);
  const inner = parseJsonText(body.text.slice(span?.valueStart, span?.valueEnd));
  if ("problem" in inner) throw invalidValue(wrapped, "must be an object");
  return decodeGemini(inner, operation, "array");
}

const WRAPPERS = ["generateContentRequest", "generate_content_request"] as const;
const isRoutingHint = (name: string) => ROUTING_HINT_FIELDS.some((hint) => hint === name);

function decodeGemini(
  body: ParsedBody,
  operation: GeminiOperation,
  framing: StreamFraming,
): DecodedChatRequest<InboundGemini> {
  const request = decodeWith(GenerateContentRequest, withCamelCase(body));
  const decoded = decodeRequest(request, operation);
  const showsThoughts = request.generationConfig?.thinkingConfig?.includeThoughts === true;
  return {
    request: new ChatInferenceRequest({
      dialect: "gemini",
      call: decoded.call,
      body,
      reply: { showsThoughts, framing },
    }),
    toCallerParameterNames: (problem) => toCallerParameterNames(problem, decoded),
  };
}
