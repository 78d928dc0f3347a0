import type { RoutingHints } from "../canon/routing-hints.ts";

/** The canonical embedding request, in the caller's order. */
export type EmbeddingCall = {
  readonly model: string;
  readonly inputs: EmbeddingInputs;
  /** Estimated tokens of each input. */
  readonly inputTokens: readonly number[];
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
  readonly user: string | undefined;
  readonly routingHints: RoutingHints | undefined;
  /** What the vectors are for; dropped where the format has no place for it. */
  readonly task?: EmbeddingTask | undefined;
  /** The reply in the caller's format; absent: OpenAI's list. */
  readonly replyShape?: EmbeddingReplyShape;
};

/** Of the Gemini dialect, with the caller's path of its members. */
export type EmbeddingTask = { readonly type?: string; readonly title?: string; readonly path: string };

/** `one` and `batch` are the two operations of the Gemini dialect. */
export type EmbeddingReplyShape = "list" | "one" | "batch";

export type EmbeddingInputs =
  | { readonly is: "texts"; readonly texts: readonly string[] }
  /** `texts` is the decoded text, for providers that do not accept tokens. */
  | { readonly is: "tokens"; readonly lists: readonly (readonly number[])[]; readonly texts: readonly string[] };

/** What one upstream request may carry. */
export type BatchLimits = { readonly inputs: number; readonly tokens: number };

/** Splits inputs in order into as few batches as possible; an oversized input gets its own batch. */
export function splitIntoBatches(
  { inputs, inputTokens }: Pick<EmbeddingCall, "inputs" | "inputTokens">,
  limits: BatchLimits,
): EmbeddingInputs[] {
  const batches: EmbeddingInputs[] = [];
  let [from, tokens] = [0, 0];
  for (const [index, inputTokenCount] of inputTokens.entries()) {
    const isFull = index - from >= limits.inputs || tokens + inputTokenCount > limits.tokens;
    if (isFull && index > from) {
      batches.push(sliceInputs(inputs, from, index));
      [from, tokens] = [index, 0];
    }
    tokens += inputTokenCount;
  }
  batches.push(sliceInputs(inputs, from, inputTokens.length));
  return batches;
}

function sliceInputs(inputs: EmbeddingInputs, from: number, to: number): EmbeddingInputs {
  const texts = inputs.texts.slice(from, to);
  return inputs.is === "texts" ? { is: "texts", texts } : { is: "tokens", texts, lists: inputs.lists.slice(from, to) };
}
