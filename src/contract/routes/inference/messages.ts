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
      "The messages dialect. Clients of this dialect use the base URL without `/v1`. Models whose id begins with `anthropic/claude-` receive the body unchanged; every other chat model responds in the same format. `model` is a catalogue id, `auto`, or `@workspace/router`. With `stream: true` the response is a stream of server-sent events that ends with `message_stop`.",
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
      "Accepts the body of `POST /v1/messages`, with or without the fields that affect only the output, and returns its number of input tokens. For models whose id begins with `anthropic/claude-` the provider counts. For all others, and if the provider cannot count, the gateway estimates with a tokenizer that is not the model's own (o200k); images and documents count as a fixed number of tokens. Free of charge.",
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
