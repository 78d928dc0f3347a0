import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";

/** The list that callers know, in the order in which they asked, of vectors that are JSON already. */
export function renderEmbeddings(
  vectors: readonly string[],
  model: string,
  { inputTokens }: Usage,
  shown: ReportedCost | undefined,
): string {
  const data = vectors.map((vector, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`);
  const usage = { prompt_tokens: inputTokens, total_tokens: inputTokens, ...shown };
  return `{"object":"list","data":[${data.join(",")}],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`;
}
