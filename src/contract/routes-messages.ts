import type { Route } from "./route.ts";
import { CHAT_FAULTS } from "./routes-inference.ts";
import { Message, MessageEvent, MessagesRequest } from "./schemas/messages.ts";

/** The messages dialect: errors have its outer shape too. */
export const MESSAGES_ROUTES: readonly Route[] = [
  {
    id: "createMessage",
    method: "POST",
    path: "/v1/messages",
    access: { by: "key", scope: "inference:messages" },
    intake: "json",
    counted: true,
    tag: "Messages",
    summary: "Create a message",
    description:
      "The messages dialect. Clients of that dialect take the base address without `/v1`. Models whose id begins with `anthropic/claude-` get the body as it was sent; every other chat model answers the same shape. `model` is a catalogue id, `auto`, or `@workspace/router`. With `stream: true` the answer comes as server-sent events that end with `message_stop`.",
    body: MessagesRequest,
    answer: { is: "json_or_events", schema: Message, frame: MessageEvent },
    errors: "messages",
    faults: CHAT_FAULTS,
    example: {
      body: { model: "sandbox/chat", max_tokens: 256, messages: [{ role: "user", content: "Hello!" }] },
      answer: {
        id: "msg_0198f3c2a7b47d1e8f00a1b2c3d4e5f6",
        type: "message",
        role: "assistant",
        model: "sandbox/chat",
        content: [{ type: "text", text: "Hello to you." }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: {
          input_tokens: 6,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          output_tokens: 5,
          cost: 0.0000021,
          currency: "EUR",
        },
      },
    },
  },
];
