import { JsonDocument, type JsonSource } from "../../../../kit/json-document.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext } from "../../upstream-dialect.ts";
import { GeminiReader } from "./stream.ts";

/** Undefined if the bytes are not a reply of this dialect. */
export function decodeReply(source: JsonSource, context?: ReplyContext): readonly ReplyEvent[] | undefined {
  const events = new GeminiReader(context).readValue(JsonDocument.of(source).value);
  // A whole reply without a finish reason is truncated.
  return events?.some(({ is }) => is === "finish" || is === "problem") === true ? events : undefined;
}
