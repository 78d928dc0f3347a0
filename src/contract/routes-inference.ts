import { z } from "zod";
import type { FaultCode } from "./faults.ts";
import type { Route } from "./route.ts";
import { ChatChunk, ChatCompletion, ChatRequest } from "./schemas/chat.ts";
import { CallHeaders } from "./schemas/idempotency.ts";

const POLICY_FAULTS: readonly FaultCode[] = [
  "sovereignty_floor_not_met",
  "compute_country_not_allowed",
  "zero_data_retention_required",
  "no_training_required",
  "provider_blocked",
  "no_eligible_endpoint",
];

/** What a call of a chat model can answer, in whatever dialect it is asked. */
export const CHAT_FAULTS: readonly FaultCode[] = [
  "unsupported_parameter",
  "context_length_exceeded",
  "model_not_found",
  "router_not_found",
  "model_not_permitted",
  "insufficient_credits",
  "spend_limit_reached",
  ...POLICY_FAULTS,
  "provider_error",
  "upstream_error",
  "upstream_timeout",
  "loop_detected",
];

/** What a call that charges can answer beside these. */
export const CHARGED_FAULTS: readonly FaultCode[] = [
  "idempotency_key_in_use",
  "idempotent_replay",
  "idempotency_key_reused",
];

const KeyValidation = z
  .strictObject({
    valid: z.boolean(),
    team_id: z.string(),
    team_name: z.string(),
    api_key_id: z.string(),
    api_key_name: z.string(),
    api_key_prefix: z.enum(["sk_svc_live_", "sk_svc_test_", "sk_svc_user_live_", "sk_svc_user_test_"]),
    environment: z.enum(["PRODUCTION", "TEST"]),
    scopes: z.array(z.string()).nullable().describe("Null when the key has no scope restriction."),
  })
  .meta({ id: "KeyValidation" });

export const INFERENCE_ROUTES: readonly Route[] = [
  {
    id: "createChatCompletion",
    method: "POST",
    path: "/v1/chat/completions",
    access: { by: "key", scope: "inference:chat" },
    intake: "json",
    counted: true,
    tag: "Chat",
    summary: "Create a chat completion",
    description:
      "The chat-completions dialect. `model` is a catalogue id, `auto`, or `@workspace/router`. With `stream: true` the answer comes as server-sent events that end with `data: [DONE]`.",
    headers: CallHeaders,
    body: ChatRequest,
    tells: "chat",
    answer: { is: "json_or_events", schema: ChatCompletion, frame: ChatChunk },
    faults: [...CHAT_FAULTS, ...CHARGED_FAULTS],
    example: {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] },
      answer: {
        id: "chatcmpl-0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
        object: "chat.completion",
        created: 1793836800,
        model: "sandbox/chat",
        choices: [{ index: 0, message: { role: "assistant", content: "Hello to you." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 6, completion_tokens: 5, total_tokens: 11, cost: 0.0000021, currency: "EUR" },
      },
    },
  },
  {
    id: "validateKey",
    method: "GET",
    path: "/v1/auth/validate",
    access: { by: "key", scope: null },
    intake: "none",
    counted: false,
    tag: "Keys",
    summary: "Verify a key",
    description: "Says whose key it is. Costs nothing and does not count in the rate limit.",
    answer: { is: "json", status: 200, schema: KeyValidation },
    faults: [],
    example: {
      answer: {
        valid: true,
        team_id: "ws_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
        team_name: "Demo",
        api_key_id: "key_0198f3c2a7b47d1e8f00a1b2c3d4e5f7",
        api_key_name: "first key",
        api_key_prefix: "sk_svc_test_",
        environment: "TEST",
        scopes: null,
      },
    },
  },
];
