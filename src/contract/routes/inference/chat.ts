import type { Route } from "../../route.ts";
import { ChatChunk, ChatCompletion, ChatRequest } from "../../schemas/chat.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

export const CHAT_ROUTES: readonly Route[] = [
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
      "The chat-completions dialect. `model` is a catalogue id, `auto`, or `@workspace/router`. With `stream: true` the response is a stream of server-sent events that ends with `data: [DONE]`.",
    headers: CallHeaders,
    body: ChatRequest,
    servingHeaders: "chat",
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
];
