import type { z } from "zod";
import { CountTokensRequest, MessagesRequest } from "../../contract/schemas/messages.ts";
import { countTokensAdapter } from "../../io/upstream/count-tokens-adapter.ts";
import type { InboundMessages } from "../../io/upstream/upstream-adapter.ts";
import type { ParsedBody } from "../../kit/json.ts";
import { withExactSchemas } from "../../language/dialects/exact-schemas.ts";
import { toCallerParameterNames } from "../../language/dialects/messages/client/parameter-names.ts";
import { decodeRequest, withExactInputs } from "../../language/dialects/messages/client/request.ts";
import { type Exchange, type Handler, streamed } from "../exchange.ts";
import { ChatInferenceRequest } from "../pipeline/chat-request.ts";
import { countTokens } from "../pipeline/count-tokens.ts";
import type { DecodedChatRequest } from "../pipeline/decode.ts";
import type { GatewayDeps } from "../pipeline/gateway-deps.ts";
import { inferenceHandler } from "../pipeline/run.ts";
import { decodeWith, parseJson } from "../request-input.ts";

/** Sent by Claude Code, which drops reasoning from the next turn when the reply names a different model. */
const CLAUDE_CODE = "x-claude-code-session-id";

/** POST /messages. */
export function messagesHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    createMessage: inferenceHandler(gateway, "messages", decodeMessage),
  };
}

export function decodeMessage(bytes: Buffer, exchange: Pick<Exchange, "headers">): DecodedChatRequest {
  return decodeMessagesBody(MessagesRequest, bytes, exchange);
}

function decodeMessagesBody(
  schema: z.ZodType<CountTokensRequest>,
  bytes: Buffer,
  exchange: Pick<Exchange, "headers">,
): DecodedChatRequest<InboundMessages> {
  const body = parseJson(bytes);
  const request = decodeWith(schema, withExactSchemas(body, "messages"));
  const inbound = inboundOf(body, request, exchange);
  return {
    request: new ChatInferenceRequest(inbound),
    toCallerParameterNames: (problem) => toCallerParameterNames(problem, request, inbound.call),
  };
}

function inboundOf(
  body: ParsedBody,
  request: CountTokensRequest,
  { headers }: Pick<Exchange, "headers">,
): InboundMessages {
  return {
    dialect: "messages",
    call: decodeRequest(withExactInputs(request, body.text)),
    body,
    version: headerLine(headers["anthropic-version"]),
    beta: headerLine(headers["anthropic-beta"]),
    comparesModel: headers[CLAUDE_CODE] !== undefined,
  };
}

function headerLine(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(",") : header;
}

/** POST /messages/count_tokens. */
export function countHandlers(gateway: GatewayDeps): Record<string, Handler> {
  return {
    countMessageTokens: streamed((exchange, sink) =>
      countTokens(gateway, exchange, sink, {
        surface: "messages",
        decode: (bytes) => decodeMessagesBody(CountTokensRequest, bytes, exchange),
        adapterFor: countTokensAdapter,
        render: (inputTokens) => JSON.stringify({ input_tokens: inputTokens }),
      }),
    ),
  };
}
