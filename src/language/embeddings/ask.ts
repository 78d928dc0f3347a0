import type { Wishes } from "../canon/wishes.ts";

/** One request for vectors, in the caller's order. */
export type EmbeddingAsk = {
  readonly model: string;
  readonly inputs: EmbeddingInputs;
  readonly dimensions: number | undefined;
  readonly encoding: "float" | "base64";
  readonly user: string | undefined;
  readonly wishes: Wishes | undefined;
};

export type EmbeddingInputs =
  | { readonly is: "texts"; readonly texts: readonly string[] }
  /** `texts` is what the numbers stand for, for providers that read words only. */
  | { readonly is: "tokens"; readonly lists: readonly (readonly number[])[]; readonly texts: readonly string[] };

/** A part of the inputs, as many as one request to a provider takes. */
export function sliceOf(inputs: EmbeddingInputs, from: number, count: number): EmbeddingInputs {
  const texts = inputs.texts.slice(from, from + count);
  return inputs.is === "texts"
    ? { is: "texts", texts }
    : { is: "tokens", texts, lists: inputs.lists.slice(from, from + count) };
}
