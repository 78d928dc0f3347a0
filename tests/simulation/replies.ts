import type { Chance } from "./chance.ts";
import type { Used } from "./oracle.ts";

/** What a provider reports as usage, beside the real usage. */
export const LIES = ["missing", "zero", "negative", "huge", "impossible"] as const;
export type Figures = "honest" | (typeof LIES)[number];

/** One reply of a model: its text, and the usage it is billed by. */
export type Answer = {
  readonly id: string;
  readonly words: readonly string[];
  readonly used: Used;
  readonly figures: Figures;
};

export function drawAnswer(chance: Chance, mark: string, outputMax: number, figures: Figures): Answer {
  const word = () => ` ${"lorem ipsum dolor".slice(0, chance.between(3, 17))}`;
  const words = Array.from({ length: chance.between(1, 4) }, () => word().repeat(chance.is(0.1) ? 40 : 1));
  // At most what any hold takes into account.
  const input = chance.between(5, 60);
  return {
    id: `up-${chance.between(1, 1e6)}`,
    words: [mark, ...words],
    used: { input, cached: chance.is(0.3) ? chance.between(0, input) : 0, output: chance.between(1, outputMax) },
    figures,
  };
}

/** The chunks of a reply in the order in which they are sent. The text of a stream is cut after each. */
export type Pieces = {
  readonly type: string;
  readonly preamble: readonly string[];
  readonly content: readonly string[];
  readonly finish: readonly string[];
  readonly usage: readonly string[];
  readonly last: readonly string[];
};

const JSON_TYPE = "application/json";
const EVENTS_TYPE = "text/event-stream; charset=utf-8";

const NOTHING = { preamble: [], content: [], finish: [], usage: [], last: [] };

export function chatWhole({ id, words, used, figures }: Answer): Pieces {
  const message = { role: "assistant", content: words.join("") };
  const usage = chatUsage(used, figures);
  const body = {
    id,
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    ...usage,
  };
  return { ...NOTHING, type: JSON_TYPE, content: halves(JSON.stringify(body)) };
}

export function chatStream({ id, words, used, figures }: Answer): Pieces {
  const chunk = (more: object) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model: "m", ...more })}\n\n`;
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] });
  return {
    type: EVENTS_TYPE,
    preamble: [choice({ role: "assistant", content: "" })],
    content: words.map((word) => choice({ content: word })),
    finish: [choice({}, "stop")],
    usage: figures === "missing" ? [] : [chunk({ choices: [], ...chatUsage(used, figures) })],
    last: ["data: [DONE]\n\n"],
  };
}

function chatUsage({ input, cached, output }: Used, figures: Figures): object {
  const usage = (prompt: number, completion: number, cachedTokens: number) => ({
    usage: {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    },
  });
  switch (figures) {
    case "honest":
      return usage(input, output, cached);
    case "missing":
      return {};
    case "zero":
      return usage(0, 0, 0);
    case "negative":
      return usage(-input, -output, 0);
    case "huge":
      return usage(900_000_000, 900_000_000, 0);
    case "impossible":
      return usage(input, output, input + 1);
  }
}

export function messagesWhole({ id, words, used, figures }: Answer): Pieces {
  const content = [{ type: "text", text: words.join("") }];
  const usage = figures === "missing" ? {} : { usage: messagesUsage(used, figures) };
  const body = { id, type: "message", role: "assistant", model: "m", content, stop_reason: "end_turn", ...usage };
  return { ...NOTHING, type: JSON_TYPE, content: halves(JSON.stringify(body)) };
}

export function messagesStream({ id, words, used, figures }: Answer): Pieces {
  const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  const usage = messagesUsage(used, figures);
  const head = { id, type: "message", role: "assistant", model: "m", content: [], stop_reason: null };
  const known = figures === "missing" ? {} : { usage: { ...usage, output_tokens: 1 } };
  const stop = { delta: { stop_reason: "end_turn", stop_sequence: null } };
  return {
    type: EVENTS_TYPE,
    preamble: [
      event("message_start", { message: { ...head, ...known } }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
    ],
    content: words.map((text) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text } })),
    finish: [event("content_block_stop", { index: 0 })],
    usage: [
      event("message_delta", figures === "missing" ? stop : { ...stop, usage: { output_tokens: usage.output_tokens } }),
    ],
    last: [event("message_stop", {})],
  };
}

function messagesUsage({ input, cached, output }: Used, figures: Figures) {
  const usageOf = (fresh: number, read: number, written: number) => ({
    input_tokens: fresh,
    cache_read_input_tokens: read,
    output_tokens: written,
  });
  switch (figures) {
    case "honest":
    case "missing":
      return usageOf(input - cached, cached, output);
    case "zero":
      return usageOf(0, 0, 0);
    case "negative":
      return usageOf(-input, 0, -output);
    case "huge":
      return usageOf(900_000_000, 0, 900_000_000);
    case "impossible":
      return usageOf(0.5, 0, output);
  }
}

function halves(text: string): string[] {
  const middle = text.length >> 1;
  return [text.slice(0, middle), text.slice(middle)];
}
