import type { RoutingHints } from "../canon/routing-hints.ts";

/** One request for vectors, in the caller's order. */
export type EmbeddingCall = {
  readonly model: string;
  readonly inputs: EmbeddingInputs;
  /** How many tokens each input is estimated to have. */
  readonly inputTokens: readonly number[];
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
  readonly user: string | undefined;
  readonly wishes: RoutingHints | undefined;
};

export type EmbeddingInputs =
  | { readonly is: "texts"; readonly texts: readonly string[] }
  /** `texts` is what the numbers stand for, for providers that read words only. */
  | { readonly is: "tokens"; readonly lists: readonly (readonly number[])[]; readonly texts: readonly string[] };

/** What one request to a provider may hold. */
export type BatchLimits = { readonly inputs: number; readonly tokens: number };

/** The inputs in as few parts as have room for them, in their order; one that is too large stands alone. */
export function splitIntoBatches(
  { inputs, inputTokens }: Pick<EmbeddingCall, "inputs" | "weights">,
  room: BatchLimits,
): EmbeddingInputs[] {
  const parts: EmbeddingInputs[] = [];
  let [from, tokens] = [0, 0];
  for (const [at, weight] of inputTokens.entries()) {
    const isFull = at - from >= room.inputs || tokens + weight > room.tokens;
    if (isFull && at > from) {
      parts.push(sliceInputs(inputs, from, at));
      [from, tokens] = [at, 0];
    }
    tokens += weight;
  }
  parts.push(sliceInputs(inputs, from, inputTokens.length));
  return parts;
}

function sliceInputs(inputs: EmbeddingInputs, from: number, to: number): EmbeddingInputs {
  const texts = inputs.texts.slice(from, to);
  return inputs.is === "texts" ? { is: "texts", texts } : { is: "tokens", texts, lists: inputs.lists.slice(from, to) };
}
