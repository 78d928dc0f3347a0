import { isJsonObject } from "../../kit/json.ts";
import { isTokenCount } from "../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, NO_TOKENS, type Usage } from "../canon/usage.ts";
import { decodeProblem } from "../dialects/chat/upstream/errors.ts";
import type { ImageJobFormat, ImageJobStep } from "./job-format.ts";
import { listIn } from "./wire-format.ts";

/** Mistral has no images endpoint: a conversation with its image tool ends with a file, which is fetched then. */
export const mistralImages: ImageJobFormat = {
  auth: "bearer",
  path: () => "/conversations",
  encode: ({ upstreamModel, prompt }) => ({
    model: upstreamModel,
    inputs: prompt,
    tools: [{ type: "image_generation" }],
    store: false,
    stream: false,
  }),
  read: readConversation,
  decodeProblem,
};

const FILE_ID = /^[\w-]{1,128}$/;

function readConversation(body: unknown): ImageJobStep | undefined {
  if (!isJsonObject(body) || !Array.isArray(body["outputs"])) return undefined;
  const usage = decodeUsage(body["usage"]);
  for (const output of listIn(body["outputs"]))
    for (const chunk of listIn(isJsonObject(output) ? output["content"] : undefined)) {
      if (!isJsonObject(chunk) || chunk["type"] !== "tool_file") continue;
      const { file_id: id } = chunk;
      if (typeof id === "string" && FILE_ID.test(id))
        return { is: "fetch", url: `/files/${id}/content`, credential: "own", usage };
    }
  return { is: "refused", reason: "the model replied without an image", usage };
}

/** The tool's own tokens are input beside the prompt's. */
function decodeUsage(usage: unknown): Usage | undefined {
  if (!isJsonObject(usage)) return undefined;
  const { prompt_tokens: prompt, completion_tokens: completion, connector_tokens: connector } = usage;
  if (typeof prompt !== "number" || typeof completion !== "number") return undefined;
  const inputTokens = prompt + (typeof connector === "number" ? connector : 0);
  if (!isTokenCount(inputTokens) || !isTokenCount(completion)) return IMPLAUSIBLE_TOKENS;
  return { ...NO_TOKENS, inputTokens, outputTokens: completion };
}
