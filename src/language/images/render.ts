import type { JsonObject } from "../../kit/json.ts";
import { stringifyWithSpans } from "../../kit/json-span.ts";
import type { ReportedCost } from "../canon/reply.ts";
import type { Usage } from "../canon/usage.ts";
import type { CheckedImage, GeneratedImage } from "./generated-image.ts";
import type { ImageFacts } from "./wire-format.ts";

/** The facts that are known. */
export function defined(facts: ImageFacts): ImageFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined));
}

type RenderedImages = {
  readonly images: readonly GeneratedImage[];
  readonly facts: ImageFacts & { readonly created: number };
  /** Undefined if the provider reported no tokens. */
  readonly counted: Usage | undefined;
  readonly shown: ReportedCost | undefined;
};

/** OpenAI's reply. */
export function renderImages({ images, facts: { created, ...facts }, counted, shown }: RenderedImages): string {
  return stringifyWithSpans({
    created,
    output_format: images[0]?.format,
    ...defined(facts),
    data: images.map(({ base64, revisedPrompt }) => ({ b64_json: base64, revised_prompt: revisedPrompt })),
    usage: renderImageUsage(counted, shown),
  });
}

/** The same as OpenAI's stream of final images; `type` is their event. */
export function renderImageEvents(type: string, { images, facts, counted, shown }: RenderedImages): string {
  const events = images.map((image, at) => ({
    ...imageEvent(type, image, facts),
    ...(at === images.length - 1 ? { usage: renderImageUsage(counted, shown) } : {}),
  }));
  return events.map(sseFrame).join("");
}

export function imageEvent(
  type: string,
  { base64, format }: CheckedImage,
  { created, ...facts }: ImageFacts,
): JsonObject {
  return { type, b64_json: base64, created_at: created, output_format: format, ...defined(facts) };
}

export function sseFrame(event: JsonObject): string {
  return `event: ${String(event["type"])}\ndata: ${stringifyWithSpans(event)}\n\n`;
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
