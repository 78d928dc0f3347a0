import type { Call } from "./call.ts";
import type { Part } from "./parts.ts";
import { TOKENS_PER_MEDIA, TOKENS_PER_TURN } from "./tokens.ts";

/** Texts that a tokenizer can count, and an estimate for the rest of the call. */
type CountableInput = { readonly texts: readonly string[]; readonly otherTokens: number };

export function countableInput({ turns, tools, responseFormat }: Call): CountableInput {
  const parts = turns.flatMap((turn) => turn.parts);
  const schema = responseFormat.is === "json_schema" ? [JSON.stringify(responseFormat.schema)] : [];
  return {
    texts: [
      ...parts.flatMap(textsInPart),
      ...tools.flatMap(({ name, description, schema: own }) => [name, description ?? "", JSON.stringify(own ?? {})]),
      ...schema,
    ],
    otherTokens:
      turns.length * TOKENS_PER_TURN + TOKENS_PER_MEDIA * parts.reduce((sum, part) => sum + mediaCount(part), 0),
  };
}

function textsInPart(part: Part): readonly string[] {
  switch (part.is) {
    case "text":
    case "refusal":
      return [part.text];
    case "reasoning":
      return part.detail.is === "readable" ? [part.detail.text] : [];
    case "tool_call":
      return [part.name, part.argumentsText];
    case "tool_result":
      return part.content.flatMap(textsInPart);
    case "image":
    case "audio":
    case "file":
      return [];
  }
}

function mediaCount(part: Part): number {
  switch (part.is) {
    case "image":
    case "audio":
    case "file":
      return 1;
    case "tool_result":
      return part.content.filter(({ is }) => is === "image").length;
    default:
      return 0;
  }
}
