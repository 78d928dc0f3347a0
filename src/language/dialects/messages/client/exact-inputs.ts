import type { CountTokensRequest, InputMessage } from "../../../../contract/schemas/messages.ts";
import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { parseLosslessJson } from "../../../../kit/lossless-json.ts";

/** A number that would be written otherwise than it came: too many digits, an exponent, or zeros behind the point. */
const LOSSY_NUMBER = /[[:,]\s*-?(?:\d{16,}|\d[\d.]*[eE]|\d+\.\d*0[\s,\]}]|\d+\.\d{16,})/;

/**
 * Arguments are objects in this dialect and text in others. The numbers in them go on as the caller wrote them, as they
 * do where a caller sends the text itself.
 */
export function withExactInputs<Request extends CountTokensRequest>(request: Request, text: string): Request {
  if (!text.includes('"tool_use"') || !LOSSY_NUMBER.test(text)) return request;
  const exact = parseLosslessJson(text);
  const messages = isJsonObject(exact) && Array.isArray(exact["messages"]) ? exact["messages"] : [];
  return { ...request, messages: request.messages.map((message, at) => withInputs(message, messages[at])) };
}

function withInputs(message: InputMessage, exact: unknown): InputMessage {
  const blocks = isJsonObject(exact) && Array.isArray(exact["content"]) ? exact["content"] : [];
  if (typeof message.content === "string") return message;
  return {
    ...message,
    content: message.content.map((block, at) => {
      const input = block.type === "tool_use" ? inputOf(blocks[at]) : undefined;
      return input === undefined ? block : { ...block, input };
    }),
  };
}

function inputOf(block: unknown): JsonObject | undefined {
  return isJsonObject(block) && isJsonObject(block["input"]) ? block["input"] : undefined;
}
