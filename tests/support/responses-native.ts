import type { Json } from "./gateway.ts";

/** The replies of a scripted provider of the responses dialect. */
export const UPSTREAM_RESPONSE_ID = "resp_upstream0123456789";

export const RESPONSE_USAGE = {
  input_tokens: 40,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 12,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 52,
};

export function messageItem(text: string): Json {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [] }];
  return { id: "msg_upstream1", type: "message", status: "completed", role: "assistant", content };
}

export function thoughtItem(encrypted: string): Json {
  return { id: "rs_upstream1", type: "reasoning", encrypted_content: encrypted, summary: [] };
}

export function responseJson(more: Record<string, unknown> = {}): Json {
  return {
    id: UPSTREAM_RESPONSE_ID,
    object: "response",
    created_at: 1_790_000_000,
    status: "completed",
    background: false,
    error: null,
    incomplete_details: null,
    model: "upstream-model",
    output: [messageItem("Hello there")],
    previous_response_id: null,
    store: false,
    usage: RESPONSE_USAGE,
    ...more,
  };
}

export function frameOf(event: Json): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The events of a reply of one message with this text. */
export function responseEvents(words: readonly string[], more: Record<string, unknown> = {}): Json[] {
  const item = messageItem(words.join(""));
  const [part] = item.content;
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const begun = responseJson({ status: "in_progress", output: [], usage: null, ...more });
  const events = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    ...words.map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [], obfuscation: "xyz" })),
    { type: "response.output_text.done", ...at, text: part.text, logprobs: [] },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: responseJson({ output: [item], ...more }) },
  ];
  return events.map(({ type, ...rest }, sequence) => ({ type, sequence_number: sequence, ...rest }));
}

export function responseFrames(words: readonly string[], more: Record<string, unknown> = {}): string[] {
  return responseEvents(words, more).map(frameOf);
}

/** The events of a stream, each checked against its name. */
export function eventsIn(text: string): Json[] {
  return text
    .split("\n\n")
    .filter((block) => block.startsWith("event: "))
    .map((block) => {
      const [name = "", data = ""] = block.split("\n");
      const event = JSON.parse(data.slice("data: ".length));
      if (name !== `event: ${event.type}`) throw new Error(`${name} is not ${event.type}`);
      return event;
    });
}
