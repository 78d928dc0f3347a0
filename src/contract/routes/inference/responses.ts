import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { ResponseEvent, ResponseObject, ResponsesRequest } from "../../schemas/responses.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const responseExample = {
  id: "resp_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
  object: "response",
  created_at: 1793836800,
  status: "completed",
  model: "sandbox/chat",
  output: [
    {
      id: "msg_0198f3c2a7b47d1e8f00a1b2c3d4e5f60000",
      type: "message",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hello to you.", annotations: [], logprobs: [] }],
    },
  ],
  error: null,
  incomplete_details: null,
  usage: {
    input_tokens: 6,
    input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
    output_tokens: 5,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: 11,
    cost: 0.0000021,
    currency: "EUR",
  },
};

export const RESPONSES_ROUTES: readonly Route[] = [
  {
    id: "createResponse",
    method: "POST",
    path: "/v1/responses",
    access: { by: "key", scope: "inference:chat" },
    intake: "json",
    counted: true,
    tag: "Responses",
    summary: "Create a response",
    description:
      "The responses dialect, available with every chat model; endpoints that support it natively receive the body unchanged. With `stream: true` the response is a stream of server-sent events; the last one contains the complete response.",
    headers: CallHeaders,
    body: ResponsesRequest,
    servingHeaders: "chat",
    answer: { is: "json_or_events", schema: ResponseObject, frame: ResponseEvent },
    faults: [...CHAT_FAULTS, ...CHARGED_FAULTS, "previous_response_not_found"],
    example: {
      body: { model: "sandbox/chat", input: "Hello!" },
      answer: responseExample,
    },
  },
];
