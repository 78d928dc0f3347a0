import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { imageUrl } from "../decisions/image.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import { all, each, type MemberRule, members } from "../dialects/reply-members.ts";
import { type ModerationCall, type ModerationPart, subjectText } from "./call.ts";
import { decodeResults, type ModerationReply, type ModerationWireFormat } from "./wire-format.ts";

const REPLY: MemberRule = members({
  ...all("exempt", "id", "model", "object", "created"),
  results: members({
    flagged: "carried",
    categories: each("carried"),
    category_scores: each("carried"),
    category_applied_input_types: each("carried"),
  }),
  usage: members({ ...all("carried", "prompt_tokens", "total_tokens"), ...all("exempt", "completion_tokens") }),
});

/** OpenAI's format. */
export const openaiModerations: ModerationWireFormat = {
  path: "/moderations",
  reply: REPLY,
  encode: (call, upstreamModel) => ({ model: upstreamModel, input: encodeInput(call) }),
  decode: decodeReply,
  decodeProblem,
};

/** Mistral's format: texts only, categories of its own, and no flag. */
export const mistralModerations: ModerationWireFormat = {
  ...openaiModerations,
  encode: ({ subjects }, upstreamModel): JsonObject => ({ model: upstreamModel, input: subjects.map(subjectText) }),
};

function encodeInput({ subjects, form }: ModerationCall): unknown {
  if (form === "parts") return subjects.flatMap(({ parts }) => parts.map(encodePart));
  const texts = subjects.map(subjectText);
  return texts.length === 1 ? texts[0] : texts;
}

function encodePart(part: ModerationPart): JsonObject {
  return part.type === "text"
    ? { type: "text", text: part.text }
    : { type: "image_url", image_url: { url: imageUrl(part.image) } };
}

function decodeReply(body: unknown): ModerationReply | undefined {
  if (!isJsonObject(body)) return undefined;
  const results = decodeResults(body["results"]);
  const { id, usage } = body;
  const tokens = isJsonObject(usage) ? (usage["prompt_tokens"] ?? usage["total_tokens"]) : undefined;
  return (
    results && {
      results,
      tokens: typeof tokens === "number" && tokens > 0 ? tokens : undefined,
      id: typeof id === "string" ? id : null,
    }
  );
}
