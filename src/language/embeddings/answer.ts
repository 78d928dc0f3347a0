import type { ShownCost } from "../canon/answer.ts";
import type { Usage } from "../canon/usage.ts";
import { type Vector, vectorAs } from "./vector.ts";

/** The list that callers know, in the order in which they asked. */
export function renderEmbeddings(
  vectors: readonly Vector[],
  { model, encoding }: { readonly model: string; readonly encoding: "float" | "base64" },
  { inputTokens }: Usage,
  shown: ShownCost | undefined,
): string {
  return JSON.stringify({
    object: "list",
    data: vectors.map((vector, index) => ({ object: "embedding", index, embedding: vectorAs(vector, encoding) })),
    model,
    usage: { prompt_tokens: inputTokens, total_tokens: inputTokens, ...shown },
  });
}
