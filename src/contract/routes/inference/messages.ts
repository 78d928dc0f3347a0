import type { FaultCode } from "../../faults.ts";
import type { Route } from "../../route.ts";
import { CallHeaders } from "../../schemas/idempotency.ts";
import { CountTokensRequest, Message, MessageEvent, MessagesRequest, TokenCount } from "../../schemas/messages.ts";
import { CHARGED_FAULTS, CHAT_FAULTS } from "./faults.ts";

/** What counting cannot run into, because it costs nothing. */
const OF_MONEY: readonly FaultCode[] = ["insufficient_credits", "spend_limit_reached"];

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
    headers: CallHeaders,
    body: MessagesRequest,
    servingHeaders: "chat",
    answer: { is: "json_or_events", schema: Message, frame: MessageEvent },
    errors: "messages",
    faults: [...CHAT_FAULTS, ...CHARGED_FAULTS],
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
  {
    id: "countMessageTokens",
    method: "POST",
    path: "/v1/messages/count_tokens",
    access: { by: "key", scope: "inference:messages" },
    intake: "json",
    counted: true,
    tag: "Messages",
    summary: "Count the tokens of a message request",
    description:
      "Takes the body of `POST /v1/messages`, with or without the fields that only matter for an answer, and says how many tokens its input has. Models whose id begins with `anthropic/claude-` are counted by their provider. For all others, and where the provider cannot count for the model, the gateway counts with a tokenizer that is not the model's own (o200k): an estimate, in which pictures and documents stand for a fixed number of tokens. Costs nothing.",
    body: CountTokensRequest,
    servingHeaders: "count",
    answer: { is: "json", status: 200, schema: TokenCount },
    errors: "messages",
    faults: CHAT_FAULTS.filter((code) => !OF_MONEY.includes(code)),
    example: {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] },
      answer: { input_tokens: 6 },
    },
  },
];
