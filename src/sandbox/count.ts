import { isJsonObject, tryParseJson } from "../kit/json.ts";
import { inputTokensOf } from "./answer.ts";
import { messagesFormat } from "./messages.ts";
import { readMessages } from "./messages-request.ts";
import { refusal, type WireFormat } from "./wire.ts";

/** What is counted; a field that only matters for an answer is not known there. */
const COUNTED: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "system",
  "tools",
  "tool_choice",
  "thinking",
  "output_config",
]);
/** No answer is made, so no limit of one is in the way of any request. */
const UNLIMITED = 10_000_000;

/** The messages format's way to count tokens. */
export const countFormat: WireFormat = {
  ...messagesFormat,
  claims: (path) => path === "/v1/messages/count_tokens",
  open({ body, headers }) {
    const value = tryParseJson(body);
    if (!isJsonObject(value)) return refusal(400, "The request body must be a JSON object.");
    const extra = Object.keys(value).find((key) => !COUNTED.has(key));
    if (extra !== undefined) return refusal(400, `${extra}: Extra inputs are not permitted`);
    const version = headers["anthropic-version"];
    const asked = readMessages(
      Buffer.from(JSON.stringify({ ...value, max_tokens: UNLIMITED })),
      typeof version === "string" ? version : undefined,
    );
    if (asked.is === "refusal") return asked;
    const answer = JSON.stringify({ input_tokens: inputTokensOf(asked.prompt) });
    return {
      is: "opened",
      model: asked.model,
      deliver: () => ({ is: "whole", contentType: "application/json", body: answer, tokens: 1 }),
    };
  },
};
