import { stringifyWithSpans } from "../../kit/json-span.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { GeneratedImage } from "./generated-image.ts";
import type { ImageFacts } from "./wire-format.ts";

/** OpenAI's reply. `counted` is undefined if the provider reported no tokens. */
export function renderImages(
  images: readonly GeneratedImage[],
  { created, ...facts }: ImageFacts & { readonly created: number },
  counted: Usage | undefined,
  shown: ReportedCost | undefined,
): string {
  return stringifyWithSpans({
    created,
    ...facts,
    data: images.map(({ base64, revisedPrompt }) => ({ b64_json: base64, revised_prompt: revisedPrompt })),
    usage: renderImageUsage(counted, shown),
  });
}

export function renderImageUsage(counted: Usage | undefined, shown: ReportedCost | undefined) {
  if (counted === undefined) return { ...shown };
  const { inputTokens, outputTokens, imageInputTokens = 0, imageOutputTokens = 0, cachedTokens } = counted;
  return {
    input_tokens: inputTokens,
    input_tokens_details: {
      text_tokens: inputTokens - imageInputTokens,
      image_tokens: imageInputTokens,
      ...(cachedTokens === 0 ? {} : { cached_tokens: cachedTokens }),
    },
    output_tokens: outputTokens,
    output_tokens_details: { text_tokens: outputTokens - imageOutputTokens, image_tokens: imageOutputTokens },
    total_tokens: inputTokens + outputTokens,
    ...shown,
  };
}
