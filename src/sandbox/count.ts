import { isJsonObject, tryParseJson } from "../kit/json.ts";
import { messagesFormat } from "./messages.ts";
import { parseMessages } from "./messages-request.ts";
import { countInputTokens } from "./reply.ts";
import { errorResponse, type WireFormat } from "./wire-format.ts";

/** What is counted; a field that only matters for an answer is not known there. */
const COUNTED_FIELDS: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
]);
/** No answer is made, so no limit of one is in the way of any request. */
const NO_OUTPUT_LIMIT = 10_000_000;

/** The messages format's way to count tokens. */
export const countTokensFormat: WireFormat = {
  ...messagesFormat,
  matches: (path) => path === "/v1/messages/count_tokens",
  parse({ body, headers }) {
    const value = tryParseJson(body);
    if (!isJsonObject(value)) return errorResponse(400, "The request body must be a JSON object.");
    const extra = Object.keys(value).find((key) => !COUNTED_FIELDS.has(key));
    if (extra !== undefined) return errorResponse(400, `${extra}: Extra inputs are not permitted`);
    const version = headers["anthropic-version"];
    const asked = parseMessages(
      Buffer.from(JSON.stringify({ ...value, max_tokens: NO_OUTPUT_LIMIT })),
      typeof version === "string" ? version : undefined,
    );
    if (asked.is === "refusal") return asked;
    const answer = JSON.stringify({ input_tokens: countInputTokens(asked.prompt) });
    return {
      is: "opened",
      model: asked.model,
      respond: () => ({ is: "whole", contentType: "application/json", body: answer, tokens: 1 }),
    };
  },
};
